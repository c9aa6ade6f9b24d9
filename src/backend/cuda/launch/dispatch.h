// Chooses the instantiation of a template by a number known at run time.
#pragma once

#include <type_traits>

namespace latticino::cuda {

// Calls f(std::integral_constant<int, v>) with v = value, which lies in [FIRST, LAST].
template <int FIRST, int LAST, class F>
void dispatch(int value, const F& f) {
  if constexpr (FIRST < LAST) {
    if (value > FIRST) return dispatch<FIRST + 1, LAST>(value, f);
  }
  f(std::integral_constant<int, FIRST>{});
}

}  // namespace latticino::cuda
