#include <type_traits>

#include "ops/operations.h"
#include "ops/views.h"
#include "poly/ring.h"

namespace latticino {
namespace {

std::uint64_t limb_bytes(const PolyView& v, int limbs) {
  return v.ring == nullptr ? 0 : std::uint64_t(limbs) * v.ring->n() * sizeof(std::uint32_t);
}
std::uint64_t bytes(const PolyView& v) { return limb_bytes(v, v.limbs()); }
std::uint64_t bytes(const PolyArray& a) { return a.count * bytes(a.first); }
std::uint64_t bytes(const LweView& v) {
  return sizeof(std::uint32_t) * std::uint64_t(v.count) * (v.dimension + 1);
}

// Whether both hold the limb of `prime` in the same memory: a square is read once.
bool same_limb(const PolyView& a, const PolyView& b, int prime) {
  return a.data != nullptr && a.data == b.data && a.limb(prime) == b.limb(prime);
}

// Every view once: right where inputs have no limbs beyond those that are used.
template <class Record>
std::uint64_t all_views(const Record& op) {
  std::uint64_t sum = 0;
  for_each_view(op, [&](const PolyView& v, bool) { sum += bytes(v); });
  return sum;
}

struct Cost {
  template <class Record>
  std::uint64_t operator()(const Record& op) const {
    return all_views(op);
  }
  // Keys are wider than the digits at low levels; only the digits' primes are read.
  std::uint64_t operator()(const KeyInner& op) const {
    std::uint64_t sum = 0;
    for (const KeyInner::Group& group : op.groups) {
      for (const KeyInner::Digit& digit : group.digits) {
        sum += bytes(digit.own) + bytes(digit.converted);
        // Of a product: a0, b0 and b1 beside a1's own limbs; a0 of a square.
        if (group.product.empty() || digit.own.segments == 0) continue;
        const int prime = digit.own.segment[0].prime;
        const auto& [a, b] = group.product;
        sum += bytes(digit.own) * (same_limb(a[1], b[1], prime) ? 1 : 3);
      }
      for (const KeyInner::Target& target : group.targets) {
        for (int h = 0; h < 2; ++h) {
          const int limbs = target.eval[h].limbs() + target.half[h].limbs();
          for (const auto& pair : target.key) sum += limb_bytes(pair[h], limbs);
          sum += bytes(target.eval[h]) + bytes(target.half[h]) + bytes(target.add[h]);
        }
      }
    }
    return sum;
  }
  std::uint64_t operator()(const Linear& op) const {
    std::uint64_t sum = 0;
    for (const Linear::Item& item : op.items) sum += bytes(item.out) * (item.terms.size() + 1);
    return sum;
  }
  std::uint64_t operator()(const Tensor& op) const {
    std::uint64_t sum = 0;
    for (const Tensor::Item& item : op.items) {
      const int prime = item.out[0].segment[0].prime;
      for (const Tensor::Pair& pair : item.pairs) {
        const bool square = same_limb(pair.a[0], pair.b[0], prime);
        sum += bytes(item.out[0]) * (square ? 2 : 4);
      }
      sum += bytes(item.out[0]) * (3 + 2 * item.terms.size());
    }
    return sum;
  }
  std::uint64_t operator()(const Dot& op) const {
    if (op.outputs.empty()) return 0;
    const auto used = [](const PolyView& v, const Dot::Output& output) {
      return limb_bytes(v, v.basis().intersect(output.out[0].basis()).size());
    };
    std::uint64_t sum = 0;
    for (const auto& input : op.inputs) sum += used(input[0], op.outputs[0]) * op.parts;
    for (const Dot::Output& output : op.outputs) {
      for (const Dot::Term& term : output.terms) sum += used(term.factor, output);
      sum += bytes(output.out[0]) * op.parts * (output.accumulate ? 2 : 1);
    }
    return sum;
  }
  std::uint64_t operator()(const Automorphism& op) const {
    std::uint64_t sum = 0;
    for (const Automorphism::Item& item : op.items)
      sum += bytes(item.out) * (item.terms.size() + 1);
    return sum;
  }
  static std::uint64_t slot_bytes(int slots) { return std::uint64_t(slots) * 2 * sizeof(double); }
  std::uint64_t operator()(const Embed& op) const {
    std::uint64_t sum = all_views(op);
    for (const Embed::Item& item : op.items) sum += slot_bytes(item.slots);
    return sum;
  }
  // Coefficients between those that slots come from are not read.
  std::uint64_t operator()(const Project& op) const {
    std::uint64_t sum = 0;
    for (const Project::Item& item : op.items) {
      const std::uint64_t words = std::uint64_t(item.in.limbs()) * 2 * item.slots;
      sum += words * sizeof(std::uint32_t) + slot_bytes(item.slots);
    }
    return sum;
  }
  std::uint64_t operator()(const FromIntegers& op) const {
    std::uint64_t sum = all_views(op);
    for (const FromIntegers::Item& item : op.items) sum += 2 * limb_bytes(item.out, 1);  // 64-bit
    return sum;
  }
  std::uint64_t operator()(const LweLinear& op) const {
    std::uint64_t sum = 0;
    for (const LweLinear::Item& item : op.items) {
      for (const LweLinear::Term& term : item.terms) sum += bytes(term.x);
      sum += bytes(item.out);
    }
    return sum;
  }
  // The key once for a batch: a backend that reads it more often is free to do so.
  std::uint64_t operator()(const LweKeySwitch& op) const {
    std::uint64_t sum = bytes(op.key);
    for (const LweKeySwitch::Item& item : op.items) sum += bytes(item.in) + bytes(item.out);
    return sum;
  }
  std::uint64_t operator()(const ModSwitch& op) const {
    std::uint64_t sum = 0;
    for (const ModSwitch::Item& item : op.items) sum += bytes(item.in) + bytes(item.out);
    return sum;
  }
  std::uint64_t operator()(const SampleExtract& op) const {
    std::uint64_t sum = 0;
    for (const SampleExtract::Item& item : op.items) sum += bytes(item.in) + bytes(item.out);
    return sum;
  }
  std::uint64_t operator()(const LweSlots& op) const {
    std::uint64_t sum = 0;
    for (const LweSlots::Item& item : op.items) {
      const std::uint64_t slots =
          op.bodies ? item.rows.size() : std::uint64_t{item.slots} * item.count;
      const std::uint64_t words = op.bodies ? slots * (item.in.dimension + 1) : slots;
      sum += words * sizeof(std::uint32_t) + slots * 2 * sizeof(double);
    }
    return sum;
  }
  // One double a coefficient.
  static std::uint64_t fourier_bytes(const PolyArray& a) {
    return a.count * limb_bytes(a.first, 1) / sizeof(std::uint32_t) * sizeof(double);
  }
  std::uint64_t operator()(const FourierKey& op) const {
    std::uint64_t sum = 0;
    for (const FourierKey::Item& item : op.items) sum += bytes(item.in) + fourier_bytes(item.in);
    return sum;
  }
  std::uint64_t operator()(const BlindRotate& op) const {
    const bool fft = op.arithmetic == BlindRotateArithmetic::Fft64;
    std::uint64_t sum = fft ? fourier_bytes(op.key) : bytes(op.key);
    for (const BlindRotate::Item& item : op.items) {
      sum += bytes(item.exponents) + bytes(item.table) + bytes(item.out);
    }
    return sum;
  }
};

struct Name {
  const char* operator()(const Transform&) const { return "Transform"; }
  const char* operator()(const Convert&) const { return "Convert"; }
  const char* operator()(const KeyInner&) const { return "KeyInner"; }
  const char* operator()(const ModDownFinish&) const { return "ModDownFinish"; }
  const char* operator()(const Linear&) const { return "Linear"; }
  const char* operator()(const Tensor&) const { return "Tensor"; }
  const char* operator()(const Dot&) const { return "Dot"; }
  const char* operator()(const Automorphism&) const { return "Automorphism"; }
  const char* operator()(const ModRaise&) const { return "ModRaise"; }
  const char* operator()(const FromIntegers&) const { return "FromIntegers"; }
  const char* operator()(const Embed&) const { return "Embed"; }
  const char* operator()(const Project&) const { return "Project"; }
  const char* operator()(const ExpandUniform&) const { return "ExpandUniform"; }
  const char* operator()(const SampleGaussian&) const { return "SampleGaussian"; }
  const char* operator()(const Copy&) const { return "Copy"; }
  const char* operator()(const LweLinear&) const { return "LweLinear"; }
  const char* operator()(const LweKeySwitch&) const { return "LweKeySwitch"; }
  const char* operator()(const ModSwitch&) const { return "ModSwitch"; }
  const char* operator()(const SampleExtract&) const { return "SampleExtract"; }
  const char* operator()(const LweSlots&) const { return "LweSlots"; }
  const char* operator()(const FourierKey&) const { return "FourierKey"; }
  const char* operator()(const BlindRotate&) const { return "BlindRotate"; }
};

}  // namespace

const char* name(const Operation& op) { return std::visit(Name{}, op); }

std::uint64_t bytes_moved(const Operation& op) { return std::visit(Cost{}, op); }

}  // namespace latticino
