// Replaces fused records by sequences of simpler ones, which compute the same integers in more
// passes.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "backend/features.h"
#include "ops/operations.h"

namespace latticino {

class Lowering {
 public:
  // Allocator of scratch memory.
  using Take = std::function<PolyView(const Ring&, const Basis&, Domain)>;
  using Emit = std::function<void(const Operation&)>;

  Lowering(std::shared_ptr<const Features> features, Take take, Emit emit)
      : features_(std::move(features)), take_(std::move(take)), emit_(std::move(emit)) {}

  // Emits `op`, or the records that replace it. Scratch is free again when this returns.
  void lower(const Operation& op);

 private:
  template <class Record>
  bool replace(const Record&) {
    return false;
  }
  bool replace(const Convert& op);
  bool replace(const Transform& op);
  bool replace(const KeyInner& op);
  bool replace(const ModDownFinish& op);
  bool replace(const Linear& op);
  bool replace(const Tensor& op);
  bool replace(const Dot& op);
  bool replace(const Automorphism& op);

  // Splits a record of several items into records of one item.
  template <class Record>
  bool split(const Record& op);
  bool split(const KeyInner& op);
  bool split(const Dot& op);

  void products(const KeyInner::Product& product, std::vector<KeyInner::Digit>& digits,
                std::vector<KeyInner::Target>& targets);
  void key_target(const KeyInner& op, const std::vector<KeyInner::Digit>& digits,
                  const KeyInner::Target& target);
  void long_sum(const Linear::Item& item);
  void long_sum(const Dot& op, const Dot::Output& output);
  PolyView like(const PolyView& v, Domain domain) const {
    return take_(*v.ring, v.basis(), domain);
  }

  std::shared_ptr<const Features> features_;
  Take take_;
  Emit emit_;
};

}  // namespace latticino
