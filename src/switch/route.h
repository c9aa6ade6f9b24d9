// Which way back to CKKS costs less. Both are run dry, and measured rates predict their times.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/rates.h"
#include "switch/switcher.h"

namespace latticino::switching {

// "automatic", "ring" or "matvec". ValueError for other words.
const char* name(Route route);
Route route_of(const std::string& name);

// The cost of the way back for all slots. Extraction and tables are not included: both routes have
// them.
struct RouteCost {
  Route route = Route::Ring;
  MatvecShape shape;            // of route Matvec
  double seconds = 0;           // predicted
  std::uint64_t key_bytes = 0;  // of the way back alone: CKKS keys, and its part of SwitchKeys
  int products = 0;             // of route Matvec: ciphertexts of the key
};

struct RouteChoice {
  RouteCost best;
  std::vector<RouteCost> costs;  // Ring first, then all shapes of Matvec that were compared
};

// Route Matvec trades memory for time. Keys of more bytes than this are not chosen.
inline constexpr std::uint64_t kMatvecKeyBudget = std::uint64_t{8} << 30;

// The route for `options` (slots, minimal keys, OverModRaise). Predicted times are not exact enough
// to tell two times apart that differ by less than 4 %. So all routes that close to the
// fastest one count as equally fast, and the one with the smallest keys is taken. Keys of Matvec
// have at most `budget` bytes. If options.route is Ring or Matvec, only that route is considered.
// ValueError if the budget leaves no route.
RouteChoice choose_route(const std::shared_ptr<const SwitchParams>& params,
                         const SwitchOptions& options, const RateTable& rates, int threads,
                         std::uint64_t budget = kMatvecKeyBudget);

}  // namespace latticino::switching
