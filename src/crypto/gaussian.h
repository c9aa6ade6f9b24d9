// Discrete Gaussian sampling over the integers, constant time in the sampled values.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace latticino::crypto {

__extension__ typedef unsigned __int128 Wide;

// Largest sigma that one table serves, and the largest of all (values stay below 2^62).
inline constexpr double kMaxTableSigma = 26.0;
inline constexpr double kMaxSigma = 144115188075855872.0;  // 2^57

// Cumulative table of |x|, x discrete Gaussian of parameter sigma (rho(x) = exp(-x^2 / 2 sigma^2)):
// entry k is round(2^127 Pr[|x| <= k]); with the sign bit every signed value is within 2^-128 of
// its probability. Computed in 256-bit fixed point, so that it is the same on every machine. Ends
// where the tail rounds to nothing.
std::vector<Wide> gaussian_table(double sigma);

// |x| is the number of entries that are at most the low 127 bits of `word` (full scan, no branch,
// no look-up); the top bit is the sign.
std::int64_t gaussian_from_word(const std::vector<Wide>& table, Wide word);

// The same for many words of 16 bytes (little endian), several at once: one implementation for each
// instruction set, equal in every value and as constant in time.
struct GaussianScan {
  const char* name;
  bool (*supported)();
  void (*run)(const std::vector<Wide>& table, std::span<const std::uint8_t> words,
              std::span<std::int64_t> out);
};
std::span<const GaussianScan> gaussian_scans();  // the fastest first, the last always supported
void gaussian_from_words(const std::vector<Wide>& table, std::span<const std::uint8_t> words,
                         std::span<std::int64_t> out);

// The table of one sigma, made once and shared by every record that samples with it
// (SampleGaussian).
class GaussianTable {
 public:
  explicit GaussianTable(double sigma) : sigma_(sigma), entries_(gaussian_table(sigma)) {}
  double sigma() const { return sigma_; }
  const std::vector<Wide>& entries() const { return entries_; }

 private:
  double sigma_;
  std::vector<Wide> entries_;
};

// Wide Gaussians by convolution (Micciancio-Walter, CRYPTO 2017, Thm. 2 / Sec. 3): with x, y of
// parameter s_i independent, x + c y has parameter s_i sqrt(1 + c^2) as long as s_i >= sqrt(2) c
// eta(Z); eta here is the smoothing parameter for 2^-100. sigma = base * prod sqrt(1 + c_i^2).
struct Convolution {
  double base_sigma = 0;
  std::vector<std::int64_t> factors;
  int samples() const { return 1 << factors.size(); }
};
Convolution plan_convolution(double sigma);

}  // namespace latticino::crypto
