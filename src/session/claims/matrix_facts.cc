#include "session/claims/matrix_facts.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <list>
#include <mutex>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "session/claims/common_error.h"
#include "session/claims/correlation.h"

namespace latticino::session {
namespace {

constexpr std::size_t kKept = 32;

// A hash of 128 bits. It is not cryptographic: somebody could make two matrices with one hash, and
// each of them would get the claims of the other. Each step needs the result of the step before it,
// so several lanes run side by side.
std::array<std::uint64_t, 2> digest(NumbersView entries) {
  constexpr std::size_t kLanes = 4;
  std::array<std::uint64_t, kLanes> first{1, 2, 3, 4}, second{5, 6, 7, 8};
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto real = std::bit_cast<std::uint64_t>(entries[i].real());
    const auto imag = std::bit_cast<std::uint64_t>(entries[i].imag());
    std::uint64_t& a = first[i % kLanes];
    std::uint64_t& b = second[i % kLanes];
    a = std::rotl(a ^ real, 29) * 0x9e3779b97f4a7c15u + imag;
    b = std::rotl(b + imag, 31) * 0xd6e8feb86659fd93u ^ real;
  }
  std::array<std::uint64_t, 2> out{};
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    out[0] = std::rotl(out[0] ^ first[lane], 23) * 0xd6e8feb86659fd93u;
    out[1] = std::rotl(out[1] ^ second[lane], 41) * 0x9e3779b97f4a7c15u;
  }
  return out;
}

MatrixFacts facts_of(NumbersView entries, std::size_t rows, std::size_t height, std::size_t width,
                     double scale) {
  MatrixFacts out;
  const std::size_t columns = entries.size() / rows, diagonals = std::min(height, width);
  std::vector<double> l1(columns), squares(columns);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::size_t row = i / columns, column = i % columns;
    l1[column] += std::abs(entries[i]);
    squares[column] += std::norm(entries[i]);
    if (row % diagonals != column % diagonals) out.rotated += std::norm(entries[i]);
  }
  out.l1 = std::ranges::max(l1);
  out.l2 = std::sqrt(std::ranges::max(squares));
  out.alike = Alike::of_matrix(entries, rows, height, width, scale);
  out.common = common_error_of_matrix(entries, rows, height, width, scale);
  out.correlation = correlation_of_matrix(entries, rows);
  return out;
}

}  // namespace

std::shared_ptr<const MatrixFacts> matrix_facts(NumbersView entries, std::size_t rows,
                                                std::size_t height, std::size_t width,
                                                double scale) {
  using Key = std::tuple<std::array<std::uint64_t, 2>, std::size_t, std::size_t, std::size_t,
                         std::size_t, double>;
  static std::mutex mutex;
  static std::list<std::pair<Key, std::shared_ptr<const MatrixFacts>>> kept;  // last used first
  const Key key{digest(entries), entries.size(), rows, height, width, scale};
  {
    const std::lock_guard lock(mutex);
    const auto found = std::ranges::find(kept, key, [](const auto& x) { return x.first; });
    if (found != kept.end()) {
      kept.splice(kept.begin(), kept, found);
      return kept.front().second;
    }
  }
  auto made = std::make_shared<const MatrixFacts>(facts_of(entries, rows, height, width, scale));
  const std::lock_guard lock(mutex);
  kept.emplace_front(key, made);
  if (kept.size() > kKept) kept.pop_back();
  return made;
}

}  // namespace latticino::session
