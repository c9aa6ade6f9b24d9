// Divides records for a backend whose kernels take views of few segments, and few digits of a key
// switch. A record over more segments, as sets with free terminals have, becomes records over parts
// of the primes, and one with more digits a sum over parts of these: the same integers. Other
// records stay as they are.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "ops/operations.h"

namespace latticino {

class Splitting {
 public:
  // Allocator of scratch memory.
  using Take = std::function<PolyView(const Ring&, const Basis&, Domain)>;
  using Emit = std::function<void(const Operation&)>;

  struct Limits {
    // The most segments of a view. KeyInner, ModDownFinish and Project have no such limit, nor has
    // Transform except for items whose limbs are copied.
    int segments;
    // The most digits for a group of the record, at least one.
    std::function<int(const KeyInner&)> digits;
  };

  Splitting(Limits limits, Take take, Emit emit)
      : limits_(std::move(limits)), take_(std::move(take)), emit_(std::move(emit)) {}

  // Emits `op`, or the records that replace it. Scratch is free again when this returns.
  void run(const Operation& op);

 private:
  template <class Record>
  void divide(const Record& op, const Operation& whole);
  void divide(const Convert& op, const Operation&);
  void divide(const Transform& op, const Operation&);
  void divide(const KeyInner& op, const Operation& whole);
  void divide(const Linear& op, const Operation&);
  void divide(const Tensor& op, const Operation&);
  void divide(const Dot& op, const Operation&);
  void divide(const Automorphism& op, const Operation&);
  void divide(const Copy& op, const Operation&);

  void add_digits(const KeyInner& op, const KeyInner::Group& group, int parts,
                  std::vector<PolyView>& scratch);

  Limits limits_;
  Take take_;
  Emit emit_;
};

}  // namespace latticino
