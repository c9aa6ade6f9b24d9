#include "session/ckks/recorded.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "math/errors.h"
#include "math/text.h"

namespace latticino::session {
namespace {

// Samples show only roughly how large values are. What is in slots without values may exceed that
// of the recording by this factor.
constexpr double kMoreThanRecorded = 1.25;

}  // namespace

RecordedArgument::RecordedArgument(const Contents& example, Contents* taken)
    : range_(example.known.range()),
      reach_of_rest_(std::max(example.rest.bound, range_.bound)),
      // The error of the claim. Errors of samples would differ by chance.
      error_(example.known.estimate().error.rms()) {
  *taken = example;
  if (!example.rest.clean()) taken->rest.number = std::nullopt;
  taken->known = example.known.renamed(&source_);
}

void RecordedArgument::require(const Contents& x, const std::string& remedy) const {
  const Range range = x.known.range();
  if (!range_.serves(range)) {
    throw ScaleError(
        "program", "values " + range.described(),
        "values " + range_.described() + ", as in the recording",
        "record the program with an argument like this one, or encrypt the argument as "
        "that of the recording");
  }
  if (x.rest.bound > kMoreThanRecorded * reach_of_rest_) {
    throw ScaleError("program",
                     formatted("slots without values that hold up to %.3g", x.rest.bound),
                     formatted("up to %.3g, as in the recording", reach_of_rest_), remedy);
  }
}

Known known_of_result(const Known& recorded, std::span<const RecordedArgument> examples,
                      std::span<const Contents* const> arguments) {
  std::vector<std::pair<std::uint64_t, double>> grown;
  bool of_a_sample = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const RecordedArgument& example = examples[i];
    of_a_sample = of_a_sample || arguments[i]->known.range().of_a_sample;
    const double error = arguments[i]->known.estimate().error.rms();
    if (example.source_ != 0 && error != example.error_) {
      grown.emplace_back(example.source_, error / example.error_);
    }
  }
  const Known out = recorded.with_sources(grown);
  return of_a_sample ? out.of_a_sample() : out;
}

}  // namespace latticino::session
