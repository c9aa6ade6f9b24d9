/// \file
/// Programs that are recorded once and replayed: a CUDA graph on the GPU, fixed memory everywhere.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
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

/// A program's result of a list of arrays.
template <class Result>
struct Rebuilt;
template <>
struct Rebuilt<Array> {
  static Array of(const std::vector<Array>& list) { return list.front(); }
};
template <>
struct Rebuilt<std::vector<Array>> {
  static std::vector<Array> of(std::vector<Array> list) { return list; }
};
template <>
struct Rebuilt<std::pair<Array, Array>> {
  static std::pair<Array, Array> of(const std::vector<Array>& list) { return {list[0], list[1]}; }
};
}  // namespace detail

/// A recorded program that gives a `Result`: an Array, a vector or a pair of arrays. Threads may
/// share it; runs take turns.
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
    return detail::Rebuilt<Result>::of(recorded_.run(list));
  }
  /// Device memory that the recording keeps for itself.
  std::uint64_t arena_bytes() const { return recorded_.arena_bytes(); }

 private:
  detail::Recorded recorded_;
};

/// Records `program` for arguments like these. It calls `program` a few times, and plain operands
/// become constants of the recording. An array that `program` stores somewhere else raises
/// ContextError when it is used.
template <class Program, class... Examples>
auto record(Program&& program, const Examples&... examples) {
  using Result = std::decay_t<std::invoke_result_t<Program&, const Examples&...>>;
  const std::array<Array, sizeof...(Examples)> list{examples...};
  return Recording<Result>(detail::Recorded(detail::of_lists<sizeof...(Examples)>(program), list));
}

}  // namespace latticino
