// Double-double numbers: an unevaluated sum hi + lo of two doubles, about 106 bits. Made of + - * /
// and sqrt only, so results are the same bits on every IEEE machine (no fused multiply-add, no
// maths library). For constants that are computed once and stored. Sources: Dekker 1971, Knuth
// TAOCP 4.2.2.
#pragma once

#include <cmath>

namespace latticino::math {

struct DoubleDouble {
  double hi = 0, lo = 0;
  constexpr DoubleDouble() = default;
  constexpr DoubleDouble(double x) : hi(x) {}
  constexpr DoubleDouble(double h, double l) : hi(h), lo(l) {}
  explicit operator double() const { return hi; }  // normalised: hi is the rounded sum hi + lo
};

// a + b = result exactly; fast_two_sum needs |a| >= |b|.
inline DoubleDouble fast_two_sum(double a, double b) {
  const double s = a + b;
  return {s, b - (s - a)};
}
inline DoubleDouble two_sum(double a, double b) {
  const double s = a + b;
  const double t = s - a;
  return {s, (a - (s - t)) + (b - t)};
}
// a * b = result exactly, by Veltkamp splitting; |a|, |b| < 2^990.
inline DoubleDouble two_product(double a, double b) {
  constexpr double kSplit = 134217729.0;  // 2^27 + 1
  const double ta = kSplit * a, tb = kSplit * b;
  const double ah = ta - (ta - a), bh = tb - (tb - b);
  const double al = a - ah, bl = b - bh;
  const double p = a * b;
  return {p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}

inline DoubleDouble operator-(const DoubleDouble& a) { return {-a.hi, -a.lo}; }
inline DoubleDouble operator+(const DoubleDouble& a, const DoubleDouble& b) {
  DoubleDouble s = two_sum(a.hi, b.hi);
  const DoubleDouble t = two_sum(a.lo, b.lo);
  s = fast_two_sum(s.hi, s.lo + t.hi);
  return fast_two_sum(s.hi, s.lo + t.lo);
}
inline DoubleDouble operator-(const DoubleDouble& a, const DoubleDouble& b) { return a + (-b); }
inline DoubleDouble operator*(const DoubleDouble& a, const DoubleDouble& b) {
  const DoubleDouble p = two_product(a.hi, b.hi);
  return fast_two_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}
inline DoubleDouble operator/(const DoubleDouble& a, const DoubleDouble& b) {
  const double q0 = a.hi / b.hi;
  DoubleDouble r = a - b * q0;
  const double q1 = r.hi / b.hi;
  r = r - b * q1;
  const double q2 = r.hi / b.hi;
  return DoubleDouble(q0) + DoubleDouble(q1) + DoubleDouble(q2);
}
inline bool operator<(const DoubleDouble& a, const DoubleDouble& b) {
  return a.hi < b.hi || (a.hi == b.hi && a.lo < b.lo);
}
inline DoubleDouble abs(const DoubleDouble& a) { return a.hi < 0 ? -a : a; }
inline DoubleDouble sqrt(const DoubleDouble& a) {
  if (a.hi <= 0) return {};
  const double s = std::sqrt(a.hi);
  const DoubleDouble r = a - two_product(s, s);
  return fast_two_sum(s, r.hi / (2 * s));
}

// Bits of pi to 106 places.
inline constexpr DoubleDouble kPi{3.141592653589793116, 1.224646799147353207e-16};

}  // namespace latticino::math
