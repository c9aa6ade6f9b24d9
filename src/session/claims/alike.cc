#include "session/claims/alike.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "session/claims/sample.h"
#include "session/claims/slot_noise.h"

namespace latticino::session {
namespace {

using Complex = std::complex<double>;

// If there are more products of diagonals and results than this, errors are computed for some of
// the results only.
constexpr std::size_t kMaxProducts = std::size_t{1} << 18;
// Numbers of a diagonal that are compared; they mostly distinguish it from others.
constexpr std::size_t kSampledWeights = 8;
// Up to so many weights, the rounding error is computed. That of more weights is near its
// expectation.
constexpr std::size_t kFewWeights = 16;

// A matrix in blocks of height x width, with zeros beyond its last row and column.
class Blocks {
 public:
  Blocks(NumbersView entries, std::size_t rows, std::size_t height, std::size_t width)
      : entries_(entries),
        rows_(rows),
        columns_(entries.size() / rows),
        height_(height),
        width_(width) {}
  std::size_t sources() const { return (rows_ + height_ - 1) / height_; }
  std::size_t targets() const { return (columns_ + width_ - 1) / width_; }
  std::size_t columns() const { return columns_; }
  std::size_t slots() const { return std::max(height_, width_); }
  std::size_t diagonals() const { return std::min(height_, width_); }
  Complex at(std::size_t source, std::size_t target, std::size_t row, std::size_t column) const {
    row += source * height_;
    column += target * width_;
    return row < rows_ && column < columns_ ? entries_[row * columns_ + column] : 0;
  }
  Complex on_diagonal(const Alike::Diagonal& d, std::size_t slot) const {
    return at(d.source, d.target, (slot + d.distance) % height_, slot % width_);
  }

 private:
  NumbersView entries_;
  std::size_t rows_, columns_, height_, width_;
};

// A number for the weights of a diagonal in every `step`-th slot, up to their sign, which is
// written to the diagonal; 0 if all of them are 0.
std::uint64_t number_of(const Blocks& blocks, Alike::Diagonal& d, std::size_t step) {
  std::uint64_t x = 0;
  bool any = false;
  for (std::size_t s = 0; s < blocks.slots(); s += step) {
    const Complex w = blocks.on_diagonal(d, s);
    if (!any && w != Complex(0)) {
      any = true;
      d.sign = w.real() < 0 || (w.real() == 0 && w.imag() < 0) ? -1 : 1;
    }
    for (const double part : {d.sign * w.real(), d.sign * w.imag()}) {
      x = (x ^ std::hash<double>{}(part)) * 0x9E3779B97F4A7C15u;
      x ^= x >> 29;
    }
  }
  return any ? std::max<std::uint64_t>(x, 1) : 0;
}

std::vector<Alike::Diagonal> all_diagonals(const Blocks& blocks) {
  std::vector<Alike::Diagonal> out;
  for (std::size_t t = 0; t < blocks.targets(); ++t) {
    for (std::size_t i = 0; i < blocks.sources(); ++i) {
      for (std::size_t k = 0; k < blocks.diagonals(); ++k)
        out.push_back({.target = t, .source = i, .distance = k});
    }
  }
  return out;
}

bool all_differ(const Blocks& blocks, std::vector<Alike::Diagonal> diagonals, std::size_t step) {
  std::unordered_set<std::uint64_t> seen;
  for (Alike::Diagonal& d : diagonals) {
    if (!seen.insert(number_of(blocks, d, step) + d.target).second) return false;
  }
  return true;
}

// The slots after which a diagonal repeats.
std::size_t period_of(const Blocks& blocks, const Alike::Diagonal& d) {
  const auto repeats = [&](std::size_t period) {
    for (std::size_t s = 0; s < period; ++s) {
      if (blocks.on_diagonal(d, s) != blocks.on_diagonal(d, s + period)) return false;
    }
    return true;
  };
  std::size_t period = blocks.slots();
  while (period > 1 && repeats(period / 2)) period /= 2;
  return period;
}

double size_of_error(const Blocks& blocks, const Alike::Diagonal& d, double scale) {
  Numbers weights(d.period);
  if (weights.size() == blocks.slots()) return 1;
  for (std::size_t s = 0; s < weights.size(); ++s) weights[s] = blocks.on_diagonal(d, s);
  return Alike::size_of(weights, blocks.slots(), scale);
}

bool any_repeats(const Blocks& blocks, const std::vector<Alike::Diagonal>& diagonals) {
  return std::ranges::any_of(
      diagonals, [&](const Alike::Diagonal& d) { return period_of(blocks, d) < blocks.slots(); });
}

}  // namespace

double Alike::size_of(NumbersView weights, std::size_t slots, double scale) {
  const auto period = static_cast<double>(weights.size()), all = static_cast<double>(slots);
  if (weights.size() > kFewWeights || scale == 0) return std::sqrt(period / all);
  double squares = 0;
  for (const Complex& z : rounding(weights, static_cast<int>(weights.size()), scale)) {
    squares += std::norm(z);
  }
  return std::sqrt(squares / period) / encoded_error(static_cast<int>(slots), scale);
}

Alike Alike::of_matrix(NumbersView entries, std::size_t rows, std::size_t height, std::size_t width,
                       double scale) {
  const Blocks blocks(entries, rows, height, width);
  std::vector<Diagonal> diagonals = all_diagonals(blocks);
  Alike out;
  if (all_differ(blocks, diagonals, std::max<std::size_t>(1, blocks.slots() / kSampledWeights)) &&
      !any_repeats(blocks, diagonals)) {
    return out;
  }
  std::map<std::pair<std::size_t, std::uint64_t>, std::size_t> groups;
  std::size_t others = 0;
  std::map<std::size_t, std::pair<std::size_t, double>> known;  // period and size, by group
  for (Diagonal& d : diagonals) {
    const std::uint64_t number = number_of(blocks, d, 1);
    if (number == 0) continue;  // the diagonal is not multiplied
    d.group = groups.try_emplace({d.target, number}, groups.size()).first->second;
    const auto [of_group, is_new] = known.try_emplace(d.group);
    if (is_new) {
      d.period = period_of(blocks, d);
      of_group->second = {d.period, size_of_error(blocks, d, scale)};
    }
    std::tie(d.period, d.size) = of_group->second;
    out.diagonals.push_back(d);
    others = std::max(others, d.group + 1);
  }
  const bool all_whole =
      std::ranges::all_of(known, [&](const auto& x) { return x.second.first == blocks.slots(); });
  out.some_are_zero = out.diagonals.size() < diagonals.size();
  if (others == out.diagonals.size() && all_whole && !out.some_are_zero) return {};
  out.slots = blocks.slots();
  out.height = height;
  out.places.resize(rows);
  std::iota(out.places.begin(), out.places.end(), 0);
  for (std::size_t c = 0; c < blocks.columns(); ++c) {
    out.results.push_back(static_cast<std::int64_t>(c / width * out.slots + c % width));
  }
  for (std::size_t at = width; at < height; at += width) out.pieces.push_back(at);
  return out;
}

double Alike::growth(NumbersView values) const { return differ() ? 1 : added_up(values, true); }

double Alike::largest_growth() const {
  return differ() ? 1 : added_up(Numbers(places.size(), 1), false);
}

double Alike::most_repetitions() const {
  std::size_t least = slots;
  for (const Diagonal& d : diagonals) least = std::min(least, d.period == 0 ? slots : d.period);
  const std::size_t repetitions = slots / least;  // periods divide the slots
  return static_cast<double>(repetitions);
}

double Alike::added_up(NumbersView values, bool with_signs) const {
  std::size_t sources = 0;
  for (const Diagonal& d : diagonals) sources = std::max(sources, d.source + 1);
  Numbers held(sources * height);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto place = static_cast<std::size_t>(places[i]);
    if (place < held.size()) held[place] = values[i];
  }
  const std::size_t products = results.size() * pieces.size() * diagonals.size();
  const std::size_t step = products / kMaxProducts + 1;
  double of_all = 0;  // squares of the values, each of which occurs in a result once
  if (some_are_zero) {
    for (const Complex& z : values) of_all += std::norm(z);
  }
  double squares = 0, alone = 0, differing = 0;
  for (std::size_t r = 0; r < results.size(); r += step | 1) {
    const auto place = static_cast<std::size_t>(results[r]);
    const std::size_t target = place / slots;
    const auto of_target = std::ranges::equal_range(diagonals, target, {}, &Diagonal::target);
    // Pieces whose distance is a period have the same rounding error, so they are added up first.
    std::unordered_map<std::size_t, Complex> sums;
    for (const std::size_t piece : pieces) {
      const std::size_t s = (place + piece) % slots;
      for (const Diagonal& d : of_target) {
        const Complex z = held[d.source * height + (s + d.distance) % height];
        const std::size_t apart = d.period == 0 ? piece : piece % d.period;
        sums[d.group * slots + apart] += d.size * (with_signs ? d.sign * z : z);
        if (!some_are_zero) alone += std::norm(z);
        differing += d.size * d.size * std::norm(z);
      }
    }
    alone += of_all;
    for (const auto& [group, sum] : sums) squares += std::norm(sum);
  }
  // Values that cancel in a sum may not do so in other data.
  return alone > 0 ? std::sqrt(std::max(differing, squares) / alone) : 1;
}

}  // namespace latticino::session
