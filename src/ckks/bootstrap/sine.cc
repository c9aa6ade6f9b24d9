#include "ckks/bootstrap/sine.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>

#include "crypto/per_process.h"
#include "math/double_double.h"
#include "math/errors.h"

namespace latticino::ckks::bootstrap {
namespace {

using math::DoubleDouble;
using math::kPi;

constexpr int kArcsineDegree = 7;
constexpr int kNodes = 7;       // Chebyshev nodes that are taken around each integer
const double kFloor = 0x1p-60;  // least weight^2, which keeps the error at the ends bounded
const double kNegligible = 0x1p-46;

DoubleDouble cosine(DoubleDouble x) {
  const DoubleDouble turn = kPi * 2.0;
  x = math::abs(x - turn * std::nearbyint(x.hi / turn.hi));  // |x| <= pi
  DoubleDouble sum(1), term(1);
  const DoubleDouble square = x * x;
  for (int k = 2; std::abs(term.hi) > 1e-34; k += 2) {
    term = -(term * square) / DoubleDouble(static_cast<double>(k * (k - 1)));
    sum = sum + term;
  }
  return sum;
}

// J_0, J_2, .. J_(2 count - 2) at a by Miller's backward recurrence (Abramowitz-Stegun 9.12),
// normalised by J_0 + 2 sum J_2k = 1.
std::vector<DoubleDouble> even_bessel(DoubleDouble a, int count) {
  const int start = 2 * (count + 40 + static_cast<int>(a.hi));
  std::vector<DoubleDouble> j(static_cast<std::size_t>(start) + 2);
  j[start] = DoubleDouble(0x1p-400);
  DoubleDouble sum;
  for (int k = start; k > 0; --k) {
    j[k - 1] = DoubleDouble(2.0 * k) / a * j[k] - j[k + 1];
    if (std::abs(j[k - 1].hi) > 0x1p400) {
      for (DoubleDouble& x : j) x = x * DoubleDouble(0x1p-600);
    }
  }
  for (int k = start; k >= 0; k -= 2) sum = sum + j[k] * (k == 0 ? 1.0 : 2.0);
  std::vector<DoubleDouble> out(static_cast<std::size_t>(count));
  for (int k = 0; k < count; ++k) out[k] = j[2 * k] / sum;
  return out;
}

// The constants A of sine.h.
DoubleDouble amplitude(int double_angles, bool arcsine) {
  if (arcsine) return DoubleDouble(1);
  DoubleDouble a = DoubleDouble(0.5) / kPi;
  for (int i = 0; i < double_angles; ++i) a = math::sqrt(a);
  return a;
}

SinePolynomial without_coefficients(int range_k, int double_angles, int degree, bool arcsine) {
  if (range_k < 1 || double_angles < 0 || double_angles > 8 || degree < 2 || degree > 254) {
    throw ParameterError("ckks.bootstrap",
                         "K = " + std::to_string(range_k) + ", degree " + std::to_string(degree) +
                             ", " + std::to_string(double_angles) + " double angles",
                         "K >= 1, degree 2 to 254, 0 to 8 double angles",
                         "choose another bootstrapping set");
  }
  SinePolynomial p;
  p.range_k = range_k;
  p.double_angles = double_angles;
  p.coefficients.assign(static_cast<std::size_t>(degree) + 1, 0.0);
  DoubleDouble a = amplitude(double_angles, arcsine);
  for (int i = 0; i < double_angles; ++i) {
    a = a * a;
    p.subtract.push_back(static_cast<double>(a));
  }
  if (arcsine) {
    p.arcsine.assign(kArcsineDegree + 1, 0.0);
    DoubleDouble c = DoubleDouble(0.5) / kPi;
    for (int k = 1; k <= kArcsineDegree; k += 2) {
      if (k > 1) c = c * DoubleDouble((k - 2.0) * (k - 2)) / DoubleDouble(k * (k - 1.0));
      p.arcsine[k] = static_cast<double>(c);
    }
  }
  return p;
}

// argument of the cosine: 2 pi K y / 2^r for y = (x - 1/4) / K.
DoubleDouble angle(const DoubleDouble& x, int double_angles) {
  return kPi * DoubleDouble(2.0 / (1 << double_angles)) * (x - DoubleDouble(0.25));
}

// Minimises |A c - b| by modified Gram-Schmidt; columns are destroyed.
std::vector<DoubleDouble> least_squares(std::vector<std::vector<DoubleDouble>> columns,
                                        std::vector<DoubleDouble> b) {
  const std::size_t n = columns.size(), rows = b.size();
  const auto dot = [rows](const std::vector<DoubleDouble>& x, const std::vector<DoubleDouble>& y) {
    DoubleDouble s;
    for (std::size_t i = 0; i < rows; ++i) s = s + x[i] * y[i];
    return s;
  };
  const auto remove = [rows](std::vector<DoubleDouble>& x, const std::vector<DoubleDouble>& q,
                             const DoubleDouble& r) {
    for (std::size_t i = 0; i < rows; ++i) x[i] = x[i] - q[i] * r;
  };
  std::vector<std::vector<DoubleDouble>> r(n, std::vector<DoubleDouble>(n));
  std::vector<DoubleDouble> c(n);
  for (std::size_t k = 0; k < n; ++k) {
    r[k][k] = math::sqrt(dot(columns[k], columns[k]));
    for (DoubleDouble& x : columns[k]) x = x / r[k][k];
    for (std::size_t j = k + 1; j < n; ++j) {
      r[k][j] = dot(columns[k], columns[j]);
      remove(columns[j], columns[k], r[k][j]);
    }
    c[k] = dot(columns[k], b);
    remove(b, columns[k], c[k]);
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) c[k] = c[k] - r[k][j] * c[j];
    c[k] = c[k] / r[k][k];
  }
  return c;
}

}  // namespace

int SinePolynomial::depth() const {
  int d = double_angles;
  for (std::size_t span = 1; span < coefficients.size(); span *= 2) ++d;
  return d + arcsine_depth();
}

int SinePolynomial::arcsine_depth() const {
  int d = 0;
  for (std::size_t span = 1; span < arcsine.size(); span *= 2) ++d;
  return d;
}

std::vector<double> SinePolynomial::in_t2() const {
  std::vector<double> c;  // T_2k(y) = T_k(T_2(y))
  for (std::size_t k = 0; k < coefficients.size(); k += 2) c.push_back(coefficients[k]);
  return c;
}

double SinePolynomial::evaluate(double x) const {
  const double y = (x - 0.25) / range_k;
  double b1 = 0, b2 = 0;  // Clenshaw
  for (std::size_t k = coefficients.size() - 1; k > 0; --k) {
    const double b0 = 2 * y * b1 - b2 + coefficients[k];
    b2 = b1;
    b1 = b0;
  }
  double v = y * b1 - b2 + coefficients[0];
  for (double c : subtract) v = 2 * v * v - c;
  if (arcsine.empty()) return v;
  double sum = 0;
  for (std::size_t k = arcsine.size(); k-- > 0;) sum = sum * v + arcsine[k];
  return sum;
}

SinePolynomial sine_closed_form(int range_k, int double_angles, int degree, bool arcsine) {
  SinePolynomial p = without_coefficients(range_k, double_angles, degree, arcsine);
  const DoubleDouble amp = amplitude(double_angles, arcsine);
  const DoubleDouble a = kPi * DoubleDouble(2.0 * range_k / (1 << double_angles));
  const std::vector<DoubleDouble> j = even_bessel(a, degree / 2 + 1);
  for (int k = 0; 2 * k <= degree; ++k) {
    const double sign = k == 0 ? 1.0 : k % 2 == 0 ? 2.0 : -2.0;
    p.coefficients[2 * k] = static_cast<double>(amp * j[k] * DoubleDouble(sign));
  }
  return p;
}

double overflow_density(int weight, double i) {
  // Cox-de Boor recursion on the cardinal B-spline of order weight + 1: all terms positive.
  const int order = weight + 1;
  const double x = i + 0.5 * order;  // the support is [0, order]
  if (x <= 0 || x >= order) return 0;
  std::vector<double> m(static_cast<std::size_t>(order) + 1, 0.0);  // M_k(x - j)
  for (int j = 0; j < order; ++j) m[j] = x - j >= 0 && x - j < 1 ? 1.0 : 0.0;
  for (int k = 2; k <= order; ++k) {
    for (int j = 0; j + k <= order; ++j) {
      const double t = x - j;
      m[j] = t <= 0 || t >= k ? 0.0 : (t * m[j] + (k - t) * m[j + 1]) / (k - 1);
    }
  }
  return m[0];
}

SinePolynomial sine_least_squares(int range_k, int double_angles, int degree, bool arcsine,
                                  int weight, int log_ratio) {
  SinePolynomial p = without_coefficients(range_k, double_angles, degree, arcsine);
  const DoubleDouble amp = amplitude(double_angles, arcsine);
  std::vector<std::vector<DoubleDouble>> columns(static_cast<std::size_t>(degree) / 2 + 1);
  std::vector<DoubleDouble> rhs;
  for (int i = -range_k; i <= range_k; ++i) {
    const double w = std::sqrt(std::max(overflow_density(weight, i), kFloor));
    for (int j = 0; j < kNodes; ++j) {
      const DoubleDouble node =
          cosine(kPi * DoubleDouble(2.0 * j + 1) / DoubleDouble(2.0 * kNodes));
      const DoubleDouble x = DoubleDouble(i) + node * DoubleDouble(std::ldexp(1.0, -log_ratio));
      const DoubleDouble y = (x - DoubleDouble(0.25)) / DoubleDouble(range_k);
      // T_2k(y) = T_k(2 y^2 - 1).
      const DoubleDouble t = y * y * DoubleDouble(2) - DoubleDouble(1);
      DoubleDouble now(1), next = t;
      for (auto& column : columns) {
        column.push_back(now * DoubleDouble(w));
        const DoubleDouble after = t * next * DoubleDouble(2) - now;
        now = next;
        next = after;
      }
      rhs.push_back(cosine(angle(x, double_angles)) * amp * DoubleDouble(w));
    }
  }
  const std::vector<DoubleDouble> c = least_squares(std::move(columns), std::move(rhs));
  for (std::size_t k = 0; k < c.size(); ++k) p.coefficients[2 * k] = static_cast<double>(c[k]);
  return p;
}

namespace {

SinePolynomial made_polynomial(const BootstrapLiteral& literal) {
  const int k = literal.range_k, r = literal.double_angles, degree = literal.evalmod_degree;
  SinePolynomial closed = sine_closed_form(k, r, degree, literal.arcsine);
  // The first term that is left out. The double angles amplify it, at most by 4 each.
  const SinePolynomial longer = sine_closed_form(k, r, std::min(degree + 2, 254), literal.arcsine);
  const double dropped = degree >= 253 ? 0.0 : std::abs(longer.coefficients.back());
  if (std::ldexp(dropped, 2 * r) < kNegligible) return closed;
  return sine_least_squares(k, r, degree, literal.arcsine, literal.sparse_weight,
                            literal.log_message_ratio);
}

}  // namespace

// Each one is fitted once per process, because comparing forms needs the same few polynomials many
// times.
SinePolynomial sine_polynomial(const BootstrapLiteral& x) {
  using Key = std::tuple<int, int, int, bool, int, int>;
  constexpr std::size_t kMax = 1024;
  static auto& known = *new crypto::PerProcess<Key, SinePolynomial>(kMax);
  return known.get({x.range_k, x.double_angles, x.evalmod_degree, x.arcsine, x.sparse_weight,
                    x.log_message_ratio},
                   [&] { return made_polynomial(x); });
}

SinePolynomial sine_polynomial(BootstrapLiteral literal, int arcsine, int log_message_ratio) {
  if (arcsine < 0 || arcsine > kArcsineDegree || (arcsine != 0 && arcsine % 2 == 0)) {
    throw ParameterError("ckks.bootstrap", "an arcsine of degree " + std::to_string(arcsine),
                         "degree 1 (none), 3, 5 or 7, or 0 for the set's", "choose one of these");
  }
  if (arcsine > 0) literal.arcsine = arcsine > 1;
  // Made for the largest values that are raised. With a larger ratio values lie only nearer to the
  // integers.
  if (log_message_ratio > 0) {
    literal.log_message_ratio = std::min(literal.log_message_ratio, log_message_ratio);
  }
  SinePolynomial p = sine_polynomial(literal);
  if (arcsine > 1) p.arcsine.resize(static_cast<std::size_t>(arcsine) + 1);
  return p;
}

double reduced_exactly(const SinePolynomial& sine, double x) {
  const double two_pi = 2 * std::acos(-1.0), v = std::sin(two_pi * x);
  if (sine.arcsine.empty()) return v / two_pi;
  double sum = 0;
  for (std::size_t k = sine.arcsine.size(); k-- > 0;) sum = sum * v + sine.arcsine[k];
  return sum;
}

}  // namespace latticino::ckks::bootstrap
