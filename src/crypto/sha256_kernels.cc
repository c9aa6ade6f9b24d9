#include "crypto/sha256_kernels.h"

#include <bit>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace latticino::crypto {
namespace {

// FIPS 180-4 Sec. 4.2.2: fractional parts of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t load_be(const std::uint8_t* p) {
  return std::uint32_t{p[0]} << 24 | std::uint32_t{p[1]} << 16 | std::uint32_t{p[2]} << 8 | p[3];
}

void compress_portable(std::array<std::uint32_t, 8>& state, const std::uint8_t* block) {
  std::array<std::uint32_t, 64> w;
  for (int t = 0; t < 16; ++t) w[t] = load_be(block + 4 * t);
  for (int t = 16; t < 64; ++t) {
    const std::uint32_t s0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ (w[t - 15] >> 3);
    const std::uint32_t s1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ (w[t - 2] >> 10);
    w[t] = s1 + w[t - 7] + s0 + w[t - 16];
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (int t = 0; t < 64; ++t) {
    const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kRound[t] + w[t];
    const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const std::array<std::uint32_t, 8> step = {a, b, c, d, e, f, g, h};
  for (int i = 0; i < 8; ++i) state[i] += step[i];
}

bool always() { return true; }

#if defined(__x86_64__)
// Words t to t + 3 of the message schedule, from the words before: a has those from t - 16 on, d
// those up to t - 1.
[[gnu::target("sha,sse4.1")]] __m128i following(__m128i a, __m128i b, __m128i c, __m128i d) {
  const __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(a, b), _mm_alignr_epi8(d, c, 4));
  return _mm_sha256msg2_epu32(sum, d);
}

// The instructions keep the state as (F, E, B, A) and (H, G, D, C), from the lowest lane up.
[[gnu::target("sha,sse4.1")]] void compress_sha(std::array<std::uint32_t, 8>& state,
                                                const std::uint8_t* block) {
  const auto lane = [&](int i) { return static_cast<int>(state[i]); };
  const __m128i abef = _mm_set_epi32(lane(0), lane(1), lane(4), lane(5));
  const __m128i cdgh = _mm_set_epi32(lane(2), lane(3), lane(6), lane(7));
  const __m128i big_endian = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
  __m128i first = abef, second = cdgh, w[4];
  for (int i = 0; i < 16; ++i) {  // four rounds each
    __m128i& now = w[i % 4];
    if (i < 4) {
      const auto* words = reinterpret_cast<const __m128i*>(block + 16 * i);
      now = _mm_shuffle_epi8(_mm_loadu_si128(words), big_endian);
    } else {
      now = following(now, w[(i + 1) % 4], w[(i + 2) % 4], w[(i + 3) % 4]);
    }
    const auto* constants = reinterpret_cast<const __m128i*>(kRound.data() + 4 * i);
    const __m128i added = _mm_add_epi32(now, _mm_loadu_si128(constants));
    // Two rounds give a new first half. The first half before them is the new second half.
    second = _mm_sha256rnds2_epu32(second, first, added);
    first = _mm_sha256rnds2_epu32(first, second, _mm_shuffle_epi32(added, 0x0e));
  }
  alignas(16) std::array<std::uint32_t, 8> sum;
  _mm_store_si128(reinterpret_cast<__m128i*>(sum.data()), _mm_add_epi32(first, abef));
  _mm_store_si128(reinterpret_cast<__m128i*>(sum.data() + 4), _mm_add_epi32(second, cdgh));
  state = {sum[3], sum[2], sum[7], sum[6], sum[1], sum[0], sum[5], sum[4]};
}

// Asks the processor: not every compiler has "sha" in __builtin_cpu_supports.
bool has_sha() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ebx & bit_SHA) &&
         __builtin_cpu_supports("sse4.1");
}
#endif

constexpr Sha256Kernel kKernels[] = {
#if defined(__x86_64__)
    {"sha", has_sha, compress_sha},
#endif
    {"portable", always, compress_portable},
};

}  // namespace

std::span<const Sha256Kernel> sha256_kernels() { return kKernels; }

}  // namespace latticino::crypto
