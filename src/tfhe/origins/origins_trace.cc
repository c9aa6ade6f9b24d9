#include "tfhe/origins/origins_trace.h"

#include <algorithm>
#include <utility>

namespace latticino::tfhe {
namespace {

thread_local OriginsTrace* now = nullptr;

void insert(std::vector<std::uint64_t>& ids, std::uint64_t id) {
  if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
}

}  // namespace

OriginsTrace* OriginsTrace::current() { return now; }
OriginsTrace::Open::Open(OriginsTrace& trace) : outer_(now) { now = &trace; }
OriginsTrace::Open::~Open() { now = outer_; }

void OriginsTrace::add_sum(std::vector<Origins> terms, std::vector<std::size_t> groups) {
  steps_.push_back({std::move(terms), std::move(groups), {}});
}

void OriginsTrace::add_bootstrapping(Origins from, Origins made) {
  steps_.push_back({{std::move(from)}, {}, std::move(made)});
}

void OriginsTrace::Images::add(std::uint64_t id, std::uint64_t image) { insert(map_[id], image); }

void OriginsTrace::Images::append(std::uint64_t id, Ids& out) const {
  const auto at = map_.find(id);
  if (at == map_.end()) return insert(out, id);
  for (const std::uint64_t image : at->second) insert(out, image);
}

Origins OriginsTrace::Images::of(const Origins& x) const {
  std::vector<Ids> layers;
  const std::size_t places = x.places();
  Ids own, images;
  for (std::size_t i = 0; i < places; ++i) {
    own.clear(), images.clear();
    x.append(i, own);
    for (const std::uint64_t id : own) append(id, images);
    while (layers.size() < images.size()) layers.emplace_back(places);
    for (std::size_t k = 0; k < images.size(); ++k) layers[k][i] = images[k];
  }
  return Origins::of_layers(std::move(layers), x.any_);
}

// A term that holds too many errors to list them is independent of nothing, which the recording
// has found by itself; among arguments there are none that the recording did not have.
bool OriginsTrace::independent(const Step& sum, const Images& images) {
  std::size_t places = 0;
  for (const Origins& x : sum.terms) places = std::max(places, x.places());
  std::vector<std::pair<std::uint64_t, std::size_t>> found;  // pairs of identity and group
  std::vector<std::uint64_t> own, theirs;
  for (std::size_t i = 0; i < places; ++i) {
    found.clear();
    for (std::size_t t = 0; t < sum.terms.size(); ++t) {
      own.clear(), theirs.clear();
      sum.terms[t].append(i, own);
      for (const std::uint64_t id : own) images.append(id, theirs);
      for (const std::uint64_t id : theirs) found.emplace_back(id, sum.groups[t]);
    }
    std::sort(found.begin(), found.end());
    for (std::size_t k = 1; k < found.size(); ++k) {
      if (found[k].first == found[k - 1].first && found[k].second != found[k - 1].second)
        return false;
    }
  }
  return true;
}

std::optional<OriginsTrace::Images> OriginsTrace::images(
    std::span<const Origins* const> examples, std::span<const Origins* const> arguments) const {
  Images out;
  const auto alike = [](const Origins* x, const Origins* y) {
    return x->ids_ == y->ids_ && x->any_ == y->any_;
  };
  if (std::equal(examples.begin(), examples.end(), arguments.begin(), alike)) return out;
  std::vector<std::uint64_t> own, theirs;
  for (std::size_t a = 0; a < examples.size(); ++a) {
    const Origins &x = *examples[a], &y = *arguments[a];
    if (y.any_ && !x.any_) return std::nullopt;
    for (std::size_t i = 0; i < std::max(x.places(), y.places()); ++i) {
      own.clear(), theirs.clear();
      x.append(i, own);
      y.append(i, theirs);
      for (const std::uint64_t id : own) {
        out.map_.try_emplace(id);  // an argument without errors adds none
        for (const std::uint64_t image : theirs) out.add(id, image);
      }
    }
  }
  for (const Step& step : steps_) {
    if (!step.groups.empty()) {
      if (!independent(step, out)) return std::nullopt;
      continue;
    }
    const Origins &from = step.terms[0], &made = step.made;
    for (std::size_t i = 0; i < made.places(); ++i) {
      own.clear(), theirs.clear();
      from.append(i, own);
      for (const std::uint64_t id : own) out.append(id, theirs);
      own.clear();
      made.append(i, own);
      for (const std::uint64_t id : own) {
        out.map_.try_emplace(id);
        if (!theirs.empty()) out.add(id, Origins::bootstrapped(theirs));
      }
    }
  }
  return out;
}

}  // namespace latticino::tfhe
