// A pool of terminals, and the choices that a level may make among them.
#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "params/chain/packing.h"

namespace latticino::packing {

bool Pool::has(std::uint32_t q) const {
  return std::find(primes_.begin(), primes_.end(), q) != primes_.end();
}

bool Pool::allows(std::uint32_t set) const {
  return layout_ == Layout::Free || (first_ones(set, all() & ~outer_) && first_ones(set, outer_));
}

bool Pool::divides(const PackedLevel& from, const PackedLevel& to) const {
  if (outer_ == 0) return true;
  const std::uint32_t leaving = from.terminals & ~to.terminals;
  return (leaving & ~outer_) == 0 || (leaving & outer_) == 0 || from.mains <= to.mains ||
         (to.terminals & outer_) == 0;
}

std::vector<Choice> Pool::open(int lists, int room) const {
  std::uint32_t whole = 0;  // the terminals that a choice must have
  if (layout_ != Layout::Free) {
    whole = ((lists & 1) != 0 ? all() & ~outer_ : 0) | ((lists & 2) != 0 ? outer_ : 0);
  }
  std::vector<Choice> out;
  for (const Choice& c : choices_) {
    if (c.count + room <= most_ && (c.set & whole) == whole) out.push_back(c);
  }
  return out;
}

void Pool::add(std::uint32_t q, bool outer) {
  const std::uint32_t bit = std::uint32_t{1} << primes_.size();
  const Log2 log = log2_fixed(q);
  std::vector<Choice> with = open(outer ? 2 : 1, 1), merged;
  for (Choice& c : with) c = {c.sum + log, c.set | bit, c.count + 1};
  if (outer) outer_ |= bit;
  primes_.push_back(q);
  logs_.push_back(log);
  merged.reserve(choices_.size() + with.size());
  std::merge(choices_.begin(), choices_.end(), with.begin(), with.end(), std::back_inserter(merged),
             [](const Choice& a, const Choice& b) {
               return std::tie(a.sum, a.set) < std::tie(b.sum, b.set);
             });
  choices_ = std::move(merged);
}

Pool::Lists Pool::lists(Layout layout, const std::vector<std::uint32_t>& primes,
                        std::uint32_t outer) {
  Lists out;
  for (std::size_t i = 0; i < primes.size(); ++i) {
    (((outer >> i) & 1) != 0 ? out.second : out.first).push_back(primes[i]);
  }
  if (layout == Layout::Free) std::sort(out.first.begin(), out.first.end());
  if (out.second < out.first) std::swap(out.first, out.second);
  return out;
}

Log2 Pool::sum(std::uint32_t set) const {
  Log2 out = 0;
  for (std::size_t i = 0; i < logs_.size(); ++i) {
    if ((set >> i) & 1) out += logs_[i];
  }
  return out;
}

}  // namespace latticino::packing
