/// \file
/// Programs that are recorded once and replayed: a CUDA graph on the GPU, fixed memory everywhere.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "latticino/plan.h"

namespace latticino {

namespace session {
class RecordedArrays;
}  // namespace session

namespace detail {
/// A recorded program of lists of arrays. Copies are handles of one recording.
class LATTICINO_API Recorded {
 public:
  Recorded(const ListProgram& program, std::span<const Array> examples);
  std::vector<Array> run(std::span<const Array> arguments) const;
  std::uint64_t arena_bytes() const;
  // Moving copies the handle, so that both stay usable.
  Recorded(const Recorded&) = default;
  Recorded& operator=(const Recorded&) = default;

 private:
  std::shared_ptr<session::RecordedArrays> state_;
};

/// A result of a program, out of the next arrays of a list.
template <class Result>
struct Rebuilt;
template <>
struct Rebuilt<Array> {
  static Array next(std::span<const Array>& list) {
    const Array first = list.front();
    list = list.subspan(1);
    return first;
  }
};
template <std::size_t n>
struct Rebuilt<std::array<Array, n>> {
  static std::array<Array, n> next(std::span<const Array>& list) {
    return [&]<std::size_t... i>(std::index_sequence<i...>) {
      return std::array<Array, n>{(static_cast<void>(i), Rebuilt<Array>::next(list))...};
    }
    (std::make_index_sequence<n>());
  }
};
template <class A, class B>
struct Rebuilt<std::pair<A, B>> {
  static std::pair<A, B> next(std::span<const Array>& list) {
    return std::pair<A, B>{Rebuilt<A>::next(list), Rebuilt<B>::next(list)};
  }
};
template <class... Each>
struct Rebuilt<std::tuple<Each...>> {
  static std::tuple<Each...> next(std::span<const Array>& list) {
    return std::tuple<Each...>{Rebuilt<Each>::next(list)...};
  }
};
/// Whether a recording can give such a result: the types say how many arrays it has, or it is one
/// vector.
template <class Result>
concept Rebuildable = std::same_as<Result, std::vector<Array>> ||
    requires(std::span<const Array>& list) {
  Rebuilt<Result>::next(list);
};
}  // namespace detail

/// A recorded program that gives a `Result`: an Array, a vector of arrays, or a pair, a tuple or a
/// std::array of them. Threads may share it; runs take turns.
template <class Result>
class Recording {
 public:
  /// \cond
  explicit Recording(const detail::Recorded& recorded) : recorded_(recorded) {}
  /// \endcond
  /// Runs the recording on arguments like those that it was recorded with; gives fresh arrays.
  /// ContextError, KeyError, ShapeError, LevelError or ScaleError for others.
  template <class... Arguments>
  Result operator()(const Arguments&... arguments) const {
    const std::array<Array, sizeof...(Arguments)> list{arguments...};
    std::vector<Array> results = recorded_.run(list);
    if constexpr (std::same_as<Result, std::vector<Array>>) {
      return results;
    } else {
      std::span<const Array> left = results;
      return detail::Rebuilt<Result>::next(left);
    }
  }
  /// Device memory that the recording keeps for itself.
  std::uint64_t arena_bytes() const { return recorded_.arena_bytes(); }

 private:
  detail::Recorded recorded_;
};

/// Records `program` for arguments like these. It calls `program` a few times, and plain operands
/// become constants of the recording. Its result is an Array, a vector of arrays, or a pair, a
/// tuple or a std::array of them. An array that `program` stores somewhere else raises ContextError
/// when it is used.
template <class Program, class... Examples>
auto record(Program&& program, const Examples&... examples) {
  using Result = std::decay_t<std::invoke_result_t<Program&, const Examples&...>>;
  static_assert(detail::Rebuildable<Result>,
                "a recorded program gives an Array, a vector of arrays, or a pair, a tuple or a "
                "std::array of arrays");
  const std::array<Array, sizeof...(Examples)> list{examples...};
  return Recording<Result>(detail::Recorded(detail::of_lists<sizeof...(Examples)>(program), list));
}

}  // namespace latticino
