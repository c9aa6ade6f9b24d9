// Which arithmetic blind rotations take: one for all, or the faster one by how many ciphertexts
// rotate at once.
//
// For example, on an H200 one gate of chameleon-500-legacy is faster in exact arithmetic, and 1056
// gates at once are faster in FP64. Over one prime both give the same words, so such a choice by
// number changes nothing but the time. Over two primes FP64 has errors of its own. There one
// arithmetic serves all rotations of a context, so that a result does not depend on how many others
// were computed at the same time.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backend/rotation_times.h"
#include "ops/operations.h"
#include "params/tfhe/params.h"
#include "runtime/rates.h"

namespace latticino::tfhe {

// "exact" and "fft64". ParameterError for other words.
const char* name(BlindRotateArithmetic arithmetic);
BlindRotateArithmetic arithmetic_of(const std::string& name);

class ArithmeticRule {
 public:
  // Used from so many ciphertexts at once on.
  struct Range {
    std::uint32_t from = 1;
    BlindRotateArithmetic arithmetic = BlindRotateArithmetic::Exact;
    bool operator==(const Range&) const = default;
  };

  ArithmeticRule(BlindRotateArithmetic one) : ranges_{{1, one}} {}  // NOLINT: one is a rule
  // The first entry starts at 1, and neighbouring entries differ.
  explicit ArithmeticRule(std::vector<Range> ranges);

  BlindRotateArithmetic of(std::uint32_t count) const;
  bool can_use(BlindRotateArithmetic arithmetic) const;
  const std::vector<Range>& ranges() const { return ranges_; }
  const char* name() const;  // "exact", "fft64", or "auto" if both are used
  // "exact", "fft64", or if both are used for example "exact to 131 at once, fft64 from 132".
  std::string text() const;
  bool operator==(const ArithmeticRule&) const = default;

 private:
  std::vector<Range> ranges_;
};

// The faster arithmetic of a device, by measured times of rotations of this shape. If there are no
// times for one arithmetic, the rates that predict times of programs decide. Sets without FP64 use
// exact arithmetic.
ArithmeticRule faster_arithmetic(const TfheParams& params, std::span<const RotationTime> measured,
                                 const RateTable& rates);

// The shape of a set's rotations, as in tables, without a count and times.
RotationTime rotation_shape(const TfheParams& params);

}  // namespace latticino::tfhe
