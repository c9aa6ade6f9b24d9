// Which way back to CKKS costs less. Both are run dry, and measured rates predict their times.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/rates.h"
#include "switch/switcher.h"

namespace latticino::switching {

// "automatic", "ring" and "matvec". ValueError for other words.
const char* name(Route route);
Route route_of(const std::string& name);

// The cost of the way back for all slots, without extraction and tables, which both routes share.
struct RouteCost {
  Route route = Route::Ring;
  MatvecShape shape;            // of route Matvec
  double seconds = 0;           // predicted
  std::uint64_t key_bytes = 0;  // of the way back alone: CKKS keys, and its part of SwitchKeys
  int products = 0;             // of route Matvec: ciphertexts of the key
};

struct RouteChoice {
  RouteCost best;
  std::vector<RouteCost> costs;  // Ring first, then the shapes of Matvec that were looked at
};

// Route Matvec trades memory for time. Keys of more bytes than this are not chosen.
inline constexpr std::uint64_t kMatvecKeyBudget = std::uint64_t{8} << 30;

// The route for `options` (slots, minimal keys, OverModRaise). Predictions do not tell times within
// a twentieth of each other apart: among the routes that close to the fastest, the one with the
// smallest keys is taken. Keys of Matvec have at most `budget` bytes. options.route Ring or Matvec
// restricts the choice. Throws ValueError if the budget leaves nothing.
RouteChoice choose_route(const std::shared_ptr<const SwitchParams>& params,
                         const SwitchOptions& options, const RateTable& rates, int threads,
                         std::uint64_t budget = kMatvecKeyBudget);

}  // namespace latticino::switching
