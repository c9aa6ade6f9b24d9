// Real functions as test polynomials of the table ring.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "switch/context.h"

namespace latticino::switching {

// Predicted absolute errors of f(x), for x uniform in [-bound, bound] and normal noise.
struct TableReport {
  double argument = 0;  // deviation of the noise of x, with its rounding to the table
  double mean = 0;      // mean of |error|
  double deviation = 0;
  double packed = 0;   // the part of the deviation that does not come from the argument
  double largest = 0;  // for any x, with noise up to five deviations
};

// The values of f at the N' arguments k 4 bound / (2 N' fill), -N'/2 <= k < N'/2. Arguments beyond
// the bound have the value at the bound. Stored are the numbers that EvalMod, a sine, turns into
// value / largest times the amplitude.
struct Table {
  std::shared_ptr<const Context> context;
  Poly polynomial;  // in Coeff, in the TFHE ring
  double bound = 0, largest = 0;
  TableReport report, matvec_report;  // with route Ring and with route Matvec (switcher.h)
  std::vector<double> values;         // at the arguments; empty for a sign

  // What an argument without noise is looked up as, before the way back. NaN for what is no number
  // or is infinite.
  double look_up(double x) const;
};

// The N' arguments, in increasing order.
std::vector<double> table_arguments(const SwitchParams& params, double bound);

// Throws ValueError for a bound that is not positive, and for values that are not finite. f is
// called at the arguments first, then between them, for the report.
Table make_table(const std::shared_ptr<const Context>& context,
                 const std::function<double(double)>& f, double bound);

// The same from values that f had at the arguments. f is only called between them. So the table is
// that of its values, whatever f would give when it is called again.
Table make_table(const std::shared_ptr<const Context>& context, std::vector<double> values,
                 const std::function<double(double)>& f, double bound);

// The sign of x times `height`, for |x| <= 2 bound; for x = 0 it may be either. Only this function
// and its multiples may use the whole torus, because the other half of a table is its negative. So
// `bound` is half of what it is for other functions, and so is the noise of x.
Table make_sign_table(const std::shared_ptr<const Context>& context, double bound, double height);

}  // namespace latticino::switching
