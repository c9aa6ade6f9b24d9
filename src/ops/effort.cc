#include "ops/effort.h"

#include "poly/ring.h"

namespace latticino {
namespace {

struct Count {
  template <class Record>
  Effort operator()(const Record&) const {
    return {};
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
  // Of each step and key: the digits' transforms and those back, of every prime. A complex
  // butterfly takes the time of two.
  Effort operator()(const BlindRotate& op) const {
    Effort e;
    const PolyView& key = op.key.first;
    if (key.ring == nullptr) return e;
    const double n = static_cast<double>(key.ring->n());
    const double transform = op.arithmetic == BlindRotateArithmetic::Fft64
                                 ? n / 2 * (key.ring->log_n() - 1)
                                 : n / 2 * key.ring->log_n() * key.limbs();
    const double transforms = op.rows() + (op.glwe_dimension + 1);
    for (const BlindRotate::Item& item : op.items) {
      const double keys =
          item.exponents.dimension / op.group * static_cast<double>(op.keys_per_step());
      e.path = keys * transforms * transform;
      e.work += e.path * item.exponents.count;
      e.items += item.exponents.count;
    }
    return e;
  }
};

}  // namespace

Effort effort(const Operation& op) { return std::visit(Count{}, op); }

}  // namespace latticino
