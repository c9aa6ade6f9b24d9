#include "ckks/bootstrap/dft_factors.h"

#include <algorithm>
#include <map>
#include <utility>

namespace latticino::ckks::bootstrap {
namespace {

// A diagonal whose real and imaginary parts are stored apart (see encoder.cc: this keeps stored
// bits reproducible).
struct Diagonal {
  explicit Diagonal(std::size_t n) : re(n, 0.0), im(n, 0.0) {}
  std::vector<double> re, im;
};
using Matrix = std::map<int, Diagonal>;  // by index modulo n

Diagonal& at(Matrix& m, int index, int n) {
  return m.try_emplace(((index % n) + n) % n, static_cast<std::size_t>(n)).first->second;
}

// One butterfly stage of the special FFT on blocks of `len`, or its inverse.
Matrix stage(const FftTables& tables, int n, int len, bool inverse) {
  const int half = len / 2;
  const double* w_re = tables.re(len);
  const double* w_im = tables.im(len);
  Matrix m;
  for (int i = 0; i < n; ++i) {
    const int j = i % half;
    const bool upper = i % len >= half;
    if (!inverse) {
      // x_j + w x_(j+half) above, x_j - w x_(j+half) below.
      at(m, 0, n).re[i] += upper ? 0.0 - w_re[j] : 1.0;
      at(m, 0, n).im[i] += upper ? 0.0 - w_im[j] : 0.0;
      Diagonal& other = at(m, upper ? -half : half, n);
      other.re[i] += upper ? 1.0 : w_re[j];
      other.im[i] += upper ? 0.0 : w_im[j];
    } else {
      // (x_j + x_(j+half)) / 2 above, conj(w) (x_j - x_(j+half)) / 2 below.
      at(m, 0, n).re[i] += upper ? -0.5 * w_re[j] : 0.5;
      at(m, 0, n).im[i] += upper ? 0.5 * w_im[j] : 0.0;
      Diagonal& other = at(m, upper ? -half : half, n);
      other.re[i] += upper ? 0.5 * w_re[j] : 0.5;
      other.im[i] += upper ? -0.5 * w_im[j] : 0.0;
    }
  }
  return m;
}

// The matrix "first b, then a".
Matrix product(const Matrix& a, const Matrix& b, int n) {
  Matrix c;
  for (const auto& [s, x] : a) {
    for (const auto& [t, y] : b) {
      Diagonal& z = at(c, s + t, n);
      for (int i = 0; i < n; ++i) {
        const int k = (i + s) & (n - 1);
        const double re = x.re[i] * y.re[k] - x.im[i] * y.im[k];
        const double im = x.re[i] * y.im[k] + x.im[i] * y.re[k];
        z.re[i] += re;
        z.im[i] += im;
      }
    }
  }
  return c;
}

Matrix identity(int n) {
  Matrix m;
  std::fill_n(at(m, 0, n).re.begin(), n, 1.0);
  return m;
}

// Turns the matrix M of y = M x into that of y' = M' x', where x' = rotate(x, -in) and y' =
// rotate(y, -out).
Matrix shifted(const Matrix& m, int n, int in, int out) {
  Matrix r;
  for (const auto& [index, x] : m) {
    Diagonal& z = at(r, index + in - out, n);
    for (int i = 0; i < n; ++i) {
      z.re[i] = x.re[(i - out) & (n - 1)];
      z.im[i] = x.im[(i - out) & (n - 1)];
    }
  }
  return r;
}

// Multiplies by the constant. If halves are apart, it also lays the matrix out on 2n slots: Repeat
// does the same in both halves, Split repeats every row times -i, Join reads column c as x_c + i
// x_(c+n).
enum class Ends { Plain, Repeat, Split, Join };
DftFactor finished(const Matrix& m, int n, double constant, int stages, int stride, Ends ends) {
  DftFactor f;
  f.slots = ends == Ends::Plain ? n : 2 * n;
  f.stages = stages;
  f.stride = stride;
  for (const auto& [index, x] : m) {
    std::vector<Complex>& out = f.diagonals[index];
    out.resize(static_cast<std::size_t>(f.slots));
    for (int i = 0; i < f.slots; ++i) {
      const double re = constant * x.re[i & (n - 1)], im = constant * x.im[i & (n - 1)];
      const bool second =
          ends == Ends::Split ? i >= n : ends == Ends::Join && ((i + index) & (2 * n - 1)) >= n;
      if (!second) {
        out[i] = {re, im};
      } else {
        out[i] = ends == Ends::Split ? Complex{im, 0.0 - re} : Complex{0.0 - im, re};
      }
    }
  }
  return f;
}

Matrix group(const FftTables& tables, int n, int first_len, int stages, bool inverse) {
  Matrix m = identity(n);
  for (int s = 0; s < stages; ++s) {
    const int len = inverse ? first_len >> s : first_len << s;
    m = s == 0 ? stage(tables, n, len, inverse) : product(stage(tables, n, len, inverse), m, n);
  }
  return m;
}

}  // namespace

std::vector<int> cts_stages(int log_slots, int factors) {
  std::vector<int> k(static_cast<std::size_t>(factors), log_slots / factors);
  const int extra = log_slots % factors;
  if (log_slots < factors) {
    // Some factors have no stage, and only multiply by a constant. They come first. If they came
    // later, they would have to carry on a rotation that the factor before them left undone.
    std::fill(k.end() - extra, k.end(), 1);
  } else {
    for (int j = 0; j < extra; ++j) ++k[j];
  }
  return k;
}

std::vector<int> stc_stages(int log_slots, int factors) {
  std::vector<int> k = cts_stages(log_slots, factors);
  std::reverse(k.begin(), k.end());
  return k;
}

std::vector<DftFactor> cts_factors(const FftTables& tables, int log_slots,
                                   std::span<const double> constants, Halves halves) {
  const int n = 1 << log_slots;
  const std::vector<int> stages = cts_stages(log_slots, static_cast<int>(constants.size()));
  std::vector<DftFactor> out;
  int len = n, in = 0;  // `in`: a rotation that the input still needs
  for (std::size_t j = 0; j < stages.size(); ++j) {
    const bool last = j + 1 == stages.size();
    // block length of the next group, and the distance of diagonals
    const int next_len = len >> stages[j];
    const int rotation = last ? 0 : next_len;
    const Matrix m = shifted(group(tables, n, len, stages[j], true), n, in, rotation);
    const Ends ends = last && halves == Halves::Apart ? Ends::Split : Ends::Plain;
    out.push_back(finished(m, n, constants[j], stages[j], next_len, ends));
    len = next_len;
    in = rotation;
  }
  return out;
}

std::vector<DftFactor> stc_factors(const FftTables& tables, int log_slots,
                                   std::span<const double> constants, Halves halves) {
  const int n = 1 << log_slots;
  const std::vector<int> stages = stc_stages(log_slots, static_cast<int>(constants.size()));
  std::vector<DftFactor> out;
  int half = 1, in = 0;
  for (std::size_t j = 0; j < stages.size(); ++j) {
    const bool last = j + 1 == stages.size();
    const int next_half = half << stages[j];
    const int rotation = last ? 0 : -next_half;
    const Matrix m = shifted(group(tables, n, 2 * half, stages[j], false), n, in, rotation);
    const Ends ends = halves == Halves::Together ? Ends::Plain : j == 0 ? Ends::Join : Ends::Repeat;
    out.push_back(finished(m, n, constants[j], stages[j], half, ends));
    half = next_half;
    in = rotation;
  }
  return out;
}

}  // namespace latticino::ckks::bootstrap
