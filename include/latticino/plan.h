/// \file
/// Dry runs: what a program needs, before any key exists.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "latticino/array.h"

namespace latticino {

namespace session {
struct PlanState;
}  // namespace session

namespace detail {

inline void append(std::vector<Array>& out, const Array& x) { out.push_back(x); }
inline void append(std::vector<Array>& out, const std::vector<Array>& x) {
  out.insert(out.end(), x.begin(), x.end());
}
template <std::size_t n>
void append(std::vector<Array>& out, const std::array<Array, n>& x) {
  out.insert(out.end(), x.begin(), x.end());
}
template <class A, class B>
void append(std::vector<Array>& out, const std::pair<A, B>& x) {
  append(out, x.first);
  append(out, x.second);
}
template <class... Each>
void append(std::vector<Array>& out, const std::tuple<Each...>& x) {
  std::apply([&](const auto&... each) { (append(out, each), ...); }, x);
}
/// The results of a program, as a list.
template <class Result>
std::vector<Array> listed(const Result& result) {
  std::vector<Array> out;
  append(out, result);
  return out;
}
/// A program of n arrays as one of a list of arrays.
using ListProgram = std::function<std::vector<Array>(std::span<const Array>)>;
template <std::size_t n, class Program>
ListProgram of_lists(Program& program) {
  return [&program](std::span<const Array> x) {
    return [&]<std::size_t... i>(std::index_sequence<i...>) {
      return listed(std::invoke(program, x[i]...));
    }
    (std::make_index_sequence<n>());
  };
}

}  // namespace detail

/// Stands for an encrypted array in a plan: its shape, its level (-1: fresh) and the range of its
/// values (none: complex values of modulus up to 1 are assumed).
struct Input {
  /// The level and the range are optional.
  Input(Shape of, int at = -1, std::optional<Range> within = std::nullopt)  // NOLINT: implicit
      : shape(std::move(of)), level(at), range(within) {}
  Shape shape;                 ///< lengths of the dimensions; empty for a single value
  int level;                   ///< level of the array; -1: that of fresh encryptions
  std::optional<Range> range;  ///< range of the values; empty: at most 1 in modulus is assumed
};

/// An argument of a program that is planned: an encrypted array, an Input, or values in the clear,
/// which are taken as sample data of a fresh encryption.
class Example {
 public:
  /// \{
  /// Each of these becomes an example by itself.
  Example(Array x) : value(std::move(x)) {}   // NOLINT: implicit, as all of these
  Example(Input x) : value(std::move(x)) {}   // NOLINT
  Example(Values x) : value(std::move(x)) {}  // NOLINT
  Example(std::vector<double> x) : value(Values(std::move(x))) {}   // NOLINT
  Example(std::vector<Complex> x) : value(Values(std::move(x))) {}  // NOLINT
  /// \}
  std::variant<Array, Input, Values> value;  ///< what was given
};

/// An evaluation key that a program needs.
struct PlannedKey {
  std::string name = {};    ///< label of the key
  int level = 0;            ///< the highest level that it is used at
  std::uint64_t bytes = 0;  ///< bytes of device memory
};

/// What a program needs. Print it for a table. Copies share their data.
class LATTICINO_API Plan {
 public:
  std::vector<PlannedKey> keys() const;  ///< the evaluation keys of CKKS
  std::uint64_t key_bytes() const;       ///< bytes of all keys, with those of switching
  std::uint64_t constant_bytes() const;  ///< bytes of encoded matrices
  /// The most device memory in use at once, with keys and inputs.
  std::uint64_t peak_bytes() const;
  std::vector<int> levels() const;   ///< level of the results
  std::vector<Bits> bits() const;    ///< expected precision of the results
  std::uint64_t bootstraps() const;  ///< bootstrappings of CKKS
  std::uint64_t lookups() const;     ///< bootstrappings of TFHE: values that go through tables
  /// Predicted time of the first run, which encodes the constants, from rates measured on such a
  /// device.
  double seconds() const;
  /// Predicted time of a later run, which finds the constants encoded, such as a replay.
  double prepared_seconds() const;
  std::uint64_t bytes_moved() const;       ///< bytes that the program moves
  std::uint64_t operations() const;        ///< records submitted
  std::vector<std::string> notes() const;  ///< what was chosen during the run, and why
  /// Keys of the plan that the bundle lacks, or has for lower levels only.
  std::vector<std::string> missing(const ServerKeys& keys) const;
  std::string str() const;  ///< the table, as text

  /// \cond
  // Moving copies the handle, so that both stay usable.
  Plan(const Plan&) = default;
  Plan& operator=(const Plan&) = default;
  // For the library's own code.
  explicit Plan(std::shared_ptr<const session::PlanState> state) : state_(std::move(state)) {}
  const std::shared_ptr<const session::PlanState>& state() const { return state_; }
  /// \endcond

 private:
  std::shared_ptr<const session::PlanState> state_;
};

/// The plan of running both programs: the union of their keys. ContextError for other parameters.
LATTICINO_API Plan operator|(const Plan& x, const Plan& y);
/// Prints the table of Plan::str.
LATTICINO_API std::ostream& operator<<(std::ostream& out, const Plan& plan);

namespace detail {
LATTICINO_API Plan plan_of(const Context& context, const ListProgram& program,
                           const std::vector<Example>& examples);
}  // namespace detail

/// Runs a program without data, and says what it needs. No keys are needed. Errors of the program,
/// for example LevelError, are thrown here too. ScaleError if values may leave the modulus.
/// \param context the context that the program will use
/// \param program a function with one Array argument per example. It returns an Array, or a vector,
/// array, pair or tuple of arrays.
/// \param examples one for each argument: an encrypted array, an Input or plain values
template <class Program, class... Examples>
Plan plan(const Context& context, Program&& program, const Examples&... examples) {
  return detail::plan_of(context, detail::of_lists<sizeof...(Examples)>(program),
                         {Example(examples)...});
}

}  // namespace latticino
