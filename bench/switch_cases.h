// The functions that the benchmark of switching computes by tables, and how far the results are
// from them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "switch/table.h"

namespace latticino::bench {

// A function of |x| <= range, for plans of bound 1.
struct SwitchCase {
  std::string name;
  std::function<double(double)> f;
  bool gentle = false;  // |f'| <= 1
  bool sign = false;    // a sign table, whose arguments may be up to twice the bound
  double range() const { return sign ? 2 : 1; }
};

// Identity, sigmoid, ReLU, sign, square root, and a table of 16 random entries.
std::vector<SwitchCase> switch_cases();
switching::Table make_table(const std::shared_ptr<const switching::Context>& context,
                            const SwitchCase& c);

// Errors relative to half of the range of the inputs: those of results, and those of arguments. The
// error of an argument is its distance from the nearest argument whose value is the result, up to
// the error of packing. Where a function is steep or jumps, switching itself promises no more than
// this.
class SwitchErrors {
 public:
  SwitchErrors(const SwitchCase& c, const switching::Table& table);
  void add(double x, double y);

  int count() const { return count_; }
  double mean() const { return sum_ / count_; }
  double largest() const { return largest_; }
  double argument_mean() const { return argument_sum_ / count_; }
  double argument_largest() const { return argument_largest_; }
  double predicted() const { return predicted_; }  // what mean() should be
  // Whether the mean is within a tenth of the prediction, and five deviations of a mean of so many
  // values.
  bool agrees() const;

 private:
  double argument_error(double x, double y) const;
  SwitchCase case_;
  double step_, tolerance_, predicted_, deviation_;
  int count_ = 0;
  double sum_ = 0, largest_ = 0, argument_sum_ = 0, argument_largest_ = 0;
};

}  // namespace latticino::bench
