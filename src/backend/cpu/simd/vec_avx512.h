// 16 lanes of 32 bits on AVX-512 F/DQ/BW/VL. One of the vector types that simd/kernels_impl.h is
// written over; included only by the translation unit compiled for that instruction set.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace latticino::cpu::LATTICINO_SIMD_TARGET {

// Whether kernels prefetch (simd/fetch.h): on an Emerald Rapids, a single blind rotation of
// tfhe-gates-v1 takes 11.4 ms instead of 15.5 ms.
constexpr bool kFetchesAhead = true;

struct Vec {
  static constexpr int kLanes = 16;
  __m512i v;

  static Vec load(const std::uint32_t* p) { return {_mm512_loadu_si512(p)}; }
  // Moves odd lanes to even ones. The load ports do it.
  static Vec load_odd(const std::uint32_t* p) {
    return {_mm512_castps_si512(_mm512_movehdup_ps(_mm512_loadu_ps(p)))};
  }
  void store(std::uint32_t* p) const { _mm512_storeu_si512(p, v); }
  void store_doubles(double* p) const {  // stores the lanes, as signed numbers
    _mm512_storeu_pd(p, _mm512_cvtepi32_pd(_mm512_castsi512_si256(v)));
    _mm512_storeu_pd(p + 8, _mm512_cvtepi32_pd(_mm512_extracti64x4_epi64(v, 1)));
  }
  static Vec set(std::uint32_t x) { return {_mm512_set1_epi32(static_cast<int>(x))}; }
  static Vec load8(const std::uint8_t* p) {
    return {_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
  }
  // Low and high halves of 16 signed 64-bit integers.
  static void load_split(const std::int64_t* p, Vec& low, Vec& high) {
    const __m512i a = _mm512_loadu_si512(p), b = _mm512_loadu_si512(p + 8);
    const __m512i even =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    low.v = _mm512_permutex2var_epi32(a, even, b);
    high.v = _mm512_permutex2var_epi32(a, _mm512_add_epi32(even, _mm512_set1_epi32(1)), b);
  }
  friend Vec operator&(Vec a, Vec b) { return {_mm512_and_si512(a.v, b.v)}; }
  friend Vec permuted(Vec x, Vec order) { return {_mm512_permutexvar_epi32(order.v, x.v)}; }
  friend Vec operator+(Vec a, Vec b) { return {_mm512_add_epi32(a.v, b.v)}; }
  friend Vec operator-(Vec a, Vec b) { return {_mm512_sub_epi32(a.v, b.v)}; }
  friend Vec mul_low(Vec a, Vec b) { return {_mm512_mullo_epi32(a.v, b.v)}; }
  friend Vec min_u(Vec a, Vec b) { return {_mm512_min_epu32(a.v, b.v)}; }
  // Moves odd lanes over even ones. Shuffles run in parallel with the multiplier; shifts would not.
  static __m512i odd_over_even(__m512i x) {
    return _mm512_castps_si512(_mm512_movehdup_ps(_mm512_castsi512_ps(x)));
  }
  friend Vec odd_lanes(Vec x) { return {odd_over_even(x.v)}; }
  // High halves of 64-bit lanes: those of `even` in the even lanes, of `odd` in the odd ones.
  static __m512i high_halves(__m512i even, __m512i odd) {
    return _mm512_castps_si512(
        _mm512_mask_movehdup_ps(_mm512_castsi512_ps(odd), 0x5555, _mm512_castsi512_ps(even)));
  }
  // High halves of the unsigned 32 x 32 products, lane by lane.
  friend Vec mul_high(Vec a, Vec b) {
    const __m512i even = _mm512_mul_epu32(a.v, b.v);
    const __m512i odd = _mm512_mul_epu32(odd_lanes(a).v, odd_lanes(b).v);
    return {high_halves(even, odd)};
  }
  friend Vec shift_right_signed(Vec x, int bits) {
    return {_mm512_sra_epi32(x.v, _mm_cvtsi32_si128(bits))};
  }
  // x - q where x > bound, as signed lanes (centring).
  friend Vec sub_where_greater(Vec x, Vec bound, Vec q) {
    return {_mm512_mask_sub_epi32(x.v, _mm512_cmpgt_epu32_mask(x.v, bound.v), x.v, q.v)};
  }
  // x + q in the lanes that are negative as signed numbers.
  friend Vec add_where_negative(Vec x, Vec q) {
    return {_mm512_mask_add_epi32(x.v, _mm512_movepi32_mask(x.v), x.v, q.v)};
  }
};

// 16 signed 64-bit accumulators: even lanes and odd lanes of the 32-bit vector apart.
struct Wide {
  __m512i even, odd;

  static Wide zero() { return {_mm512_setzero_si512(), _mm512_setzero_si512()}; }
  static Wide set(std::int64_t x) { return {_mm512_set1_epi64(x), _mm512_set1_epi64(x)}; }
  static Wide load(const std::int64_t* p) {
    return {_mm512_loadu_si512(p), _mm512_loadu_si512(p + 8)};
  }
  void store(std::int64_t* p) const {
    _mm512_storeu_si512(p, even);
    _mm512_storeu_si512(p + 8, odd);
  }
  // Low halves after a shift to the right by bits <= 32.
  Vec shifted(int bits) const {
    const __m128i right = _mm_cvtsi32_si128(bits), left = _mm_cvtsi32_si128(32 - bits);
    return {_mm512_mask_blend_epi32(0xAAAA, _mm512_srl_epi64(even, right),
                                    _mm512_sll_epi64(odd, left))};
  }
  // += a * b, signed lanes, with a = (x, odd(x)) read from memory and b a broadcast.
  void add_broadcast(Vec a, Vec a_odd, Vec b) {
    even = _mm512_add_epi64(even, _mm512_mul_epi32(a.v, b.v));
    odd = _mm512_add_epi64(odd, _mm512_mul_epi32(a_odd.v, b.v));
  }
  void add_pairs(Vec a, Vec a_odd, Vec b, Vec b_odd) {
    even = _mm512_add_epi64(even, _mm512_mul_epi32(a.v, b.v));
    odd = _mm512_add_epi64(odd, _mm512_mul_epi32(a_odd.v, b_odd.v));
  }
  void add(Wide x) {
    even = _mm512_add_epi64(even, x.even);
    odd = _mm512_add_epi64(odd, x.odd);
  }
  void add_product(Vec a, Vec b) {
    even = _mm512_add_epi64(even, _mm512_mul_epi32(a.v, b.v));
    odd = _mm512_add_epi64(odd, _mm512_mul_epi32(odd_lanes(a).v, odd_lanes(b).v));
  }
  // One Montgomery step that keeps 64 bits: any x to x 2^-32 mod q, |result| <= 2^31 + 2^30. The
  // halves are subtracted apart: x - t q itself may leave 64 bits.
  void montgomery_step(Vec q, Vec m) {
    even = step(even, q, m);
    odd = step(odd, q, m);
  }
  static __m512i step(__m512i x, Vec q, Vec m) {
    const __m512i y = _mm512_mul_epi32(_mm512_mul_epi32(x, m.v), q.v);
    return _mm512_sub_epi64(_mm512_srai_epi64(x, 32), _mm512_srai_epi64(y, 32));
  }
  // Signed Montgomery reduction: x with |x| < q 2^31 to x 2^-32 mod q in (-q, q).
  // m = q^-1 mod 2^32.
  Vec montgomery(Vec q, Vec m) const {
    const __m512i ye = _mm512_mul_epi32(_mm512_mul_epi32(even, m.v), q.v);
    const __m512i yo = _mm512_mul_epi32(_mm512_mul_epi32(odd, m.v), q.v);
    return {Vec::high_halves(_mm512_sub_epi64(even, ye), _mm512_sub_epi64(odd, yo))};
  }
};

// 8 doubles, with the operations of math/fourier.h.
struct Doubles {
  static constexpr int kLogLanes = 3, kLanes = 8;
  // Stages of a transform whose numbers fit into the registers.
  static constexpr int kPassStages = 3;
  __m512d v;

  Doubles() = default;
  Doubles(__m512d x) : v(x) {}
  explicit Doubles(double x) : v(_mm512_set1_pd(x)) {}
  static Doubles load(const double* p) { return _mm512_loadu_pd(p); }
  void store(double* p) const { _mm512_storeu_pd(p, v); }
  Doubles operator-() const { return -v; }
  friend Doubles fused_add(Doubles a, Doubles b, Doubles c) {
    return _mm512_fmadd_pd(a.v, b.v, c.v);
  }
  friend Doubles times(Doubles a, Doubles b) { return _mm512_mul_pd(a.v, b.v); }
  friend Doubles plus(Doubles a, Doubles b) { return _mm512_add_pd(a.v, b.v); }
};

inline void transpose(Doubles (&r)[8]) {
  __m512d t[8];
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm512_unpacklo_pd(r[i].v, r[i + 1].v);
    t[i + 1] = _mm512_unpackhi_pd(r[i].v, r[i + 1].v);
  }
  // 128-bit lane l of t[2a + b] holds column 2l + b of rows 2a and 2a + 1.
  for (int b = 0; b < 2; ++b) {
    const __m512d x0 = _mm512_shuffle_f64x2(t[b], t[2 + b], 0x88);
    const __m512d x1 = _mm512_shuffle_f64x2(t[4 + b], t[6 + b], 0x88);
    const __m512d y0 = _mm512_shuffle_f64x2(t[b], t[2 + b], 0xDD);
    const __m512d y1 = _mm512_shuffle_f64x2(t[4 + b], t[6 + b], 0xDD);
    r[b].v = _mm512_shuffle_f64x2(x0, x1, 0x88);
    r[4 + b].v = _mm512_shuffle_f64x2(x0, x1, 0xDD);
    r[2 + b].v = _mm512_shuffle_f64x2(y0, y1, 0x88);
    r[6 + b].v = _mm512_shuffle_f64x2(y0, y1, 0xDD);
  }
}

// Transposes a 16 x 16 block held in 16 vectors.
inline void transpose(Vec (&r)[16]) {
  __m512i t[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(r[i].v, r[i + 1].v);
    t[i + 1] = _mm512_unpackhi_epi32(r[i].v, r[i + 1].v);
  }
  __m512i u[16];
  for (int i = 0; i < 16; i += 4) {
    u[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    u[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    u[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    u[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  // u[4a + b] holds, in 128-bit lane l, column 4l + b of rows 4a .. 4a+3.
  for (int b = 0; b < 4; ++b) {
    const __m512i x0 = _mm512_shuffle_i32x4(u[b], u[4 + b], 0x88);
    const __m512i x1 = _mm512_shuffle_i32x4(u[8 + b], u[12 + b], 0x88);
    const __m512i y0 = _mm512_shuffle_i32x4(u[b], u[4 + b], 0xDD);
    const __m512i y1 = _mm512_shuffle_i32x4(u[8 + b], u[12 + b], 0xDD);
    r[b].v = _mm512_shuffle_i32x4(x0, x1, 0x88);
    r[8 + b].v = _mm512_shuffle_i32x4(x0, x1, 0xDD);
    r[4 + b].v = _mm512_shuffle_i32x4(y0, y1, 0x88);
    r[12 + b].v = _mm512_shuffle_i32x4(y0, y1, 0xDD);
  }
}

}  // namespace latticino::cpu::LATTICINO_SIMD_TARGET
