// Sample data beside an encrypted array, the noise that is added to them, and what encoding makes
// of plain values. Random numbers here are statistics, not secrets: a fixed seed is enough.
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

// Row 0 is exact, the others are replicas with noise. Values in the order of the array's shape.
struct Sample {
  Sample(std::size_t rows, std::size_t size) : rows(rows), size(size), values(rows * size) {}
  std::span<std::complex<double>> row(std::size_t r) { return {values.data() + r * size, size}; }
  NumbersView row(std::size_t r) const { return {values.data() + r * size, size}; }

  std::size_t rows = 0, size = 0;
  Numbers values;
};
using SamplePtr = std::shared_ptr<const Sample>;

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

// White complex noise of root mean square `rms` in all rows but the first.
void add_noise(Sample& sample, double rms);

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
