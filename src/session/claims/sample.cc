#include "session/claims/sample.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>
#include <utility>

#include "ops/slot_transform.h"
#include "session/claims/computation.h"

namespace latticino::session {
namespace {

using Complex = std::complex<double>;

// Deviations that differ by less than 1/64 of a power of two count as equal, and so do those that
// rounding leaves of a constant.
constexpr double kSteps = 64, kMinApart = 1e-12;

// Kept per thread: a lock around them could be held by another thread during a fork.
const FftTables& tables_of(std::size_t slots) {
  thread_local std::map<int, FftTables> tables;
  const int log_slots = std::max<int>(static_cast<int>(std::bit_width(slots)) - 1, 1);
  return tables.try_emplace(log_slots, log_slots).first->second;
}

Numbers transformed(NumbersView in, bool to_coefficients) {
  const std::size_t n = in.size();
  std::vector<double> re(n), im(n);
  for (std::size_t i = 0; i < n; ++i) {
    re[i] = in[i].real();
    im[i] = in[i].imag();
  }
  if (to_coefficients) {
    slots::inverse(tables_of(n), re.data(), im.data(), n);
  } else {
    slots::forward(tables_of(n), re.data(), im.data(), n);
  }
  Numbers out(n);
  const double factor = to_coefficients ? 1.0 / static_cast<double>(n) : 1;
  for (std::size_t i = 0; i < n; ++i) out[i] = {re[i] * factor, im[i] * factor};
  return out;
}

// Applies a function to rows of `slots` values. Zeros fill the last row.
template <class F>
Numbers by_rows(NumbersView values, int slots, F f) {
  const auto width = static_cast<std::size_t>(slots);
  Numbers out;
  for (std::size_t at = 0; at < values.size(); at += width) {
    const NumbersView filled = values.subspan(at, std::min(width, values.size() - at));
    Numbers row(filled.begin(), filled.end());
    row.resize(width);
    row = f(row);
    out.insert(out.end(), row.begin(), row.end());
  }
  out.resize(values.size());
  return out;
}

Numbers rounding_of_row(NumbersView row, double scale) {
  Numbers c = to_coefficients(row);
  for (Complex& z : c) {
    const double re = z.real() * scale, im = z.imag() * scale;
    z = Complex(std::nearbyint(re) - re, std::nearbyint(im) - im) / scale;
  }
  return to_slots(c);
}

// Values are exchanged within classes of this size. Within a class, the deviations from the mean
// differ at most by this factor.
constexpr std::size_t kClassSize = 16;
constexpr double kClassRatio = 2;
// By this fraction, few values become smaller. They do not become larger, because powers of larger
// values would grow without limit.
constexpr double kShrinking = 0.1;

double deviation(Complex z, Complex mean) { return std::abs(z - mean); }

Complex mean_of(NumbersView values) {
  return std::accumulate(values.begin(), values.end(), Complex(0)) /
         static_cast<double>(values.size());
}

// Places in the order of decreasing deviation from the mean. Equal deviations are in random order,
// because neighbours may have a pattern.
std::vector<std::size_t> by_deviation(NumbersView values) {
  const Complex mean = mean_of(values);
  std::vector<std::pair<double, double>> keys;
  const double least = kMinApart * std::abs(mean);
  for (const Complex& z : values) {
    const double d = deviation(z, mean);
    keys.emplace_back(d > least ? std::round(std::log2(d) * kSteps) : -HUGE_VAL,
                      Random::of_this_thread().uniform());
  }
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return keys[a] > keys[b]; });
  return order;
}

void shuffle_alike(NumbersView values, std::span<const std::size_t> order, std::span<Complex> out) {
  const Complex mean = mean_of(values);
  Random& random = Random::of_this_thread();
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    const double least = deviation(values[order[begin]], mean) / kClassRatio;
    end = begin + 1;
    while (end < order.size() && end - begin < kClassSize &&
           deviation(values[order[end]], mean) >= least) {
      ++end;
    }
    const auto count = static_cast<double>(end - begin);
    for (std::size_t i = begin; i < end; ++i) {
      const double at = (random.uniform() + 1) / 2 * count;
      const std::size_t from = begin + std::min(static_cast<std::size_t>(at), end - begin - 1);
      out[order[i]] = values[order[from]];
    }
  }
}

}  // namespace

void add_noise(std::span<Complex> row, double rms) {
  Random& random = Random::of_this_thread();
  const double part = rms * std::numbers::sqrt2 / 2;
  for (Complex& z : row) z += random.normal() * part;
}

void add_noise(Sample& sample, double rms) {
  if (!(rms > 0)) return;
  for (std::size_t r = 1; r < sample.rows; ++r) {
    if (sample.noisy(r)) add_noise(sample.row(r), rms);
  }
}

Sample Sample::with_common_rows(const Sample& x, const Sample& y) {
  return {std::min(x.replicas, y.replicas), std::min(x.others, y.others), x.size};
}

SamplePtr without_others(const SamplePtr& sample) {
  if (sample == nullptr || sample->others == 0) return sample;
  auto out = std::make_shared<Sample>(sample->replicas, 0, sample->size);
  std::copy_n(sample->values.begin(), out->values.size(), out->values.begin());
  return out;
}

double rms_of(NumbersView values) {
  double squares = 0;
  for (const Complex& z : values) squares += std::norm(z);
  return std::sqrt(squares / static_cast<double>(std::max<std::size_t>(values.size(), 1)));
}

void fill_others(Sample& sample, std::size_t few) {
  const NumbersView exact = std::as_const(sample).row(0);
  Random& random = Random::of_this_thread();
  if (exact.size() < few) {
    for (std::size_t k = 0; k < sample.others; ++k) {
      const std::span<Complex> out = sample.row(sample.other(k));
      for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = exact[i] * (1 - kShrinking * (1 + random.uniform()) / 2);
    }
  } else {
    const std::vector<std::size_t> order = by_deviation(exact);
    for (std::size_t k = 0; k < sample.others; ++k) {
      shuffle_alike(exact, order, sample.row(sample.other(k)));
    }
  }
  for (std::size_t k = 0; k < sample.others; ++k) {
    std::ranges::copy(std::as_const(sample).row(sample.other(k)),
                      sample.row(sample.other(k) + 1).begin());
  }
}

Numbers to_coefficients(NumbersView slots) { return transformed(slots, true); }
Numbers to_slots(NumbersView coefficients) { return transformed(coefficients, false); }

Numbers rounding(NumbersView plain, int slots, double scale, const Places* where) {
  const auto of_row = [&](const Numbers& row) { return rounding_of_row(row, scale); };
  if (where == nullptr) return by_rows(plain, slots, of_row);
  Numbers all(where->ciphertexts * static_cast<std::size_t>(slots)), out;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    all[static_cast<std::size_t>(where->of_values[i])] = plain[i];
  }
  all = by_rows(all, slots, of_row);
  for (const std::int64_t place : where->of_values) {
    out.push_back(all[static_cast<std::size_t>(place)]);
  }
  return out;
}

double largest_coefficient(NumbersView values, int slots) {
  double largest = 0;
  by_rows(values, slots, [&](const Numbers& row) {
    for (const Complex& c : to_coefficients(row)) {
      largest = std::max({largest, std::abs(c.real()), std::abs(c.imag())});
    }
    return row;
  });
  return largest;
}

Numbers sine_error(NumbersView values, int slots, double gain, bool of_slots) {
  const auto lost = [&](Numbers m) {
    for (Complex& z : m) {
      const double re = z.real(), im = z.imag();
      z = -gain * Complex(re * re * re, im * im * im);
    }
    return m;
  };
  return by_rows(values, slots, [&](const Numbers& row) {
    return of_slots ? lost(row) : to_slots(lost(to_coefficients(row)));
  });
}

double rms_of_windows(NumbersView values, int slots, std::size_t count) {
  double squares = 0, own = 0, all = 0;
  by_rows(values, slots, [&](const Numbers& row) {
    Complex sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += row[i];
    for (std::size_t i = 0; i < row.size(); ++i) {
      squares += std::norm(sum);
      own += std::norm(row[i]);
      sum += row[(i + count) % row.size()] - row[i];
    }
    all += static_cast<double>(row.size());
    return row;
  });
  return std::sqrt(std::max(squares, static_cast<double>(count) * own) / all);
}

}  // namespace latticino::session
