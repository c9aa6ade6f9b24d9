// Which way back to CKKS costs less: both are run dry, and timed by measured rates.
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

// Of the way back for all slots. What both routes share, extraction and tables, is left out.
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

// Keys of route Matvec that take more are not chosen: it trades memory for time.
inline constexpr std::uint64_t kMatvecKeyBudget = std::uint64_t{8} << 30;

// The fastest way for `options` (slots, minimal keys, OverModRaise) with keys of route Matvec of at
// most `budget` bytes; of ways within a twentieth of it, which predictions do not tell apart, the
// one with the smallest keys. options.route Ring or Matvec: among those only. Throws ValueError
// where the budget leaves nothing.
RouteChoice choose_route(const std::shared_ptr<const SwitchParams>& params,
                         const SwitchOptions& options, const RateTable& rates, int threads,
                         std::uint64_t budget = kMatvecKeyBudget);

}  // namespace latticino::switching
