#include "ops/dot_effort.h"
#include "ops/fields.h"
#include "ops/rotation_effort.h"

#include <cmath>

#include "poly/ring.h"

namespace latticino {
namespace {

// Rotations in FP64 that a GPU spreads over processors (backend/cuda/rotate/fft/cluster.cu).
bool spreads_in_fft64(const BlindRotate& op, int log_n, int limbs) {
  const int levels = op.gadget.levels;
  return op.glwe_dimension == 1 && (op.group == 1 || op.group == 3) &&
         ((log_n == 10 && limbs == 1 && levels == 3) || (log_n == 11 && limbs == 2 && levels == 1));
}

struct Count {
  template <class Record>
  Effort operator()(const Record&) const {
    return {};
  }
  Effort operator()(const Dot& op) const { return dot_effort(op); }
  // A transform between Coeff and Eval is two passes over the limbs, one between Half and either is
  // one. Bytes of the second pass.
  Effort operator()(const Transform& op) const {
    Effort e;
    for (const Transform::Item& item : op.items) {
      if (item.in.domain == Domain::Half || item.out.domain == Domain::Half) continue;
      e.work += static_cast<double>(bytes_of(item.in) + bytes_of(item.out));
      ++e.items;
    }
    return e;
  }
  Effort operator()(const LweKeySwitch& op) const {
    Effort e;
    for (const LweKeySwitch::Item& item : op.items) {
      e.path =
          static_cast<double>(item.in.dimension) * op.gadget.levels * (item.out.dimension + 1.0);
      e.work += e.path * item.in.count;
      e.items += item.in.count;
    }
    return e;
  }
  Effort operator()(const BlindRotate& op) const {
    Effort e;
    const PolyView& key = op.key.first;
    if (key.ring == nullptr) return e;
    for (const BlindRotate::Item& item : op.items) {
      const Effort one = rotation_effort(op, key.ring->log_n(), static_cast<int>(key.limbs()),
                                         item.exponents.dimension, item.exponents.count);
      e.path = one.path;  // items run at the same time
      e.fourier_path = one.fourier_path;
      e.work += one.work;
      e.fourier_work += one.fourier_work;
      e.items += one.items;
    }
    return e;
  }
};

}  // namespace

// Per step: the transforms of the digits, and those back of each key, for every prime. For the
// latency of one ciphertext: several keys share the transforms back, and their products count, two
// per butterfly. Eight processors share this work. In FP64 only the rotations of spreads_in_fft64()
// are shared; these compute the products of several keys at the same time. Other rotations in FP64
// run on one processor. From N = 2^12 on its warps have more parallel work, so the factor is 3 and
// not 8: 880 steps of six transforms take 13 ms on an H200.
Effort rotation_effort(const BlindRotate& op, int log_n, int limbs, std::uint32_t dimension,
                       std::uint32_t count) {
  Effort e;
  const double n = std::exp2(log_n);
  const bool fft = op.arithmetic == BlindRotateArithmetic::Fft64;
  const double transform = fft ? n / 2 * (log_n - 1) : n / 2 * log_n * limbs;
  const double parts = op.glwe_dimension + 1.0, keys = op.keys_per_step();
  const double work = (op.rows() + keys * parts) * transform;
  const double products = (keys - 1) * op.rows() * parts * n * limbs;
  const bool spreads = fft && spreads_in_fft64(op, log_n, limbs);
  const double path = (op.rows() + parts) * transform + (spreads ? 0 : products / 2);
  const double share = !fft || spreads ? 1 : log_n < 12 ? 8 : 3;
  const std::uint32_t groups = dimension / static_cast<std::uint32_t>(op.group);
  const double steps = groups;
  (fft ? e.fourier_path : e.path) = share * steps * path;
  (fft ? e.fourier_work : e.work) = steps * work * count;
  e.items = count;
  return e;
}

Effort effort(const Operation& op) { return std::visit(Count{}, op); }

}  // namespace latticino
