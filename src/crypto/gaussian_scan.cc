// Many samples at once: words lie side by side in vector lanes (GCC and Clang vector extension),
// and every table entry is compared with all of them. No branch and no address depends on a word.
#include <algorithm>
#include <cstring>

#include "crypto/gaussian.h"
#include "crypto/secure_memory.h"

namespace latticino::crypto {
namespace {

// One type per width: GCC accepts no vector size that depends on a template argument.
typedef std::uint64_t Lane4 __attribute__((vector_size(32)));
typedef std::uint64_t Lane8 __attribute__((vector_size(64)));

std::uint64_t load_le64(const std::uint8_t* p) {
  std::uint64_t x = 0;
  for (int i = 7; i >= 0; --i) x = x << 8 | p[i];
  return x;
}

template <class Lane>
[[gnu::always_inline]] inline void scan(const std::vector<Wide>& table,
                                        std::span<const std::uint8_t> words,
                                        std::span<std::int64_t> out) {
  constexpr std::size_t kLanes = sizeof(Lane) / sizeof(std::uint64_t);
  std::uint64_t low[kLanes], high[kLanes], value[kLanes];
  for (std::size_t first = 0; first < out.size(); first += kLanes) {
    const std::size_t count = std::min(kLanes, out.size() - first);
    for (std::size_t i = 0; i < kLanes; ++i) {
      const std::uint8_t* p = words.data() + 16 * (first + std::min(i, count - 1));
      low[i] = load_le64(p);
      high[i] = load_le64(p + 8);
    }
    Lane l, h;
    std::memcpy(&l, low, sizeof l);
    std::memcpy(&h, high, sizeof h);
    const Lane sign = h >> 63, u = h & ~(Lane{} + (std::uint64_t{1} << 63));
    Lane magnitude{};
    for (const Wide entry : table) {
      const Lane el = Lane{} + static_cast<std::uint64_t>(entry);
      const Lane eh = Lane{} + static_cast<std::uint64_t>(entry >> 64);
      // All ones where the word reaches the entry.
      const Lane reached = (Lane)(u > eh) | ((Lane)(u == eh) & (Lane)(l >= el));
      magnitude -= reached;
    }
    const Lane signed_value = (magnitude ^ (Lane{} - sign)) + sign;
    std::memcpy(value, &signed_value, sizeof value);
    std::memcpy(out.data() + first, value, count * sizeof(std::int64_t));
  }
  secure_clear(low, sizeof low);
  secure_clear(high, sizeof high);
  secure_clear(value, sizeof value);
}

void scan_portable(const std::vector<Wide>& table, std::span<const std::uint8_t> words,
                   std::span<std::int64_t> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::uint8_t* p = words.data() + 16 * i;
    out[i] = gaussian_from_word(table, static_cast<Wide>(load_le64(p + 8)) << 64 | load_le64(p));
  }
}
bool always() { return true; }

#if defined(__x86_64__)
[[gnu::target("avx2")]] void scan_avx2(const std::vector<Wide>& table,
                                       std::span<const std::uint8_t> words,
                                       std::span<std::int64_t> out) {
  scan<Lane4>(table, words, out);
}
[[gnu::target("avx512f")]] void scan_avx512(const std::vector<Wide>& table,
                                            std::span<const std::uint8_t> words,
                                            std::span<std::int64_t> out) {
  scan<Lane8>(table, words, out);
}
bool has_avx2() { return __builtin_cpu_supports("avx2"); }
bool has_avx512() { return __builtin_cpu_supports("avx512f"); }
#endif

constexpr GaussianScan kScans[] = {
#if defined(__x86_64__)
    {"avx512", has_avx512, scan_avx512},
    {"avx2", has_avx2, scan_avx2},
#endif
    {"portable", always, scan_portable},
};

}  // namespace

std::span<const GaussianScan> gaussian_scans() { return kScans; }

void gaussian_from_words(const std::vector<Wide>& table, std::span<const std::uint8_t> words,
                         std::span<std::int64_t> out) {
  static const GaussianScan& kBest =
      *std::find_if(gaussian_scans().begin(), gaussian_scans().end(),
                    [](const GaussianScan& s) { return s.supported(); });
  kBest.run(table, words, out);
}

}  // namespace latticino::crypto
