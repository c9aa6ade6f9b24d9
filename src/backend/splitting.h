// Divides records for a backend whose kernels take views of few segments. A record over more of
// them, as sets with free terminals have, becomes records over parts of the primes: the same
// integers. Others pass through.
#pragma once

#include <functional>
#include <utility>

#include "ops/operations.h"

namespace latticino {

class Splitting {
 public:
  using Take = std::function<PolyView(const Ring&, const Basis&, Domain)>;  // scratch
  using Emit = std::function<void(const Operation&)>;

  // KeyInner, ModDownFinish, Project, and Transform but for items whose limbs are copied, are left
  // as they are: their kernels take any number of segments.
  Splitting(int most, Take take, Emit emit)
      : most_(most), take_(std::move(take)), emit_(std::move(emit)) {}

  // Emits `op`, or the records that replace it. Scratch is free again when this returns.
  void run(const Operation& op);

 private:
  template <class Record>
  void divide(const Record& op, const Operation& whole);
  void divide(const Convert& op, const Operation&);
  void divide(const Transform& op, const Operation&);
  void divide(const Linear& op, const Operation&);
  void divide(const Tensor& op, const Operation&);
  void divide(const Dot& op, const Operation&);
  void divide(const Automorphism& op, const Operation&);
  void divide(const Copy& op, const Operation&);

  int most_;
  Take take_;
  Emit emit_;
};

}  // namespace latticino
