#include "switch/route.h"

#include <algorithm>
#include <string>

#include "math/errors.h"

namespace latticino::switching {
namespace {

SwitchOptions with_route(SwitchOptions options, const SwitchParams& params, Route route) {
  if (options.slots == 0) options.slots = params.ckks().max_slots();
  options.route = route;
  options.shadow = {};
  return options;
}

// The bytes of the key of a shape. There may be too many of them to allocate, even without data.
std::uint64_t matvec_bytes(const SwitchParams& params, const MatvecPlan& plan) {
  const Params& ckks = params.ckks();
  return std::uint64_t{2} * plan.diagonals * ckks.limbs(plan.level) * ckks.n() *
         sizeof(std::uint32_t);
}

// Runs dry, on a queue of its own.
RouteCost cost_of(const std::shared_ptr<const SwitchParams>& params, const SwitchOptions& options,
                  const MatvecShape* shape, const RateTable& rates, int threads) {
  const auto ckks = ckks::Context::create_dry(params->shared_ckks());
  const auto context = Context::create(params, ckks);
  const std::span<const MatvecShape> shapes(shape, shape == nullptr ? 0 : 1);
  const auto keys = allocate_switch_keys(*context, shapes);
  const Switcher switcher(context, keys, options);
  const Table table = make_table(
      context, [](double x) { return x; }, options.bound);
  const auto below = std::make_shared<rlwe::KeyRecorder>(ckks->constants());
  const auto above = std::make_shared<rlwe::KeyRecorder>(ckks->constants());
  const int level = switcher.input_level();
  const Basis basis = params->ckks().basis(level);
  ckks::Ciphertext x{ckks, {}, level, params->ckks().scale(level), options.slots, {}};
  for (int h = 0; h < 2; ++h) {
    x.parts.push_back(context->queue().allocate(ckks->ring(), basis, Domain::Eval));
  }
  const Samples samples = switcher.extract(ckks::Evaluator(ckks, below), x);
  const tfhe::Context::Polys rotated = switcher.rotated(samples.lwe.view, table);
  const double before = predicted_seconds(context->queue().report(), rates, threads);
  switcher.repack(ckks::Evaluator(ckks, above), samples, rotated, table);
  RouteCost cost;
  cost.route = switcher.route();
  cost.seconds = predicted_seconds(context->queue().report(), rates, threads) - before;
  cost.key_bytes = above->bytes();
  if (shape == nullptr) {
    cost.key_bytes += keys->to_sparse.bytes() + keys->packing->bytes();
  } else {
    cost.shape = *shape;
    cost.products = switcher.matvec()->plan().diagonals;
    cost.key_bytes += keys->matvec.at(*shape).bytes();
  }
  return cost;
}

}  // namespace

const char* name(Route route) {
  if (route == Route::Automatic) return "automatic";
  return route == Route::Ring ? "ring" : "matvec";
}

Route route_of(const std::string& name) {
  for (const Route route : {Route::Automatic, Route::Ring, Route::Matvec}) {
    if (name == switching::name(route)) return route;
  }
  throw ValueError("switching", "the route '" + name + "'", "automatic, ring or matvec",
                   "name one of these");
}

RouteChoice choose_route(const std::shared_ptr<const SwitchParams>& params,
                         const SwitchOptions& options, const RateTable& rates, int threads,
                         std::uint64_t budget) {
  RouteChoice choice;
  if (options.route != Route::Matvec) {
    const SwitchOptions ring = with_route(options, *params, Route::Ring);
    choice.costs.push_back(cost_of(params, ring, nullptr, rates, threads));
  }
  if (options.route != Route::Ring) {
    const SwitchOptions matvec = with_route(options, *params, Route::Matvec);
    for (const MatvecShape& shape : matvec_shapes(*params, matvec.slots)) {
      if (matvec_bytes(*params, plan_matvec(*params, shape)) > budget) continue;
      choice.costs.push_back(cost_of(params, matvec, &shape, rates, threads));
    }
  }
  if (choice.costs.empty()) {
    throw ValueError("switching.choose_route",
                     "a budget of " + std::to_string(budget) + " bytes for keys of route Matvec",
                     "one that a shape fits into", "raise the budget, or allow route Ring");
  }
  constexpr double kEqualTimes = 1.04;
  const double least =
      std::min_element(choice.costs.begin(), choice.costs.end(),
                       [](const RouteCost& a, const RouteCost& b) { return a.seconds < b.seconds; })
          ->seconds;
  for (const RouteCost& cost : choice.costs) {
    if (cost.seconds > kEqualTimes * least) continue;
    if (choice.best.seconds == 0 || cost.key_bytes < choice.best.key_bytes) choice.best = cost;
  }
  return choice;
}

}  // namespace latticino::switching
