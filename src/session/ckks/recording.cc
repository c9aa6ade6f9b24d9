#include "latticino/recording.h"

#include <algorithm>

#include "math/errors.h"
#include "session/ckks/recorded.h"
#include "session/ckks/state.h"
#include "session/recorded_program.h"

namespace latticino {
namespace session {
// A recorded function of arrays, with the errors that results are expected to have.
class RecordedArrays {
 public:
  RecordedArrays(const detail::ListProgram& program, std::span<const Array> examples);
  std::vector<Array> run(std::span<const Array> arguments);
  std::uint64_t arena_bytes() const { return program_->arena_bytes(); }

 private:
  // The property of an argument that a replay relies on. For example, sums leave out a mask if the
  // slots without values are zero.
  struct Form {
    Shape shape;
    std::size_t parts = 0;
    bool clean = false;
  };
  struct Result {
    Shape shape;
    std::size_t parts = 0;
    UnusedSlots rest;
    Known known;
  };
  void require_own(std::span<const Array> arrays, const char* operation) const;

  ContextStatePtr context_;
  KeyStore::Pin keys_;  // the recording's operations read them at every run
  std::vector<Form> forms_;
  std::vector<RecordedArgument> examples_;
  std::vector<Result> results_;
  std::unique_ptr<RecordedProgram<ckks::Ciphertext>> program_;
};

RecordedArrays::RecordedArrays(const detail::ListProgram& program,
                               std::span<const Array> examples) {
  if (examples.empty()) {
    throw ShapeError("record", "no inputs", "at least one array", "pass an example of each");
  }
  context_ = state(examples[0]).context;
  require_own(examples, "record");
  Host& host = *context_->host();
  if (host.dry()) {
    throw UnsupportedError("record", "a program that is planned", "a program that runs",
                           "record it outside of the plan");
  }
  if (const StoredKeysPtr keys = context_->keys().find(state(examples[0]).key())) {
    keys_ = keys->hold();
  }
  const auto held = host.lock();  // caches fill, and drop nothing until all is recorded
  const Host::Pins pins(host);
  // The first call makes matrices and constants, which belong to the context and not to the
  // recording.
  std::vector<Array> first;
  Parts parts;
  for (const Array& example : examples) {
    const ArrayState& x = state(example);
    Form form{.shape = x.shape, .parts = x.parts().size(), .clean = x.clean() || !x.padded()};
    ArrayState taken = x;
    examples_.emplace_back(x.open(), &taken.contents);
    first.push_back(Array(std::make_shared<const ArrayState>(std::move(taken))));
    forms_.push_back(std::move(form));
    parts.insert(parts.end(), x.parts().begin(), x.parts().end());
  }
  for (const Array& result : program(first)) {
    const ArrayState& r = state(result);
    results_.push_back({r.shape, r.parts().size(), r.rest(),
                        r.known().detached(static_cast<double>(r.size()), r.full())});
  }
  program_ = std::make_unique<RecordedProgram<ckks::Ciphertext>>(parts, [&](const Parts& inputs) {
    const Scope::Entered scope;
    std::vector<Array> arrays;
    std::size_t at = 0;
    for (const Array& example : first) {
      ArrayState x = state(example);
      for (ckks::Ciphertext& part : x.contents.parts) part = inputs[at++];
      x.scope = Scope::current();
      arrays.push_back(Array(std::make_shared<const ArrayState>(std::move(x))));
    }
    Parts out;
    for (const Array& result : program(arrays)) {
      const Parts& made = state(result).parts();
      out.insert(out.end(), made.begin(), made.end());
    }
    return out;
  });
}

void RecordedArrays::require_own(std::span<const Array> arrays, const char* operation) const {
  for (const Array& x : arrays) {
    if (state(x).context == context_) continue;
    throw ContextError(operation, "arguments of several contexts or sessions",
                       "those of one, the recording's",
                       "record a program for each session, or adopt the arguments");
  }
}

std::vector<Array> RecordedArrays::run(std::span<const Array> arguments) {
  require_own(arguments, "program");
  Parts parts;
  std::vector<const Contents*> given;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const ArrayState& x = state(arguments[i]);
    const bool clean = x.clean() || !x.padded();
    if (i >= forms_.size() || x.shape != forms_[i].shape || x.parts().size() != forms_[i].parts ||
        (forms_[i].clean && !clean)) {
      throw ShapeError("program", "an argument of shape " + text_of(x.shape),
                       i < forms_.size()
                           ? "shape " + text_of(forms_[i].shape) +
                                 (forms_[i].clean ? " with zeros behind the values" : "")
                           : std::to_string(forms_.size()) + " arguments",
                       "pass what it was recorded with, or record it again");
    }
    examples_[i].require(x.open(), "clear them before: multiply by ones, which takes a level");
    given.push_back(&x.contents);
    parts.insert(parts.end(), x.parts().begin(), x.parts().end());
  }
  Parts made = program_->run(parts);
  std::vector<Array> out;
  auto next = made.begin();
  for (const Result& r : results_) {
    const auto end = next + static_cast<std::ptrdiff_t>(r.parts);
    ArrayState result{
        context_, {Parts(next, end), known_of_result(r.known, examples_, given), r.rest}, r.shape};
    next = end;
    out.push_back(Array(std::make_shared<const ArrayState>(std::move(result))));
  }
  return out;
}

}  // namespace session

detail::Recorded::Recorded(const ListProgram& program, std::span<const Array> examples)
    : state_(std::make_shared<session::RecordedArrays>(program, examples)) {}
std::vector<Array> detail::Recorded::run(std::span<const Array> arguments) const {
  return state_->run(arguments);
}
std::uint64_t detail::Recorded::arena_bytes() const { return state_->arena_bytes(); }

}  // namespace latticino
