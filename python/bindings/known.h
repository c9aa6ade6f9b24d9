// Claims of encrypted arrays in the form that Python passes: plain values, places in slots, reasons
// why values do not fit.
#pragma once

#include <bit>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "bindings.h"
#include "session/claims/known.h"

namespace latticino::python {

void bind_array_operations(nb::module_& m);
void bind_contents(nb::module_& m);

// Values of an array of any shape, row by row.
using PlainValues = nb::ndarray<const std::complex<double>, nb::c_contig, nb::device::cpu>;
using FlatIndex = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

using Flags = nb::ndarray<const bool, nb::c_contig, nb::device::cpu>;

inline void require(bool fits, const char* what) {
  if (!fits) throw std::invalid_argument(what);
}

inline session::NumbersView view(const PlainValues& values) {
  return {values.data(), values.size()};
}

inline session::NumbersView of_size(const PlainValues& values, const session::Known& known) {
  require(known.sample() == nullptr || values.size() == known.sample()->size,
          "values of another size than the sample's");
  return view(values);
}

inline std::span<const std::int64_t> index_of(const FlatIndex& index, std::size_t size) {
  for (std::size_t i = 0; i < index.size(); ++i) {
    if (index.data()[i] < 0 || static_cast<std::size_t>(index.data()[i]) >= size) {
      throw std::out_of_range("an index outside of the values");
    }
  }
  return {index.data(), index.size()};
}

// Calls f with plain values and with their places in slots; null if these are row by row. Other
// threads may run Python meanwhile.
template <class F>
auto with_places(const session::Known& known, const PlainValues& plain,
                 const std::optional<FlatIndex>& places, std::size_t ciphertexts, int slots, F f) {
  const session::NumbersView values = of_size(plain, known);
  require(std::has_single_bit(static_cast<unsigned>(slots)), "slots that are no power of two");
  session::Places where;
  if (places) {
    require(places->size() == plain.size(), "places of other values");
    where = {index_of(*places, ciphertexts * static_cast<std::size_t>(slots)), ciphertexts};
  }
  const Released other_threads;
  return f(values, places ? &where : nullptr);
}

template <class T>
nb::object array_of(std::span<const T> values) {
  return nb::cast(to_numpy(std::vector<T>(values.begin(), values.end())));
}

// A function of numpy's arrays as a function of rows. `size`: the number of its results, if they
// have one. It may be called without the GIL, but not copied.
inline session::RowMap row_map(const nb::object& f,
                               std::optional<std::size_t> size = std::nullopt) {
  return [f, size](session::NumbersView row) {
    const nb::gil_scoped_acquire held;
    const auto made = nb::cast<PlainValues>(f(array_of(row)));
    require(!size || made.size() == *size, "results of another size");
    const session::NumbersView results = view(made);
    return session::Numbers(results.begin(), results.end());
  };
}

using MisfitTexts = std::vector<std::tuple<std::string, std::string, std::string>>;
inline MisfitTexts texts_of(const std::vector<session::Misfit>& misfits) {
  MisfitTexts out;
  out.reserve(misfits.size());
  for (const session::Misfit& m : misfits) out.emplace_back(m.had, m.needs, m.remedy);
  return out;
}

}  // namespace latticino::python
