#include "session/claims/alike.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

namespace latticino::session {
namespace {

using Complex = std::complex<double>;

// Errors are computed for some of the results if there are more products of diagonals and results.
constexpr std::size_t kMaxProducts = std::size_t{1} << 18;
constexpr std::size_t kSampledWeights = 8;  // weights of a diagonal that mostly tell it from others

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

// The slots after which all columns of a tall matrix repeat: a multiple of the width.
std::size_t period_of(const Blocks& blocks, std::size_t height, std::size_t width) {
  const auto repeats = [&](std::size_t period) {
    for (std::size_t t = 0; t < blocks.targets(); ++t) {
      for (std::size_t i = 0; i < blocks.sources(); ++i) {
        for (std::size_t r = period; r < height; ++r) {
          for (std::size_t c = 0; c < width; ++c) {
            if (blocks.at(i, t, r, c) != blocks.at(i, t, r - period, c)) return false;
          }
        }
      }
    }
    return true;
  };
  std::size_t period = width;
  while (period < height && !repeats(period)) period *= 2;
  return std::max(period, std::min(height, width));
}

}  // namespace

Alike Alike::of_matrix(NumbersView entries, std::size_t rows, std::size_t height,
                       std::size_t width) {
  const Blocks blocks(entries, rows, height, width);
  std::vector<Diagonal> diagonals = all_diagonals(blocks);
  Alike out;
  if (all_differ(blocks, diagonals, std::max<std::size_t>(1, blocks.slots() / kSampledWeights)))
    return out;
  std::map<std::pair<std::size_t, std::uint64_t>, std::size_t> groups;
  std::size_t others = 0;
  for (Diagonal& d : diagonals) {
    const std::uint64_t number = number_of(blocks, d, 1);
    if (number == 0) continue;  // is not multiplied
    d.group = groups.try_emplace({d.target, number}, groups.size()).first->second;
    out.diagonals.push_back(d);
    others = std::max(others, d.group + 1);
  }
  if (others == out.diagonals.size()) return {};
  out.slots = blocks.slots();
  out.height = height;
  out.period = height > width ? period_of(blocks, height, width) : out.slots;
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

double Alike::added_up(NumbersView values, bool with_signs) const {
  std::size_t sources = 0;
  for (const Diagonal& d : diagonals) sources = std::max(sources, d.source + 1);
  Numbers held(sources * height);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto place = static_cast<std::size_t>(places[i]);
    if (place < held.size()) held[place] = values[i];
  }
  // Pieces that lie a period apart have one error.
  std::vector<std::size_t> classes;
  std::map<std::size_t, std::size_t> apart;
  for (const std::size_t piece : pieces) {
    classes.push_back(apart.try_emplace(piece % period, apart.size()).first->second);
  }
  const std::size_t products = results.size() * pieces.size() * diagonals.size();
  const std::size_t step = products / kMaxProducts + 1;
  double squares = 0, alone = 0;
  for (std::size_t r = 0; r < results.size(); r += step | 1) {
    const auto place = static_cast<std::size_t>(results[r]);
    const std::size_t target = place / slots;
    const auto of_target = std::ranges::equal_range(diagonals, target, {}, &Diagonal::target);
    std::unordered_map<std::size_t, Complex> sums;
    for (std::size_t p = 0; p < pieces.size(); ++p) {
      const std::size_t s = (place + pieces[p]) % slots;
      for (const Diagonal& d : of_target) {
        const Complex z = held[d.source * height + (s + d.distance) % height];
        sums[d.group * apart.size() + classes[p]] += with_signs ? d.sign * z : z;
        alone += std::norm(z);
      }
    }
    for (const auto& [group, sum] : sums) squares += std::norm(sum);
  }
  // Values that cancel in a sum may not do so in other data.
  const double more = alone > 0 ? std::max(1.0, squares / alone) : 1;
  return std::sqrt(more * static_cast<double>(period) / static_cast<double>(slots));
}

}  // namespace latticino::session
