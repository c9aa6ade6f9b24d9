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
  if (layout_ == Layout::Free) return true;
  // The terminals that the set lacks come after those of their list that it has.
  for (const std::uint32_t list : {all() & ~outer_, outer_}) {
    const std::uint32_t lacking = list & ~set;
    if (lacking != 0 && (set & list) > (lacking & -lacking)) return false;
  }
  return true;
}

bool Pool::divides(const PackedLevel& from, const PackedLevel& to) const {
  if (outer_ == 0) return true;
  const std::uint32_t leaving = from.terminals & ~to.terminals;
  return (leaving & ~outer_) == 0 || (leaving & outer_) == 0 || from.mains <= to.mains ||
         (to.terminals & outer_) == 0;
}

std::vector<Choice> Pool::open(bool outer) const {
  const std::uint32_t list = outer ? outer_ : all() & ~outer_;
  std::vector<Choice> out;
  for (const Choice& c : choices_) {
    if (c.count < most_ && ((c.set & list) == list || layout_ == Layout::Free)) out.push_back(c);
  }
  return out;
}

std::vector<Choice> Pool::added(std::uint32_t q, bool outer) const {
  const std::uint32_t bit = std::uint32_t{1} << primes_.size();
  const Log2 log = log2_fixed(q);
  std::vector<Choice> out = open(outer);
  for (Choice& c : out) c = {c.sum + log, c.set | bit, c.count + 1};
  return out;
}

void Pool::add(std::uint32_t q, bool outer) {
  const std::vector<Choice> with = added(q, outer);
  std::vector<Choice> merged;
  if (outer) outer_ |= std::uint32_t{1} << primes_.size();
  primes_.push_back(q);
  logs_.push_back(log2_fixed(q));
  std::merge(choices_.begin(), choices_.end(), with.begin(), with.end(), std::back_inserter(merged),
             [](const Choice& a, const Choice& b) {
               return std::tie(a.sum, a.set) < std::tie(b.sum, b.set);
             });
  choices_ = std::move(merged);
}

std::pair<std::vector<std::uint32_t>, std::vector<std::uint32_t>> Pool::lists() const {
  std::pair<std::vector<std::uint32_t>, std::vector<std::uint32_t>> out;
  for (std::size_t i = 0; i < primes_.size(); ++i) {
    (((outer_ >> i) & 1) != 0 ? out.second : out.first).push_back(primes_[i]);
  }
  if (layout_ == Layout::Free) std::sort(out.first.begin(), out.first.end());
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
