// Sample data of an encrypted array, the noise that is added to them, and how encoding rounds plain
// values. Random numbers here are statistics, not secrets: a fixed seed is enough.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace latticino::session {

using Numbers = std::vector<std::complex<double>>;
using NumbersView = std::span<const std::complex<double>>;

// Row 0 is exact, `replicas` rows behind it are the same with noise. Then come other data of the
// same kind, in pairs of an exact row and one with noise: what cancels in the sample by chance does
// not cancel there. Values in the order of the array's shape.
struct Sample {
  Sample(std::size_t replicas, std::size_t others, std::size_t size)
      : replicas(replicas),
        others(others),
        rows(1 + replicas + 2 * others),
        size(size),
        values(rows * size) {}
  // A sample with the rows that two samples have in common.
  static Sample of_both(const Sample& x, const Sample& y);
  std::span<std::complex<double>> row(std::size_t r) { return {values.data() + r * size, size}; }
  NumbersView row(std::size_t r) const { return {values.data() + r * size, size}; }
  std::size_t first_other() const { return 1 + replicas; }
  std::size_t other(std::size_t k) const { return first_other() + 2 * k; }  // the exact row
  // The row without noise that a row belongs to; itself where it has none.
  std::size_t exact_of(std::size_t r) const {
    return r < first_other() ? 0 : r - (r - first_other()) % 2;
  }
  bool noisy(std::size_t r) const { return r != exact_of(r); }

  std::size_t replicas = 0, others = 0, rows = 0, size = 0;
  Numbers values;
};
using SamplePtr = std::shared_ptr<const Sample>;

double rms_of(NumbersView values);
// The sample alone.
SamplePtr without_others(const SamplePtr& sample);
// Other data of a sample's kind: with the same values, large ones in the same places, but signs of
// deviations from the mean as they come. Of fewer than `few` values: the same, less up to a tenth.
void fill_others(Sample& sample, std::size_t few);

// A generator of random numbers (splitmix64), of another seed in each thread: what two threads add
// to samples is independent. It holds no lock, so that a fork leaves it whole.
class Random {
 public:
  static Random& of_this_thread();
  double uniform();               // in (-1, 1)
  std::complex<double> normal();  // both parts of mean square 1

 private:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t state_;
};

// White complex noise of root mean square `rms` in all rows with noise.
void add_noise(Sample& sample, double rms);
void add_noise(std::span<std::complex<double>> row, double rms);

// Where values lie that do not lie row by row from the first slot on: value i has address places[i]
// among the slots of `ciphertexts`.
struct Places {
  std::span<const std::int64_t> of_values;
  std::size_t ciphertexts = 0;
};

// Coefficients c_k + i c_(k+n) of n slots, in some fixed order, and back.
Numbers to_coefficients(NumbersView slots);
Numbers to_slots(NumbersView coefficients);

// What encoding at `scale` in ciphertexts of `slots` slots adds to plain values: the rounding of
// coefficients.
Numbers rounding(NumbersView plain, int slots, double scale, const Places* where = nullptr);
// Largest real or imaginary part of a coefficient of values row by row in ciphertexts of `slots`.
double largest_coefficient(NumbersView values, int slots);
// What the sine of a bootstrapping takes from values that lie so, which the arcsine does not give
// back: `gain` times the third power of each coefficient, or of each slot.
Numbers lost_to_sine(NumbersView values, int slots, double gain, bool of_slots);
// Root mean square of the sums of each value and the count - 1 behind it, cyclically in a
// ciphertext; at least that of values without a mean, whose sums may be small by chance.
double rms_of_windows(NumbersView values, int slots, std::size_t count);

}  // namespace latticino::session
