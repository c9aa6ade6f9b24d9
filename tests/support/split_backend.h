// A CPU that is given records in parts, as a GPU is (backend/splitting.h). Records whose kernels
// take views of three segments fail if they still have more.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "backend/splitting.h"
#include "ops/views.h"
#include "support/witness_backend.h"

namespace latticino::test {

class SplitBackend : public WitnessBackend {
 public:
  static constexpr int kSegments = 3;
  struct Counts {
    int records = 0, emitted = 0, divided = 0;
  };

  explicit SplitBackend(std::shared_ptr<Counts> counts = std::make_shared<Counts>())
      : WitnessBackend([](const Operation&) {}),
        counts_(std::move(counts)),
        splitting_(
            kSegments,
            [this](const Ring& ring, const Basis& basis, Domain domain) {
              scratch_.emplace_back(static_cast<std::size_t>(ring.n()) * basis.size(), 0xAAAAAAAA);
              return PolyView::contiguous(scratch_.back().data(), ring, basis, domain);
            },
            [this](const Operation& op) {
              ++counts_->emitted;
              ++emitted_;
              if (!takes_any(op)) {
                for_each_view(op, [&](const PolyView& v, bool) {
                  EXPECT_LE(int{v.segments}, kSegments) << name(op) << " " << v.str();
                });
              }
              WitnessBackend::run(op);
            }) {}

  void run(const Operation& op) override {
    ++counts_->records;
    emitted_ = 0;
    splitting_.run(op);
    bool wide = false;
    for_each_view(op, [&](const PolyView& v, bool) { wide = wide || v.segments > kSegments; });
    if (wide && !takes_any(op)) ++counts_->divided;
    if (!wide) {
      EXPECT_EQ(emitted_, 1) << name(op);
    }
    scratch_.clear();
  }

  // Whether the kernels of a record take any number of segments.
  static bool takes_any(const Operation& op) {
    return std::holds_alternative<Transform>(op) || std::holds_alternative<KeyInner>(op) ||
           std::holds_alternative<ModDownFinish>(op) || std::holds_alternative<Project>(op);
  }

 private:
  std::shared_ptr<Counts> counts_;
  int emitted_ = 0;
  std::vector<std::vector<std::uint32_t>> scratch_;
  Splitting splitting_;
};

}  // namespace latticino::test
