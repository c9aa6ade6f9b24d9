// What is known of encrypted arrays. Functions of numpy arrays are applied to samples.
#include "known.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <functional>
#include <numeric>
#include <tuple>

#include "session/claims/common_error.h"
#include "session/claims/correlation.h"

namespace latticino::python {
namespace {

using session::Known;
using session::NumbersView;
using session::Range;
using Complex = std::complex<double>;

using Values = PlainValues;
using Index = FlatIndex;
using Sizes = std::vector<std::size_t>;

// If a sample has at least so many values, other threads may run Python while it is computed.
constexpr std::size_t kReleaseGilFrom = 4096;

template <class F>
auto released(const Known& known, F f) {
  if (known.sample() == nullptr || known.sample()->values.size() < kReleaseGilFrom) return f();
  const Released other_threads;
  return f();
}

std::size_t size_of(const Known& known) {
  return known.sample() == nullptr ? SIZE_MAX / 2 : known.sample()->size;
}

// The rows of the sample, read-only: (rows, values). The array keeps the sample alive.
std::optional<nb::ndarray<nb::numpy, const Complex, nb::ndim<2>>> sample_of(const Known& known) {
  const session::SamplePtr& sample = known.sample();
  if (sample == nullptr) return std::nullopt;
  auto* kept = new session::SamplePtr(sample);
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<session::SamplePtr*>(p); });
  return nb::ndarray<nb::numpy, const Complex, nb::ndim<2>>(sample->values.data(),
                                                            {sample->rows, sample->size}, owner);
}

std::pair<double, double> pair_of(const Known::Errors& e) { return {e.mean, e.worst}; }

const char* kind_of(const Known& known) { return session::name_of(known.claim()); }

void bind_facts(nb::class_<Known>& k) {
  k.def_static(
       "fresh", [](const Range& range, double error) { return Known::fresh(range, error); },
       "range"_a, "error"_a, "What is known of an encryption.")
      .def_static(
          "sampled",
          [](const Values& sample, bool real, double error) {
            return Known::fresh(view(sample), real, error);
          },
          "sample"_a, "real"_a, "error"_a, "What is known of an encryption of values like these.")
      .def_static(
          "with_shadow",
          [](const Range& range, double error, const Values& values) {
            return Known::with_shadow(range, error, view(values));
          },
          "range"_a, "error"_a, "values"_a, "What is known of an encryption, with its very values.")
      .def(
          "following",
          [](const Known& x, const Values& values) { return x.following(view(values)); },
          "values"_a)
      .def_prop_ro("estimate", [](const Known& x) { return x.estimate(); })
      .def_prop_ro("range", [](const Known& x) { return x.range(); })
      .def_prop_ro("reach", &Known::reach)
      .def_prop_ro("widest", &Known::widest)
      .def_prop_ro("sample", &sample_of, nb::rv_policy::automatic)
      .def_prop_ro("shadow", &Known::shadow)
      .def_prop_ro("error", &Known::error)
      .def_prop_ro("error_seen", &Known::error_seen)
      .def_prop_ro("kind", &kind_of)
      .def(
          "errors",
          [](const Known& x, double size, bool full) { return pair_of(x.errors(size, full)); },
          "size"_a, "full"_a = false)
      .def(
          "bits",
          [](const Known& x, double size, bool full) { return pair_of(x.bits(size, full)); },
          "size"_a, "full"_a = false)
      .def("within", &Known::within)
      .def("detached", &Known::detached, "size"_a, "full"_a = false)
      .def("renamed",
           [](const Known& x) {
             std::uint64_t source = 0;
             Known out = x.renamed(&source);
             return std::pair(std::move(out), source);
           })
      .def(
          "with_sources",
          [](const Known& x, const std::vector<std::pair<std::uint64_t, double>>& grown) {
            return x.with_sources(grown);
          },
          "grown"_a)
      .def("with_estimate", &Known::with_estimate, "estimate"_a)
      .def("declared", &Known::declared, "range"_a)
      .def(
          "within_domain",
          [](const Known& x, double low, double high) {
            return x.within_domain({low, high});
          },
          "low"_a, "high"_a)
      .def("lost", &Known::lost,
           "For values that may be wrong: their errors are as large as they are.")
      .def("as_real", &Known::as_real);
}

void bind_places(nb::class_<Known>& k) {
  k.def(
       "part",
       [](const Known& x, std::size_t i, std::size_t slots) {
         if (x.sample() == nullptr) return x;
         const std::size_t size = x.sample()->size, first = i * slots;
         if (first >= size) throw std::out_of_range("a part behind the values");
         return x.part(first, std::min(slots, size - first), slots);
       },
       "i"_a, "slots"_a)
      .def(
          "taken",
          [](const Known& x, const Sizes& shape, const Index& index) {
            const auto places = index_of(index, size_of(x));
            return released(x, [&] { return x.taken(shape, places); });
          },
          "shape"_a, "index"_a)
      .def(
          "repeated",
          [](const Known& x, std::size_t size, double growth) {
            return released(x, [&] { return x.repeated(size, growth); });
          },
          "size"_a, "growth"_a)
      .def("placed", &Known::placed, "name"_a, "added"_a, "rounded"_a)
      .def(
          "copied",
          [](const Known& x, std::uint64_t name, const Index& sources, double added, double rounded,
             double added_to_each, double rounded_in_each) {
            const std::span<const std::int64_t> of(sources.data(), sources.size());
            if (x.sample() != nullptr && x.sample()->size != of.size()) {
              throw std::invalid_argument("a source for each value");
            }
            return released(x, [&] {
              return x.copied(name, of, added, rounded, added_to_each, rounded_in_each);
            });
          },
          "name"_a, "sources"_a, "added"_a, "rounded"_a, "added_to_each"_a, "rounded_in_each"_a)
      .def_static(
          "joined",
          [](const std::vector<Known>& several, const Sizes& sizes, const Index& index) {
            std::size_t size = 0;
            for (const std::size_t n : sizes) size += n;
            if (several.empty() || several.size() != sizes.size()) {
              throw std::invalid_argument("a size for each array");
            }
            for (std::size_t i = 0; i < several.size(); ++i) {
              const session::SamplePtr& sample = several[i].sample();
              if (sample != nullptr && sample->size != sizes[i]) {
                throw std::invalid_argument("a sample of another size");
              }
            }
            return Known::joined(several, sizes, index_of(index, size));
          },
          "several"_a, "sizes"_a, "index"_a);
}

void bind_sums_and_products(nb::class_<Known>& k) {
  k.def(
       "plus",
       [](const Known& x, const Known& y) { return released(x, [&] { return x.plus(y); }); },
       "other"_a)
      .def(
          "minus",
          [](const Known& x, const Known& y) { return released(x, [&] { return x.minus(y); }); },
          "other"_a)
      .def(
          "times",
          [](const Known& x, const Known& y, bool same, double added) {
            return released(x, [&] { return x.times(y, same, added); });
          },
          "other"_a, "same"_a, "added"_a)
      .def(
          "plus_plain",
          [](const Known& x, const Values& plain, int slots, double scale,
             const std::optional<Index>& places, std::size_t ciphertexts) {
            return with_places(x, plain, places, ciphertexts, slots,
                               [&](NumbersView values, const session::Places* where) {
                                 return x.plus_plain(values, slots, scale, where);
                               });
          },
          "plain"_a, "slots"_a, "scale"_a, "places"_a = nb::none(), "ciphertexts"_a = 0)
      .def(
          "times_plain",
          [](const Known& x, const Values& plain, int slots, double scale, double added,
             const std::optional<Index>& places, std::size_t ciphertexts) {
            return with_places(x, plain, places, ciphertexts, slots,
                               [&](NumbersView values, const session::Places* where) {
                                 return x.times_plain(values, slots, scale, added, where);
                               });
          },
          "plain"_a, "slots"_a, "scale"_a, "added"_a, "places"_a = nb::none(), "ciphertexts"_a = 0)
      .def("times_number", &Known::times_number, "c"_a, "added"_a = 0.0, "actual"_a = nb::none())
      .def("plus_scalar", &Known::plus_scalar, "c"_a, "rounding"_a)
      .def("times_scalar", &Known::times_scalar, "c"_a, "rounding"_a, "added"_a)
      .def(
          "reduced",
          [](const Known& x, const Sizes& shape, const Sizes& axes, double count, Complex factor,
             double added, double rounded, const std::vector<double>& windows) {
            const std::size_t size =
                std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
            require(x.sample() == nullptr || size == x.sample()->size, "a sample of another shape");
            return released(
                x, [&] { return x.reduced(shape, axes, count, factor, added, rounded, windows); });
          },
          "shape"_a, "axes"_a, "count"_a, "factor"_a, "added"_a, "rounded"_a, "windows"_a)
      .def(
          "spread",
          [](const Known& x, Complex factor, std::size_t count, double added, double rounding,
             int slots) {
            require(count > 0 && count <= static_cast<std::size_t>(slots) &&
                        (x.sample() == nullptr || x.sample()->size % count == 0),
                    "rows that do not divide the values or exceed the slots");
            return released(x, [&] { return x.spread(factor, count, added, rounding, slots); });
          },
          "factor"_a, "count"_a, "added"_a, "rounding"_a, "slots"_a);
}

session::Alike alike_of(const Index& diagonals, std::size_t slots, std::size_t height,
                        const Index& places, const Index& results, const Sizes& pieces,
                        const std::vector<double>& sizes) {
  session::Alike out;
  constexpr std::size_t kNumbers = 6;
  require(diagonals.size() % kNumbers == 0, "diagonals of six numbers each");
  require(slots > 0 && height > 0, "diagonals of no slots");
  require(sizes.size() * kNumbers == diagonals.size(), "a size for each diagonal");
  for (std::size_t i = 0; i < diagonals.size(); i += kNumbers) {
    const std::int64_t* of = diagonals.data() + i;
    const auto number = [&](std::size_t k) { return static_cast<std::size_t>(of[k]); };
    out.diagonals.push_back({number(0), number(1), number(2), number(3), of[4] < 0 ? -1.0 : 1.0,
                             number(5), sizes[i / kNumbers]});
  }
  out.slots = slots;
  out.height = height;
  out.places.assign(places.data(), places.data() + places.size());
  out.results.assign(results.data(), results.data() + results.size());
  out.pieces = pieces;
  return out;
}

void bind_maps(nb::module_& m, nb::class_<Known>& k) {
  using session::Alike;
  m.def(
      "common_error",
      [](const Values& means, double scale) { return session::common_error(view(means), scale); },
      "means"_a, "scale"_a);
  m.def(
      "correlation",
      [](const Index& results, const Index& operands, const Values& weights) {
        require(results.size() == weights.size() && operands.size() == weights.size(),
                "a result and an operand for each weight");
        const auto addresses = [](const Index& x) {
          const std::span<const std::int64_t> out(x.data(), x.size());
          require(std::ranges::all_of(out, [](std::int64_t i) { return i >= 0; }),
                  "addresses below 0");
          return out;
        };
        const auto of_results = addresses(results), of_operands = addresses(operands);
        const Released other_threads;
        return session::correlation_of_entries(of_results, of_operands, view(weights));
      },
      "results"_a, "operands"_a, "weights"_a);
  nb::class_<Alike>(m, "Alike", "Which weights of a linear map are rounded alike.")
      .def_static(
          "of_matrix",
          [](const Values& entries, std::size_t rows, std::size_t height, std::size_t width) {
            require(rows > 0 && height > 0 && width > 0 && entries.size() % rows == 0,
                    "a matrix of no rows");
            const Released other_threads;
            return Alike::of_matrix(view(entries), rows, height, width);
          },
          "entries"_a, "rows"_a, "height"_a, "width"_a)
      .def_static(
          "of_diagonals",
          [](const Index& diagonals, std::size_t slots, std::size_t height, const Index& places,
             const Index& results, const Sizes& pieces, const std::vector<double>& sizes) {
            return alike_of(diagonals, slots, height, places, results, pieces, sizes);
          },
          "diagonals"_a, "slots"_a, "height"_a, "places"_a, "results"_a, "pieces"_a, "sizes"_a,
          "``diagonals``: target, source, distance, group, sign and period of each, by target. "
          "``sizes``: of each one's error.")
      .def_static(
          "size_of",
          [](const Values& weights, std::size_t slots, double scale) {
            require(weights.size() > 0 && slots > 0, "no weights");
            return Alike::size_of(view(weights), slots, scale);
          },
          "weights"_a, "slots"_a, "scale"_a)
      .def_prop_ro("largest_growth", &Alike::largest_growth)
      .def(
          "growth",
          [](const Alike& x, const Values& values) {
            require(x.differ() || values.size() == x.places.size(), "values of another size");
            return x.growth(view(values));
          },
          "values"_a);
  k.def(
       "rotated",
       [](const Known& x, std::int64_t steps, bool masked, double added, double rounded) {
         require(steps >= 0 && static_cast<std::size_t>(steps) < size_of(x),
                 "steps out of the values");
         return released(x, [&] { return x.rotated(steps, masked, added, rounded); });
       },
       "steps"_a, "masked"_a, "added"_a, "rounded"_a = 0.0)
      .def(
          "mapped",
          [](const Known& x, const nb::object& f, double l1, double l2, bool real, double added,
             double rounded, const std::optional<Alike>& alike, double correlation) {
            const Alike weights = alike.value_or(Alike());
            require(weights.differ() || x.sample() == nullptr ||
                        weights.places.size() == x.sample()->size,
                    "weights of another size");
            return x.mapped(row_map(f), l1, l2, real, added, rounded, weights, correlation);
          },
          "f"_a, "l1"_a, "l2"_a, "real"_a, "added"_a, "rounded"_a = 0.0, "alike"_a = nb::none(),
          "correlation"_a = 1.0)
      .def(
          "through",
          [](const Known& x, const nb::object& f, double slope, double added, double low,
             double high) {
            return x.through(row_map(f, size_of(x)), slope, added, {low, high});
          },
          "f"_a, "slope"_a, "added"_a, "low"_a, "high"_a)
      .def(
          "meant",
          [](const Known& x, const std::optional<Values>& values, double error, bool bounded) {
            return x.meant(values ? of_size(*values, x) : NumbersView(), error, bounded);
          },
          "values"_a.none(), "error"_a, "bounded"_a = false)
      .def(
          "with_common_error",
          [](const Known& x, const Known& source, const Values& sizes, double rest) {
            const NumbersView given = view(sizes);
            require(given.size() == 1 || x.sample() == nullptr || given.size() == x.sample()->size,
                    "errors of another size");
            return x.with_common_error(source, given, rest);
          },
          "source"_a, "sizes"_a, "rest"_a)
      .def(
          "with_common_error",
          [](const Known& x, const Known& source, Complex size) {
            return x.with_common_error(source, size);
          },
          "source"_a, "size"_a)
      .def("plus_error", &Known::plus_error, "added"_a, "seen"_a = nb::none());
}

}  // namespace

void bind_known(nb::module_& m) {
  nb::class_<Known> k(m, "Known",
                      "Range and error of an encrypted array, with samples where there are some. "
                      "Immutable.");
  bind_facts(k);
  bind_places(k);
  bind_sums_and_products(k);
  bind_maps(m, k);
  m.def(
      "range_of_sample",
      [](const Values& sample, bool real) { return Range::of_sample(view(sample), real); },
      "sample"_a, "real"_a);
  m.def(
      "rounding",
      [](const Values& plain, int slots, double scale) {
        return to_numpy(session::rounding(view(plain), slots, scale));
      },
      "plain"_a, "slots"_a, "scale"_a);
}

}  // namespace latticino::python
