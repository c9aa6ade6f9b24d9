// How kernels execute a Prefetch: a few lines for each piece of their work. If they fetched all
// lines at once, they would wait for them.
#pragma once

#include "backend/cpu/prefetch.h"

namespace latticino::cpu::LATTICINO_SIMD_TARGET {

class Fetch {
 public:
  static constexpr std::size_t kLine = 64;

  Fetch(Prefetch& ahead, std::size_t pieces) : next_(ahead.next) {
    if (!kFetchesAhead || pieces == 0 || next_ == ahead.end) return;
    const auto left = static_cast<std::size_t>(ahead.end - next_);
    const std::size_t share = ahead.share < left ? ahead.share : left;
    bytes_of_piece_ = ((share + kLine - 1) / kLine + pieces - 1) / pieces * kLine;
    const std::size_t all = bytes_of_piece_ * pieces;
    ahead.next += all < left ? all : left;
  }
  void piece() {
    if constexpr (!kFetchesAhead) return;
    const char* const end = next_ + bytes_of_piece_;
    for (const char* line = next_; line != end; line += kLine) _mm_prefetch(line, _MM_HINT_T1);
    next_ = end;
  }

 private:
  const char* next_;
  std::size_t bytes_of_piece_ = 0;
};

}  // namespace latticino::cpu::LATTICINO_SIMD_TARGET
