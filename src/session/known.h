// What is known of an encrypted array: where its values lie, and how large its error is expected to
// be. Where sample data are there as well, every operation is also done on them in the clear: once
// exactly, and several times with noise of the sizes that the rules of Estimate say. What is
// claimed is then what the samples show.
#pragma once

#include <complex>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "session/estimate.h"

namespace latticino::session {

// Row 0 is exact, the others are replicas with noise. Values row by row of the array's shape.
struct Sample {
  std::vector<std::vector<std::complex<double>>> rows;
};

class Known {
 public:
  using Complex = std::complex<double>;
  using Plain = std::span<const Complex>;

  Known() = default;
  explicit Known(Estimate estimate) : estimate_(std::move(estimate)) {}
  // Of an encryption. Samples too large to be computed with give their range alone.
  static Known fresh(const Range& range, double error);
  static Known fresh(Plain sample, double error);

  const Estimate& estimate() const { return estimate_; }
  const Range& range() const { return estimate_.range; }
  bool has_sample() const { return sample_ != nullptr; }
  double error() const;        // root mean square of a slot's complex error
  Claim claim() const;         // what is claimed rests on
  std::string within() const;  // in words, for people
  struct Errors {
    double mean = 0, worst = 0;
  };
  // Expected mean error, and the largest of `size` values; `full`: of ciphertexts whose slots are
  // all in use. Of real values errors of the real part count.
  Errors errors(double size, bool full) const;
  // -log2 of the same; infinite where the result is exact.
  Errors bits(double size, bool full) const;
  // Largest coefficient of the message as bootstrapping meets it.
  double largest_coefficient(int slots) const;

  // Without samples, but with what they showed.
  Known detached(double size, bool full) const;
  // Of values that may have left what the parameters hold: errors as large as they are.
  Known lost() const;
  // With an error of one source; `source` receives its name, 0 where there is no error.
  Known renamed(std::uint64_t* source) const;
  // With the errors of these sources that many times as large.
  Known with_sources(std::span<const std::pair<std::uint64_t, double>> grown) const;
  Known declared(const Range& range) const;
  // Of `count` values from the flat place `first` on, with zeros up to `slots`.
  Known part(std::size_t first, std::size_t count, std::size_t slots) const;

  // Operations; `added`: error of their own, root mean square of a slot.
  Known plus(const Known& other) const;
  Known minus(const Known& other) const;
  Known times(const Known& other, bool same, double added) const;
  // `plain` of the array's size; encoded at `scale` in ciphertexts of `slots` slots.
  Known plus_plain(Plain plain, int slots, double scale) const;
  Known plus_number(Complex c, double scale) const;
  Known times_plain(Plain plain, int slots, double scale, double added) const;
  // `actual`: what c is rounded to.
  Known times_number(Complex c, double added, std::optional<Complex> actual = std::nullopt) const;
  // Times the integer next to `factor`, which is divided out, and rescaled.
  Known lowered(double added, double factor) const;
  Known conjugated(double added) const;
  // `rounded`: error by masks.
  Known rotated(std::int64_t steps, bool masked, double added, double rounded) const;
  // Sums over the first axis that keep `kept` values, of `count` values each.
  Known summed(std::size_t kept, double count, double added) const;
  // Sums of rows of `count` values, in all places of the row; `added`: error, the same in all of a
  // row. `rounding`: of the mask, which meets sums of as many neighbouring slots.
  Known spread(Complex factor, std::size_t count, double added, double rounding, int slots) const;
  // Times a matrix of rows x columns.
  Known mapped(Plain matrix, std::size_t rows, std::size_t columns, bool real, double added) const;
  Known polynomial(const Series& p, double added, double mapping) const;
  Known plus_error(double added) const;
  // Over leading dimensions, up to `size` values: decoding reads more coefficients.
  Known repeated(std::size_t size, double growth) const;
  Known refreshed(double noise, double ratio, bool of_slots, int slots) const;
  // Through the table of a function with values of `range`; deviations of the noise beside an
  // argument and beside a result. Where `where` is false, values stay.
  Known looked_up(const std::function<double(double)>& f, const Range& range, double error,
                  std::pair<double, double> deviations, const std::vector<bool>* where) const;

 private:
  using Rows = std::shared_ptr<const Sample>;
  using Values = std::vector<Complex>;
  Known(Estimate estimate, Rows sample);
  // The sample with a function applied to each row, then noise in all but the first.
  Rows each(const std::function<Values(const Values&)>& f, double added) const;
  Rows both(const Known& other, const std::function<Complex(Complex, Complex)>& f,
            double added) const;
  Estimate estimate_;
  Rows sample_;
  std::optional<Errors> measured_;
};

// Coefficients c_k + i c_(k+n) of n slots, in some fixed order, and back.
std::vector<std::complex<double>> to_coefficients(std::span<const std::complex<double>> slots);
std::vector<std::complex<double>> to_slots(std::span<const std::complex<double>> coefficients);

}  // namespace latticino::session
