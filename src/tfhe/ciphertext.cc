#include "tfhe/ciphertext.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "math/errors.h"
#include "tfhe/origins/origins_trace.h"

namespace latticino::tfhe {
namespace {

// Without data, as in plans, all parts of a batch have one address, and only the origins tell them
// apart.
bool have_common_error(const Ciphertext& x, const Ciphertext& y) {
  return (x.view.data != nullptr && same(x, y)) || overlap(x.origins, y.origins);
}

// Recorded functions count on this for all arguments.
void note_independent(std::span<const Weighted> terms, std::span<const std::size_t> group) {
  OriginsTrace* trace = OriginsTrace::current();
  if (trace == nullptr) return;
  std::vector<Origins> origins;
  std::vector<std::size_t> groups;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (terms[i].x->origins.empty()) continue;
    origins.push_back(terms[i].x->origins);
    groups.push_back(group[i]);
  }
  const bool several =
      std::any_of(groups.begin(), groups.end(), [&](std::size_t g) { return g != groups[0]; });
  if (several) trace->add_sum(std::move(origins), std::move(groups));
}

// The number of boxes of the torus: a message is at a multiple of q divided by this number.
int log_boxes(const TfheParams& params, Encoding encoding) {
  return params.plain_bits() + (encoding == Encoding::Padded ? 1 : 0);
}

// round(x boxes / q) or round(x q / boxes), halves up.
std::uint64_t rounded(std::uint64_t x, std::uint64_t times, std::uint64_t over) {
  return (2 * x * times + over) / (2 * over);
}

}  // namespace

const char* name(Encoding encoding) {
  return encoding == Encoding::Boolean  ? "booleans"
         : encoding == Encoding::Padded ? "padded"
                                        : "full";
}

Encoding encoding_of(const TfheParams& params, int bits) {
  return bits < 0 ? Encoding::Full : params.booleans() ? Encoding::Boolean : Encoding::Padded;
}

std::string Ciphertext::str() const {
  return "Ciphertext(" + std::to_string(size()) + " x " + name(encoding) +
         ", largest=" + std::to_string(largest) + ", norm2=" + std::to_string(norm2) + ")";
}

bool same(const Ciphertext& x, const Ciphertext& y) {
  return x.buffer == y.buffer && x.view.data == y.view.data && x.size() == y.size() &&
         x.view.stride == y.view.stride;
}

// If terms have an error in common, perhaps through others, they are added as if all of their
// errors were one.
double squared_norm(std::span<const Weighted> terms) {
  const auto square_of = [](const Weighted& t) { return t.factor * t.factor * t.x->norm2; };
  if (terms.size() == 1) return square_of(terms[0]);
  if (terms.size() == 2) {  // most sums have two terms
    const double a = square_of(terms[0]), b = square_of(terms[1]);
    const Ciphertext &x = *terms[0].x, &y = *terms[1].x;
    if (!have_common_error(x, y)) {
      note_independent(terms, std::array<std::size_t, 2>{0, 1});
      return a + b;
    }
    const double norm = std::sqrt(a) + std::sqrt(b);
    return norm * norm;
  }
  std::vector<std::size_t> group(terms.size());
  for (std::size_t i = 0; i < terms.size(); ++i) {
    group[i] = i;
    for (std::size_t j = 0; j < i; ++j) {
      const Ciphertext &x = *terms[i].x, &y = *terms[j].x;
      if (group[i] == group[j] || !have_common_error(x, y)) continue;
      const std::size_t from = group[i], to = group[j];
      for (std::size_t k = 0; k <= i; ++k) {
        if (group[k] == from) group[k] = to;
      }
    }
  }
  note_independent(terms, group);
  double norm2 = 0;
  for (std::size_t g = 0; g < terms.size(); ++g) {
    double square = 0, norm = 0;
    int count = 0;
    for (std::size_t i = 0; i < terms.size(); ++i) {
      if (group[i] != g) continue;
      const double one = square_of(terms[i]);
      square += one;
      norm += std::sqrt(one);
      ++count;
    }
    norm2 += count > 1 ? norm * norm : square;
  }
  return norm2;
}

double decoding_log_failure(const Context& context, Encoding encoding, double norm2) {
  const TfheParams& params = context.params();
  const bool fourier = context.in_fourier();
  const double distance =
      encoding == Encoding::Boolean ? 0.125 : std::exp2(-(log_boxes(params, encoding) + 1));
  if (norm2 == 0) return -HUGE_VAL;
  return log_failure(norm2 * params.result_variance(fourier), distance);
}

void require_decodable(const char* operation, const Context& context, Encoding encoding,
                       double norm2) {
  const double most = context.params().literal().log_failure;
  const double log_p = decoding_log_failure(context, encoding, norm2);
  if (log_p <= most) return;
  throw LevelError(operation,
                   "the noise of " + std::to_string(std::sqrt(norm2)) +
                       " bootstrappings, with which a decryption fails with 2^" +
                       std::to_string(log_p),
                   "at most 2^" + std::to_string(most),
                   "take a table (apply) of the operands before the sum, or smaller factors");
}

double largest_norm2(const Context& context, Encoding encoding) {
  const TfheParams& params = context.params();
  const double padded = params.literal().max_norm * params.literal().max_norm;
  if (encoding == Encoding::Padded) return padded;
  if (encoding == Encoding::Full) return 4 * (padded - 1);  // halved, plus the sign of the half
  const bool fourier = context.in_fourier();
  const auto holds = [&](double norm2) {
    const auto fails = [&](double sum, double distance) {
      return log_failure(params.decision_variance(std::sqrt(sum), 0, fourier), distance);
    };
    const double most = params.literal().log_failure;
    return fails(2 * norm2, 0.125) <= most && fails(8 * norm2, 0.25) <= most;
  };
  double low = 1, high = 1 << 20;  // 1 is possible, or the set would have been refused
  for (int i = 0; i < 50; ++i) {
    const double middle = (low + high) / 2;
    (holds(middle) ? low : high) = middle;
  }
  return low;
}

std::uint32_t message_count(const TfheParams& params, Encoding encoding) {
  if (params.booleans() != (encoding == Encoding::Boolean)) {
    throw ParameterError("tfhe.encode",
                         std::string(name(encoding)) + " messages with the set " + params.name(),
                         params.booleans() ? "booleans" : "integers", "choose another set");
  }
  return encoding == Encoding::Boolean ? 2 : 1u << params.plain_bits();
}

std::uint32_t encode(const TfheParams& params, Encoding encoding, std::uint32_t message) {
  const std::uint32_t q = params.lwe_modulus(), count = message_count(params, encoding);
  if (message >= count) {
    throw ValueError("tfhe.encode", "a message above them",
                     "messages below " + std::to_string(count), "use more blocks");
  }
  if (encoding == Encoding::Boolean) {
    const auto eighth = static_cast<std::uint32_t>(rounded(1, q, 8));
    return message == 1 ? eighth : q - eighth;
  }
  return static_cast<std::uint32_t>(
      rounded(message, q, std::uint64_t{1} << log_boxes(params, encoding)));
}

std::uint32_t decode(const TfheParams& params, Encoding encoding, std::uint32_t phase) {
  const std::uint32_t q = params.lwe_modulus(), count = message_count(params, encoding);
  if (encoding == Encoding::Boolean) return phase <= q / 2 ? 1 : 0;
  const std::uint64_t boxes = std::uint64_t{1} << log_boxes(params, encoding);
  const auto box = static_cast<std::uint32_t>(rounded(phase, boxes, q) & (boxes - 1));
  return encoding == Encoding::Full ? box & (count - 1) : box;
}

}  // namespace latticino::tfhe
