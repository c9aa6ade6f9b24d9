// 8 lanes of 32 bits on AVX2; the same vector type as vec_avx512.h.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace latticino::cpu::LATTICINO_SIMD_TARGET {

// Whether kernels prefetch (simd/fetch.h). It gained nothing on a busy Zen 3.
constexpr bool kFetchesAhead = false;

struct Vec {
  static constexpr int kLanes = 8;
  __m256i v;

  static Vec load(const std::uint32_t* p) {
    return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))};
  }
  static Vec load_odd(const std::uint32_t* p) {
    return {_mm256_castps_si256(
        _mm256_movehdup_ps(_mm256_loadu_ps(reinterpret_cast<const float*>(p))))};
  }
  void store(std::uint32_t* p) const { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v); }
  void store_doubles(double* p) const {  // stores the lanes, as signed numbers
    _mm256_storeu_pd(p, _mm256_cvtepi32_pd(_mm256_castsi256_si128(v)));
    _mm256_storeu_pd(p + 4, _mm256_cvtepi32_pd(_mm256_extracti128_si256(v, 1)));
  }
  static Vec set(std::uint32_t x) { return {_mm256_set1_epi32(static_cast<int>(x))}; }
  static Vec load8(const std::uint8_t* p) {
    return {_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)))};
  }
  static void load_split(const std::int64_t* p, Vec& low, Vec& high) {
    const __m256i order = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
    const __m256i a =
        _mm256_permutevar8x32_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)), order);
    const __m256i b = _mm256_permutevar8x32_epi32(
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 4)), order);
    low.v = _mm256_permute2x128_si256(a, b, 0x20);
    high.v = _mm256_permute2x128_si256(a, b, 0x31);
  }
  friend Vec operator&(Vec a, Vec b) { return {_mm256_and_si256(a.v, b.v)}; }
  friend Vec permuted(Vec x, Vec order) { return {_mm256_permutevar8x32_epi32(x.v, order.v)}; }
  friend Vec operator+(Vec a, Vec b) { return {_mm256_add_epi32(a.v, b.v)}; }
  friend Vec operator-(Vec a, Vec b) { return {_mm256_sub_epi32(a.v, b.v)}; }
  friend Vec mul_low(Vec a, Vec b) { return {_mm256_mullo_epi32(a.v, b.v)}; }
  friend Vec min_u(Vec a, Vec b) { return {_mm256_min_epu32(a.v, b.v)}; }
  friend Vec mul_high(Vec a, Vec b) {
    const __m256i even = _mm256_srli_epi64(_mm256_mul_epu32(a.v, b.v), 32);
    const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(a.v, 32), _mm256_srli_epi64(b.v, 32));
    return {_mm256_blend_epi32(even, odd, 0xAA)};
  }
  // Odd lanes moved to even ones.
  friend Vec odd_lanes(Vec x) { return {_mm256_srli_epi64(x.v, 32)}; }
  friend Vec shift_right_signed(Vec x, int bits) {
    return {_mm256_sra_epi32(x.v, _mm_cvtsi32_si128(bits))};
  }
  friend Vec sub_where_greater(Vec x, Vec bound, Vec q) {
    const __m256i keep = _mm256_cmpeq_epi32(_mm256_max_epu32(x.v, bound.v), bound.v);
    return {_mm256_sub_epi32(x.v, _mm256_andnot_si256(keep, q.v))};
  }
  friend Vec add_where_negative(Vec x, Vec q) {
    return {_mm256_add_epi32(x.v, _mm256_and_si256(_mm256_srai_epi32(x.v, 31), q.v))};
  }
};

struct Wide {
  __m256i even, odd;

  static Wide zero() { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
  static Wide set(std::int64_t x) { return {_mm256_set1_epi64x(x), _mm256_set1_epi64x(x)}; }
  static Wide load(const std::int64_t* p) {
    return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)),
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 4))};
  }
  void store(std::int64_t* p) const {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), even);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + 4), odd);
  }
  Vec shifted(int bits) const {
    const __m128i right = _mm_cvtsi32_si128(bits), left = _mm_cvtsi32_si128(32 - bits);
    return {_mm256_blend_epi32(_mm256_srl_epi64(even, right), _mm256_sll_epi64(odd, left), 0xAA)};
  }
  void add_broadcast(Vec a, Vec a_odd, Vec b) {
    even = _mm256_add_epi64(even, _mm256_mul_epi32(a.v, b.v));
    odd = _mm256_add_epi64(odd, _mm256_mul_epi32(a_odd.v, b.v));
  }
  void add_pairs(Vec a, Vec a_odd, Vec b, Vec b_odd) {
    even = _mm256_add_epi64(even, _mm256_mul_epi32(a.v, b.v));
    odd = _mm256_add_epi64(odd, _mm256_mul_epi32(a_odd.v, b_odd.v));
  }
  void add(Wide x) {
    even = _mm256_add_epi64(even, x.even);
    odd = _mm256_add_epi64(odd, x.odd);
  }
  void add_product(Vec a, Vec b) {
    even = _mm256_add_epi64(even, _mm256_mul_epi32(a.v, b.v));
    odd = _mm256_add_epi64(
        odd, _mm256_mul_epi32(_mm256_srli_epi64(a.v, 32), _mm256_srli_epi64(b.v, 32)));
  }
  static __m256i shift_right_32(__m256i x) {  // arithmetic, 64-bit lanes
    const __m256i high = _mm256_shuffle_epi32(x, 0xF5);
    return _mm256_blend_epi32(high, _mm256_srai_epi32(high, 31), 0xAA);
  }
  void montgomery_step(Vec q, Vec m) {
    even = step(even, q, m);
    odd = step(odd, q, m);
  }
  static __m256i step(__m256i x, Vec q, Vec m) {
    const __m256i y = _mm256_mul_epi32(_mm256_mul_epi32(x, m.v), q.v);
    return _mm256_sub_epi64(shift_right_32(x), shift_right_32(y));
  }
  Vec montgomery(Vec q, Vec m) const {
    const __m256i ye = _mm256_mul_epi32(_mm256_mul_epi32(even, m.v), q.v);
    const __m256i yo = _mm256_mul_epi32(_mm256_mul_epi32(odd, m.v), q.v);
    const __m256i low = _mm256_srli_epi64(_mm256_sub_epi64(even, ye), 32);
    return {_mm256_blend_epi32(low, _mm256_sub_epi64(odd, yo), 0xAA)};
  }
};

// 4 doubles, with the operations of math/fourier.h.
struct Doubles {
  static constexpr int kLogLanes = 2, kLanes = 4;
  // Stages of a transform whose numbers fit into the registers.
  static constexpr int kPassStages = 2;
  __m256d v;

  Doubles() = default;
  Doubles(__m256d x) : v(x) {}
  explicit Doubles(double x) : v(_mm256_set1_pd(x)) {}
  static Doubles load(const double* p) { return _mm256_loadu_pd(p); }
  void store(double* p) const { _mm256_storeu_pd(p, v); }
  Doubles operator-() const { return -v; }
  friend Doubles fused_add(Doubles a, Doubles b, Doubles c) {
    return _mm256_fmadd_pd(a.v, b.v, c.v);
  }
  friend Doubles times(Doubles a, Doubles b) { return _mm256_mul_pd(a.v, b.v); }
  friend Doubles plus(Doubles a, Doubles b) { return _mm256_add_pd(a.v, b.v); }
};

inline void transpose(Doubles (&r)[4]) {
  const __m256d a = _mm256_unpacklo_pd(r[0].v, r[1].v), b = _mm256_unpackhi_pd(r[0].v, r[1].v);
  const __m256d c = _mm256_unpacklo_pd(r[2].v, r[3].v), d = _mm256_unpackhi_pd(r[2].v, r[3].v);
  r[0].v = _mm256_permute2f128_pd(a, c, 0x20);
  r[1].v = _mm256_permute2f128_pd(b, d, 0x20);
  r[2].v = _mm256_permute2f128_pd(a, c, 0x31);
  r[3].v = _mm256_permute2f128_pd(b, d, 0x31);
}

// Transposes an 8 x 8 block held in 8 vectors.
inline void transpose(Vec (&r)[8]) {
  __m256i t[8], u[8];
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_epi32(r[i].v, r[i + 1].v);
    t[i + 1] = _mm256_unpackhi_epi32(r[i].v, r[i + 1].v);
  }
  for (int i = 0; i < 8; i += 4) {
    u[i] = _mm256_unpacklo_epi64(t[i], t[i + 2]);
    u[i + 1] = _mm256_unpackhi_epi64(t[i], t[i + 2]);
    u[i + 2] = _mm256_unpacklo_epi64(t[i + 1], t[i + 3]);
    u[i + 3] = _mm256_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  for (int b = 0; b < 4; ++b) {
    r[b].v = _mm256_permute2x128_si256(u[b], u[4 + b], 0x20);
    r[4 + b].v = _mm256_permute2x128_si256(u[b], u[4 + b], 0x31);
  }
}

}  // namespace latticino::cpu::LATTICINO_SIMD_TARGET
