// Chooses the cheaper way back to CKKS. Both ways are run dry, and measured rates predict their
// times.
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
  MatvecShape shape;   // for route Matvec
  double seconds = 0;  // predicted seconds
  // Bytes for the way back alone: CKKS keys, and its part of SwitchKeys.
  std::uint64_t key_bytes = 0;
  int products = 0;  // for route Matvec: ciphertexts of the key
};

struct RouteChoice {
  RouteCost best;
  std::vector<RouteCost> costs;  // first Ring, then all shapes of Matvec that were compared
};

// Route Matvec takes less time and more memory. It is not chosen if its keys take more bytes than
// this.
inline constexpr std::uint64_t kMatvecKeyBudget = std::uint64_t{8} << 30;

// The route for `options` (slots, minimal keys, OverModRaise). Predicted times that differ by less
// than 4 % count as equal, because predictions are not more exact. Of the routes that count as
// equal to the fastest one, the one with the smallest keys is taken. Keys of Matvec have at most
// `budget` bytes. If options.route is Ring or Matvec, only that route is considered. ValueError if
// the budget leaves no route.
RouteChoice choose_route(const std::shared_ptr<const SwitchParams>& params,
                         const SwitchOptions& options, const RateTable& rates, int threads,
                         std::uint64_t budget = kMatvecKeyBudget);

}  // namespace latticino::switching
