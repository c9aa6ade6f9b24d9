// A CPU that is given records in parts, as a GPU is (backend/splitting.h). Records whose kernels
// take views of three segments fail if they still have more, and key switches with more digits than
// it takes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "backend/splitting.h"
#include "ops/views.h"
#include "support/witness_backend.h"

namespace latticino::test {

class SplitBackend : public WitnessBackend {
 public:
  static constexpr int kSegments = 3, kDigits = 2;
  struct Counts {
    int records = 0, emitted = 0, divided = 0;
  };

  explicit SplitBackend(std::shared_ptr<Counts> counts = std::make_shared<Counts>())
      : WitnessBackend([](const Operation&) {}),
        counts_(std::move(counts)),
        splitting_(
            {kSegments, [](const KeyInner&) { return kDigits; }},
            [this](const Ring& ring, const Basis& basis, Domain domain) {
              scratch_.emplace_back(static_cast<std::size_t>(ring.n()) * basis.size(), 0xAAAAAAAA);
              return PolyView::contiguous(scratch_.back().data(), ring, basis, domain);
            },
            [this](const Operation& op) {
              ++counts_->emitted;
              ++emitted_;
              each_limited(op, [&](const PolyView& v) {
                EXPECT_LE(int{v.segments}, kSegments) << name(op) << " " << v.str();
              });
              EXPECT_LE(most_digits(op), kDigits);
              WitnessBackend::run(op);
            }) {}

  void run(const Operation& op) override {
    ++counts_->records;
    emitted_ = 0;
    splitting_.run(op);
    bool wide = most_digits(op) > kDigits, limited = wide;
    for_each_view(op, [&](const PolyView& v, bool) { wide = wide || v.segments > kSegments; });
    each_limited(op, [&](const PolyView& v) { limited = limited || v.segments > kSegments; });
    if (limited) ++counts_->divided;
    if (!wide) {
      EXPECT_EQ(emitted_, 1) << name(op);
    }
    scratch_.clear();
  }

  // Calls visit(view) for the views whose kernels take three segments.
  template <class Visit>
  static void each_limited(const Operation& op, const Visit& visit) {
    if (const auto* transform = std::get_if<Transform>(&op)) {
      for (const Transform::Item& item : transform->items) {
        if (copies(item)) visit(item.in), visit(item.out);
      }
    } else if (!takes_any(op)) {
      for_each_view(op, [&](const PolyView& v, bool) { visit(v); });
    }
  }

  static int most_digits(const Operation& op) {
    std::size_t most = 0;
    if (const auto* inner = std::get_if<KeyInner>(&op)) {
      for (const KeyInner::Group& group : inner->groups) most = std::max(most, group.digits.size());
    }
    return static_cast<int>(most);
  }

 private:
  static bool takes_any(const Operation& op) {
    return std::holds_alternative<KeyInner>(op) || std::holds_alternative<ModDownFinish>(op) ||
           std::holds_alternative<Project>(op);
  }
  // A GPU copies what stays in its domain, and what takes one phase in place.
  static bool copies(const Transform::Item& item) {
    const bool whole = item.in.domain != Domain::Half && item.out.domain != Domain::Half;
    const int prime = item.in.basis().prime(0);
    return item.in.domain == item.out.domain ||
           (!whole && item.in.limb(prime) == item.out.limb(prime));
  }

  std::shared_ptr<Counts> counts_;
  int emitted_ = 0;
  std::vector<std::vector<std::uint32_t>> scratch_;
  Splitting splitting_;
};

}  // namespace latticino::test
