// Transforms over a vector type `Vec` (vec_avx512.h, vec_avx2.h). Compiled once for each
// instruction set in a namespace of its own; uses raw pointers only, so that no inline function of
// the standard library is emitted with instructions the machine may lack.
//
// Ranges, q < 2^31: every value between stages is below 2q < 2^32. Harvey's lazier [0, 4q) does not
// fit primes above 2^30.
#pragma once

#include "backend/cpu/simd/tail_tables.h"

namespace latticino::cpu::LATTICINO_SIMD_TARGET {

struct Prime {
  Vec q;
  explicit Prime(std::uint32_t p) : q(Vec::set(p)) {}
  Vec below_q(Vec x) const { return min_u(x, x - q); }  // [0, 2q) -> [0, q)
};

// x w mod q in [0, 2q), any x < 2^32; ws = floor(w 2^32 / q) (Shoup).
inline Vec shoup(Vec x, Vec w, Vec ws, Vec q) {
  return mul_low(x, w) - mul_low(mul_high(x, ws), q);
}

// (u, v) -> (u + w v, u - w v), in and out in [0, 2q).
inline void forward_butterfly(Vec& u, Vec& v, Vec w, Vec ws, const Prime& p) {
  const Vec t = p.below_q(shoup(v, w, ws, p.q));
  u = p.below_q(u);
  v = u - t + p.q;
  u = u + t;
}

// (u, v) -> (u + v, (u - v) w), in and out in [0, q).
inline void inverse_butterfly(Vec& u, Vec& v, Vec w, Vec ws, const Prime& p) {
  const Vec d = u - v + p.q;
  u = p.below_q(u + v);
  v = p.below_q(shoup(d, w, ws, p.q));
}

// The last inverse butterfly of a phase, with the phase's 1/length folded in: u is scaled by
// (s, ss), w already carries the factor.
inline void inverse_butterfly_scaled(Vec& u, Vec& v, Vec w, Vec ws, Vec s, Vec ss, const Prime& p) {
  const Vec d = u - v + p.q;
  u = p.below_q(shoup(p.below_q(u + v), s, ss, p.q));
  v = p.below_q(shoup(d, w, ws, p.q));
}

// Twiddle (w, its Shoup quotient), broadcast.
struct Factor {
  Vec w, quotient;
  Factor(std::uint32_t x, std::uint32_t x_quotient)
      : w(Vec::set(x)), quotient(Vec::set(x_quotient)) {}
  explicit Factor(ShoupFactor f) : Factor(f.w, f.quotient) {}
};

// x y mod q as a Shoup pair; one division, outside the loops.
inline Factor scaled_factor(std::uint32_t x, std::uint32_t y, std::uint32_t q) {
  const std::uint64_t w = static_cast<std::uint64_t>(x) * y % q;
  return {static_cast<std::uint32_t>(w), static_cast<std::uint32_t>((w << 32) / q)};
}

// Column tiles of 32 columns: 128 bytes per row, 32 KiB at 256 rows, so a tile stays in L1.
constexpr int kTileColumns = 32;
constexpr int kMaxRows = 256;

// Butterflies between `a` and `b`, n words each.
inline void forward_run(std::uint32_t* a, std::uint32_t* b, long n, const Factor& f,
                        const Prime& p) {
  for (long k = 0; k < n; k += Vec::kLanes) {
    Vec u = Vec::load(a + k), v = Vec::load(b + k);
    forward_butterfly(u, v, f.w, f.quotient, p);
    u.store(a + k);
    v.store(b + k);
  }
}

inline void inverse_run(std::uint32_t* a, std::uint32_t* b, long n, const Factor& f,
                        const Prime& p) {
  for (long k = 0; k < n; k += Vec::kLanes) {
    Vec u = Vec::load(a + k), v = Vec::load(b + k);
    inverse_butterfly(u, v, f.w, f.quotient, p);
    u.store(a + k);
    v.store(b + k);
  }
}

inline void inverse_run_scaled(std::uint32_t* a, std::uint32_t* b, long n, const Factor& f,
                               const Factor& scale, const Prime& p) {
  for (long k = 0; k < n; k += Vec::kLanes) {
    Vec u = Vec::load(a + k), v = Vec::load(b + k);
    inverse_butterfly_scaled(u, v, f.w, f.quotient, scale.w, scale.quotient, p);
    u.store(a + k);
    v.store(b + k);
  }
}

// Column stages on a tile of rows x `columns` words.
inline void forward_tile(std::uint32_t* tile, int columns, const PrimeTable& t, const Prime& p) {
  const int rows = t.rows();
  for (int m = 1; m < rows; m *= 2) {
    const long run = static_cast<long>(rows / (2 * m)) * columns;
    for (int block = 0; block < m; ++block) {
      std::uint32_t* a = tile + 2 * block * run;
      forward_run(a, a + run, run, {t.root[m + block], t.root_quotient[m + block]}, p);
    }
  }
}

inline void inverse_tile(std::uint32_t* tile, int columns, const PrimeTable& t, ShoupFactor scale,
                         const Prime& p) {
  const int rows = t.rows();
  for (int m = rows / 2; m > 1; m /= 2) {
    const long run = static_cast<long>(rows / (2 * m)) * columns;
    for (int block = 0; block < m; ++block) {
      std::uint32_t* a = tile + 2 * block * run;
      inverse_run(a, a + run, run, {t.inverse[m + block], t.inverse_quotient[m + block]}, p);
    }
  }
  const long run = static_cast<long>(rows / 2) * columns;
  inverse_run_scaled(tile, tile + run, run, scaled_factor(t.inverse[1], scale.w, t.modulus.q),
                     Factor(scale), p);
}

inline void load_tile(std::uint32_t* tile, const std::uint32_t* in, std::size_t stride, int width,
                      int rows) {
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < width; c += Vec::kLanes) {
      Vec::load(in + r * stride + c).store(tile + r * kTileColumns + c);
    }
  }
}

inline void store_tile(std::uint32_t* out, std::size_t stride, const std::uint32_t* tile, int width,
                       int rows, const Prime& p) {
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < width; c += Vec::kLanes) {
      p.below_q(Vec::load(tile + r * kTileColumns + c)).store(out + r * stride + c);
    }
  }
}

template <class Stages>
inline void by_tiles(std::uint32_t* out, std::size_t out_stride, const std::uint32_t* in,
                     std::size_t in_stride, int width, const PrimeTable& t, const Prime& p,
                     Stages stages) {
  constexpr int kFitsL1 = 4096;  // words: smaller polynomials need no copy
  if (out == in && in_stride == static_cast<std::size_t>(width) && width * t.rows() <= kFitsL1) {
    stages(out, width);
    for (int i = 0; i < width * t.rows(); i += Vec::kLanes)
      p.below_q(Vec::load(out + i)).store(out + i);
    return;
  }
  alignas(64) std::uint32_t tile[kMaxRows * kTileColumns];
  for (int c = 0; c < width; c += kTileColumns) {
    const int part = width - c < kTileColumns ? width - c : kTileColumns;
    if (part < kTileColumns) {  // the unused columns are computed on zeros
      for (int i = 0; i < t.rows() * kTileColumns; ++i) tile[i] = 0;
    }
    load_tile(tile, in + c, in_stride, part, t.rows());
    stages(tile, kTileColumns);
    store_tile(out + c, out_stride, tile, part, t.rows(), p);
  }
}

inline void forward_columns(std::uint32_t* out, std::size_t out_stride, const std::uint32_t* in,
                            std::size_t in_stride, int width, const PrimeTable& t) {
  const Prime p(t.modulus.q);
  by_tiles(out, out_stride, in, in_stride, width, t, p,
           [&](std::uint32_t* tile, int columns) { forward_tile(tile, columns, t, p); });
}

inline void inverse_columns(std::uint32_t* out, std::size_t out_stride, const std::uint32_t* in,
                            std::size_t in_stride, int width, ShoupFactor scale,
                            const PrimeTable& t) {
  const Prime p(t.modulus.q);
  by_tiles(out, out_stride, in, in_stride, width, t, p,
           [&](std::uint32_t* tile, int columns) { inverse_tile(tile, columns, t, scale, p); });
}

// Row stages of strides >= kLanes of one row.
inline void forward_row_head(std::uint32_t* a, int row, const PrimeTable& t, const Prime& p) {
  for (int stride = t.cols() / 2, blocks = 1; stride >= Vec::kLanes; stride /= 2, blocks *= 2) {
    const int first = (t.rows() + row) * blocks;
    for (int block = 0; block < blocks; ++block) {
      std::uint32_t* x = a + 2 * block * stride;
      const int i = first + block;
      forward_run(x, x + stride, stride, {t.root[i], t.root_quotient[i]}, p);
    }
  }
}

inline void inverse_row_head(std::uint32_t* a, int row, const Factor& scale, std::uint32_t scale_w,
                             const PrimeTable& t, const Prime& p) {
  const int cols = t.cols();
  for (int stride = Vec::kLanes; stride <= cols / 4; stride *= 2) {
    const int blocks = cols / (2 * stride), first = (t.rows() + row) * blocks;
    for (int block = 0; block < blocks; ++block) {
      std::uint32_t* x = a + 2 * block * stride;
      const int i = first + block;
      inverse_run(x, x + stride, stride, {t.inverse[i], t.inverse_quotient[i]}, p);
    }
  }
  const Factor w = scaled_factor(t.inverse[t.rows() + row], scale_w, t.modulus.q);
  inverse_run_scaled(a, a + cols / 2, cols / 2, w, scale, p);
}

// Row stages of strides below kLanes, on kLanes^2 consecutive words: transposed, so that every
// butterfly is between whole vectors. Twiddles lie in the order of use (tail_tables.h).
template <int kStride>
inline void forward_tail_stages(Vec (&r)[Vec::kLanes], const std::uint32_t* w,
                                const std::uint32_t* quotient, const Prime& p) {
  constexpr int kBlocks = Vec::kLanes / (2 * kStride);
#pragma GCC unroll 8
  for (int block = 0; block < kBlocks; ++block) {
    const Vec vw = Vec::load(w + block * Vec::kLanes);
    const Vec vq = Vec::load(quotient + block * Vec::kLanes);
#pragma GCC unroll 8
    for (int k = 0; k < kStride; ++k) {
      forward_butterfly(r[2 * block * kStride + k], r[(2 * block + 1) * kStride + k], vw, vq, p);
    }
  }
  if constexpr (kStride > 1) {
    constexpr int kUsed = kBlocks * Vec::kLanes;
    forward_tail_stages<kStride / 2>(r, w + kUsed, quotient + kUsed, p);
  }
}

template <int kStride>
inline void inverse_tail_stages(Vec (&r)[Vec::kLanes], const std::uint32_t* w,
                                const std::uint32_t* quotient, const Prime& p) {
  constexpr int kBlocks = Vec::kLanes / (2 * kStride);
  if constexpr (kStride > 1) {
    constexpr int kUsed = kBlocks * Vec::kLanes;
    inverse_tail_stages<kStride / 2>(r, w + kUsed, quotient + kUsed, p);
  }
#pragma GCC unroll 8
  for (int block = 0; block < kBlocks; ++block) {
    const Vec vw = Vec::load(w + block * Vec::kLanes);
    const Vec vq = Vec::load(quotient + block * Vec::kLanes);
#pragma GCC unroll 8
    for (int k = 0; k < kStride; ++k) {
      inverse_butterfly(r[2 * block * kStride + k], r[(2 * block + 1) * kStride + k], vw, vq, p);
    }
  }
}

constexpr int kTailBlock = Vec::kLanes * Vec::kLanes;
constexpr int kTailTwiddles = (Vec::kLanes - 1) * Vec::kLanes;

inline void forward_tail(std::uint32_t* a, long block, const TailTables& tables, const Prime& p) {
  Vec r[Vec::kLanes];
  for (int i = 0; i < Vec::kLanes; ++i) r[i] = Vec::load(a + i * Vec::kLanes);
  transpose(r);
  forward_tail_stages<Vec::kLanes / 2>(r, tables.root + block * kTailTwiddles,
                                       tables.root_quotient + block * kTailTwiddles, p);
  transpose(r);
  for (int i = 0; i < Vec::kLanes; ++i) p.below_q(r[i]).store(a + i * Vec::kLanes);
}

inline void inverse_tail(std::uint32_t* a, long block, const TailTables& tables, const Prime& p) {
  Vec r[Vec::kLanes];
  for (int i = 0; i < Vec::kLanes; ++i) r[i] = Vec::load(a + i * Vec::kLanes);
  transpose(r);
  inverse_tail_stages<Vec::kLanes / 2>(r, tables.inverse + block * kTailTwiddles,
                                       tables.inverse_quotient + block * kTailTwiddles, p);
  transpose(r);
  for (int i = 0; i < Vec::kLanes; ++i) r[i].store(a + i * Vec::kLanes);
}

inline void copy_words(std::uint32_t* out, const std::uint32_t* in, long n) {
  if (out == in) return;
  for (long i = 0; i < n; i += Vec::kLanes) Vec::load(in + i).store(out + i);
}

// Rows that fill whole tail blocks together.
inline int rows_per_span(const PrimeTable& t) {
  return t.cols() >= kTailBlock ? 1 : kTailBlock / t.cols();
}

inline void forward_rows(std::uint32_t* out, const std::uint32_t* in, int first_row, int count,
                         const PrimeTable& t) {
  const int step = rows_per_span(t), cols = t.cols();
  if (first_row % step != 0 || count % step != 0) {
    reference_kernels().forward_rows(out, in, first_row, count, t);
    return;
  }
  const Prime p(t.modulus.q);
  const TailTables& tables = *static_cast<const TailTables*>(t.extra);
  for (int row = first_row; row < first_row + count; row += step) {
    copy_words(out, in, static_cast<long>(step) * cols);
    for (int k = 0; k < step; ++k) forward_row_head(out + k * cols, row + k, t, p);
    for (int x = 0; x < step * cols; x += kTailBlock) {
      forward_tail(out + x, (static_cast<long>(row) * cols + x) / kTailBlock, tables, p);
    }
    in += step * cols;
    out += step * cols;
  }
}

inline void inverse_rows(std::uint32_t* out, const std::uint32_t* in, int first_row, int count,
                         ShoupFactor scale, const PrimeTable& t) {
  const int step = rows_per_span(t), cols = t.cols();
  if (first_row % step != 0 || count % step != 0) {
    reference_kernels().inverse_rows(out, in, first_row, count, scale, t);
    return;
  }
  const Prime p(t.modulus.q);
  const Factor factor(scale);
  const TailTables& tables = *static_cast<const TailTables*>(t.extra);
  for (int row = first_row; row < first_row + count; row += step) {
    copy_words(out, in, static_cast<long>(step) * cols);
    for (int x = 0; x < step * cols; x += kTailBlock) {
      inverse_tail(out + x, (static_cast<long>(row) * cols + x) / kTailBlock, tables, p);
    }
    for (int k = 0; k < step; ++k) inverse_row_head(out + k * cols, row + k, factor, scale.w, t, p);
    in += step * cols;
    out += step * cols;
  }
}

}  // namespace latticino::cpu::LATTICINO_SIMD_TARGET
