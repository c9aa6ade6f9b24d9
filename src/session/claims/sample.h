// Sample data of an encrypted array, the noise that is added to them, and how encoding rounds plain
// values.
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

// Rows of values, in the order of the array's shape. Row 0 is exact, and the next `replicas` rows
// are the same with noise. Then come other data of the same kind, in pairs of an exact row and a
// noisy one. Values that cancel in the sample by chance do not cancel in them.
struct Sample {
  Sample(std::size_t replicas, std::size_t others, std::size_t size)
      : replicas(replicas),
        others(others),
        rows(1 + replicas + 2 * others),
        size(size),
        values(rows * size) {}
  // A sample with only the rows that two samples have in common.
  static Sample with_common_rows(const Sample& x, const Sample& y);
  std::span<std::complex<double>> row(std::size_t r) { return {values.data() + r * size, size}; }
  NumbersView row(std::size_t r) const { return {values.data() + r * size, size}; }
  std::size_t first_other() const { return 1 + replicas; }
  std::size_t other(std::size_t k) const { return first_other() + 2 * k; }  // the exact row
  // For a noisy row, its exact row; for an exact row, itself.
  std::size_t exact_of(std::size_t r) const {
    return r < first_other() ? 0 : r - (r - first_other()) % 2;
  }
  bool noisy(std::size_t r) const { return r != exact_of(r); }

  std::size_t replicas = 0, others = 0, rows = 0, size = 0;
  Numbers values;
};
using SamplePtr = std::shared_ptr<const Sample>;

double rms_of(NumbersView values);
// The sample without its other data.
SamplePtr without_others(const SamplePtr& sample);
// Fills in the other data. They have the values of the sample, with large ones in the same places,
// but deviations from the mean have random signs. If there are fewer than `few` values, these also
// become smaller by up to a tenth.
void fill_others(Sample& sample, std::size_t few);

// Adds complex white noise of root mean square `rms` to all rows with noise.
void add_noise(Sample& sample, double rms);
void add_noise(std::span<std::complex<double>> row, double rms);

// The slots of values that do not lie row by row from the first slot on: value i has address
// places[i] among the slots of `ciphertexts`.
struct Places {
  std::span<const std::int64_t> of_values;
  std::size_t ciphertexts = 0;
};

// The coefficients c_k + i c_(k+n) of n slots, in some fixed order; and the inverse.
Numbers to_coefficients(NumbersView slots);
Numbers to_slots(NumbersView coefficients);

// The error that encoding adds to plain values, at `scale` and in ciphertexts of `slots` slots.
// Coefficients are rounded.
Numbers rounding(NumbersView plain, int slots, double scale, const Places* where = nullptr);
// The largest real or imaginary part of a coefficient, if values lie row by row in ciphertexts of
// `slots`.
double largest_coefficient(NumbersView values, int slots);
// The error that a bootstrapping's sine makes for such values, as far as no arcsine corrects it:
// `gain` times the third power of each coefficient, or of each slot.
Numbers sine_error(NumbersView values, int slots, double gain, bool of_slots);
// Root mean square of sums of `count` neighbouring values, cyclically within a ciphertext. It is at
// least that of values without a mean, whose sums may be small by chance.
double rms_of_windows(NumbersView values, int slots, std::size_t count);

}  // namespace latticino::session
