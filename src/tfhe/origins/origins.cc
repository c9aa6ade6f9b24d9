#include "tfhe/origins/origins.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "tfhe/origins/origins_trace.h"

namespace latticino::tfhe {
namespace {

constexpr std::size_t kMaxListed = 256;  // a sum of more errors overlaps with every batch
// Words that are compared to tell masks apart: over 400 bits.
constexpr std::size_t kMaskWords = 16;

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): a permutation of 64-bit words.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

// 0 stands for "none"
std::uint64_t id(std::uint64_t x) { return x == 0 ? 1 : x; }

std::uint64_t at(const std::vector<std::uint64_t>& ids, std::size_t i) {
  return ids[ids.size() == 1 ? 0 : i];
}

bool intersect(const std::vector<std::uint64_t>& x, const std::vector<std::uint64_t>& y) {
  const std::size_t count = std::max(x.size(), y.size());
  for (std::size_t i = 0; i < count; ++i) {
    if (at(x, i) != 0 && at(x, i) == at(y, i)) return true;
  }
  return false;
}

}  // namespace

Origins Origins::unique(std::size_t count) {
  static std::atomic<std::uint64_t> next{1};
  std::uint64_t first = next.fetch_add(count);
  Ids ids(count);
  for (std::uint64_t& x : ids) x = id(mix(mix(first++)));
  Origins out;
  out.ids_.push_back(std::make_shared<const Ids>(std::move(ids)));
  return out;
}

Origins Origins::of_masks(const LweView& view, const std::uint32_t* words) {
  const std::size_t length = std::min<std::size_t>(kMaskWords, view.dimension);
  Ids ids(view.count);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    std::uint64_t hash = 0;
    for (std::size_t k = 0; k < length; ++k) hash = mix(hash ^ words[i * view.stride + k]);
    ids[i] = id(hash);
  }
  Origins out;
  out.ids_.push_back(std::make_shared<const Ids>(std::move(ids)));
  return out;
}

Origins Origins::concatenated(std::span<const Origins* const> parts,
                              std::span<const std::uint32_t> counts) {
  Origins out;
  std::size_t total = 0, listed = 0;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    total += counts[p];
    listed = std::max(listed, parts[p]->ids_.size());
    out.any_ |= parts[p]->any_;
  }
  for (std::size_t k = 0; k < listed; ++k) {
    Ids ids;
    ids.reserve(total);
    for (std::size_t p = 0; p < parts.size(); ++p) {
      for (std::size_t i = 0; i < counts[p]; ++i) {
        ids.push_back(k < parts[p]->ids_.size() ? at(*parts[p]->ids_[k], i) : 0);
      }
    }
    out.ids_.push_back(std::make_shared<const Ids>(std::move(ids)));
  }
  return out;
}

Origins Origins::concatenated(std::span<const Origins> parts) {
  std::vector<const Origins*> all;
  std::vector<std::uint32_t> counts;
  for (const Origins& part : parts) {
    all.push_back(&part);
    counts.push_back(static_cast<std::uint32_t>(part.places()));
  }
  return concatenated(all, counts);
}

// An identity that is already at a place is not listed again: x + x is a sum of x alone.
void Origins::join(const Origins& other) {
  if (empty() && !any_) {
    *this = other;
    return;
  }
  const std::size_t before = ids_.size();
  ids_.reserve(before + other.ids_.size());
  for (const SharedIds& theirs : other.ids_) {
    SharedIds added = theirs;
    for (std::size_t k = 0; k < before && added != nullptr; ++k) {
      const Ids& own = *ids_[k];
      if (ids_[k] == added) added = nullptr;
      if (added == nullptr || !intersect(own, *added)) continue;
      Ids rest(std::max(own.size(), added->size()));
      for (std::size_t i = 0; i < rest.size(); ++i) {
        rest[i] = at(own, i) == at(*added, i) ? 0 : at(*added, i);
      }
      const bool none = std::all_of(rest.begin(), rest.end(), [](auto x) { return x == 0; });
      added = none ? nullptr : std::make_shared<const Ids>(std::move(rest));
    }
    if (added != nullptr) ids_.push_back(std::move(added));
  }
  any_ |= other.any_;
  if (ids_.size() > kMaxListed) collapse();
}

Origins Origins::taken(std::span<const std::uint32_t> indices) const {
  Origins out;
  out.any_ = any_;
  for (const SharedIds& ids : ids_) {
    if (ids->size() == 1) {
      out.ids_.push_back(ids);
      continue;
    }
    Ids some;
    some.reserve(indices.size());
    for (const std::uint32_t i : indices) some.push_back((*ids)[i]);
    out.ids_.push_back(std::make_shared<const Ids>(std::move(some)));
  }
  return out;
}

// The order of a sum's terms does not matter, nor do their factors: x + x is 2 x.
std::uint64_t Origins::bootstrapped(std::span<const std::uint64_t> sum) {
  std::uint64_t out = 0;
  for (const std::uint64_t x : sum) out += mix(x);
  return id(mix(out));
}

Origins Origins::bootstrapped(std::size_t count) const {
  if (ids_.empty()) return {};
  const bool all_alike =
      std::all_of(ids_.begin(), ids_.end(), [](const SharedIds& x) { return x->size() == 1; });
  Ids ids(all_alike ? 1 : count), sum;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    sum.clear();
    append(i, sum);
    ids[i] = sum.empty() ? 0 : bootstrapped(sum);
  }
  Origins out;
  out.ids_.push_back(std::make_shared<const Ids>(std::move(ids)));
  return out;
}

void Origins::collapse() {
  std::size_t count = 1;
  for (const SharedIds& x : ids_) count = std::max(count, x->size());
  Origins one = bootstrapped(count);
  if (OriginsTrace* trace = OriginsTrace::current()) trace->add_bootstrapping(*this, one);
  *this = std::move(one);
  any_ = true;
}

std::size_t Origins::places() const {
  std::size_t count = 0;
  for (const SharedIds& x : ids_) count = std::max(count, x->size());
  return count;
}

void Origins::append(std::size_t place, std::vector<std::uint64_t>& out) const {
  for (const SharedIds& x : ids_) {
    if (at(*x, place) != 0) out.push_back(at(*x, place));
  }
}

Origins Origins::of_layers(std::vector<Ids> layers, bool any) {
  Origins out;
  out.any_ = any;
  for (Ids& x : layers) out.ids_.push_back(std::make_shared<const Ids>(std::move(x)));
  return out;
}

bool overlap(const Origins& x, const Origins& y) {
  if (x.empty() || y.empty()) return false;
  if (x.any_ || y.any_) return true;
  for (const Origins::SharedIds& a : x.ids_) {
    for (const Origins::SharedIds& b : y.ids_) {
      if (intersect(*a, *b)) return true;
    }
  }
  return false;
}

}  // namespace latticino::tfhe
