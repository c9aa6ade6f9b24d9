// The steps of a transform with a barrier between them. If only neighbours synchronise, also the
// blocks that each block waits for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "forms/maps.h"

namespace latticino::bench::forms {

// Global: a few fused stages in global memory. All blocks work on the whole polynomial. Shuffled
// and Chunks: many stages in the shared memory of a block, of shuffled coefficients or of a chunk.
enum class Kind { Global, Shuffled, Chunks };

struct Step {
  Kind kind = Kind::Global;
  int stage = 0, stages = 0;
};

struct Plan {
  static constexpr int kMaxSteps = 17;
  int log_n = 0, log_chunks = 0, count = 0;
  bool decomposed = false;
  Step step[kMaxSteps];

  LATTICINO_HOST_DEVICE constexpr int log_chunk(const Step& s) const {
    const int even = log_n - log_chunks;
    return s.kind == Kind::Shuffled && even < log_chunks ? log_chunks : even;
  }
  // Blocks that have work in a step; the others only wait.
  LATTICINO_HOST_DEVICE constexpr std::uint32_t active(const Step& s) const {
    return 1u << (log_n - log_chunk(s));
  }
  // Threads of a step on 2^log_length entries, over all of its blocks.
  LATTICINO_HOST_DEVICE constexpr std::uint32_t threads(int log_length, int fused) const {
    return 1u << (log_length - (decomposed ? 1 : fused));
  }
};

// Computes `fused` stages at a time. The last step has the remaining stages.
inline Plan global_plan(int log_n, int fused, bool decomposed) {
  Plan plan{log_n, 0, 0, decomposed, {}};
  for (int s = 0; s < log_n; s += fused) {
    plan.step[plan.count++] = {Kind::Global, s, std::min(fused, log_n - s)};
  }
  return plan;
}

// The switching point after `first` fused steps: 2^(fused first) chunks, and as many blocks.
inline Plan switching_plan(int log_n, int fused, bool decomposed, int first, bool shuffles) {
  Plan plan{log_n, fused * first, 0, decomposed, {}};
  if (shuffles && first > 0) {
    plan.step[plan.count++] = {Kind::Shuffled, 0, plan.log_chunks};
  } else {
    for (int i = 0; i < first; ++i) plan.step[plan.count++] = {Kind::Global, fused * i, fused};
  }
  plan.step[plan.count++] = {Kind::Chunks, plan.log_chunks, log_n - plan.log_chunks};
  return plan;
}

// The entries that a block of `threads` threads reads in a step. It writes only these.
inline std::vector<std::uint32_t> touched(const Plan& plan, const Step& step, std::uint32_t blocks,
                                          std::uint32_t threads, std::uint32_t block) {
  std::vector<std::uint32_t> entries;
  if (step.kind != Kind::Global) {
    const int log_chunk = plan.log_chunk(step);
    for (std::uint32_t i = 0; i >> log_chunk == 0 && block < plan.active(step); ++i) {
      entries.push_back(step.kind == Kind::Chunks
                            ? (block << log_chunk) + i
                            : shuffled(plan.log_n, plan.log_chunks, log_chunk, block, i));
    }
    return entries;
  }
  const Network net{plan.log_n, 1};
  const std::uint32_t all = plan.threads(plan.log_n, step.stages);
  for (std::uint32_t first = block * threads; first < all; first += blocks * threads) {
    for (std::uint32_t t = first; t < std::min(all, first + threads); ++t) {
      const Group group = plan.decomposed ? share_of(net, step.stage, step.stages, t).group
                                          : group_of(net, step.stage, step.stages, t);
      for (std::uint32_t k = 0; k >> step.stages == 0; ++k) entries.push_back(group.entry(k));
    }
  }
  return entries;
}

// The blocks that each block waits for before a step. It waits for a block that has read or written
// one of its entries in the step before. No block waits before the first step. All lists have
// `width` entries, as many as the longest list. A shorter list is filled up with the block itself.
struct Neighbours {
  std::uint32_t width = 0;
  std::vector<std::uint16_t> block;  // [step - 1][block][width]
};
inline Neighbours neighbours_of(const Plan& plan, std::uint32_t blocks, std::uint32_t threads) {
  std::vector<std::vector<std::uint16_t>> lists;
  for (int i = 1; i < plan.count; ++i) {
    std::vector<std::vector<std::uint16_t>> by(std::size_t{1} << plan.log_n);
    for (std::uint32_t b = 0; b < blocks; ++b) {
      for (const std::uint32_t e : touched(plan, plan.step[i - 1], blocks, threads, b)) {
        if (by[e].empty() || by[e].back() != b) by[e].push_back(static_cast<std::uint16_t>(b));
      }
    }
    for (std::uint32_t b = 0; b < blocks; ++b) {
      std::vector<char> waits(blocks);
      for (const std::uint32_t e : touched(plan, plan.step[i], blocks, threads, b)) {
        for (const std::uint16_t other : by[e]) waits[other] = 1;
      }
      auto& list = lists.emplace_back();
      for (std::uint32_t other = 0; other < blocks; ++other) {
        if (waits[other] && other != b) list.push_back(static_cast<std::uint16_t>(other));
      }
    }
  }
  Neighbours out;
  for (const auto& list : lists) {
    out.width = std::max(out.width, static_cast<std::uint32_t>(list.size()));
  }
  for (std::size_t i = 0; i < lists.size(); ++i) {
    lists[i].resize(out.width, static_cast<std::uint16_t>(i % blocks));
    out.block.insert(out.block.end(), lists[i].begin(), lists[i].end());
  }
  return out;
}

}  // namespace latticino::bench::forms
