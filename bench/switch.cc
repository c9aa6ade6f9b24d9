// Slots through tables of TFHE and back: times of the round trip and its parts, memory, errors.
//   bench_switch --device cuda --sets switch-n16-d40-v1 --slots 64,256,1024,32768 --replay 1
//   bench_switch --device cuda --slots 64,256,1024 --dry 1   the predicted cost of both routes back
// --routes: the routes back to be timed, of ring, matvec and automatic. Each has the key made for
// it. --lwe-dimension 1024: the sets get this LWE dimension, and the noise that security then
// needs. Their names say so. With it, times compare with published ones of the same dimension.
// Errors: every function of switch_cases.h is run at each slot count, and at the last one until
// `values` values of each are compared. The program fails if a mean or worst error is larger than
// promised, or if a mean error differs from the predicted one. 2^12 slots and more are timed once.
// The output is written anew after each part, so a run that is stopped keeps the parts before.
#include <cstdio>
#include <optional>

#include "support/common.h"
#include "support/world.h"
#include "switch/client.h"
#include "switch/route.h"
#include "switch_cases.h"

namespace latticino::bench {
namespace {

using switching::Route;
using switching::RouteCost;
using switching::Samples;
using switching::Switcher;
using switching::Table;

constexpr double kBound = 1;
constexpr int kMany = 1 << 12;  // number of slots

// The errors that a set states, relative to half of the range of its inputs.
struct Promise {
  double mean, worst;
};
Promise promise(const SwitchParams& params) {
  const bool precise = params.name().find("precise") != std::string::npos;
  return {precise ? 0x1p-10 : 0x1p-8, 0x1p-6};
}

// The named set, or a set like it whose tables are looked up under a key of another dimension.
std::shared_ptr<const SwitchParams> set_of(const Arguments& arguments, const std::string& name) {
  const auto named = switch_preset(name);
  const int dimension = arguments.number("lwe-dimension");
  if (dimension == 0) return named;
  SwitchLiteral literal = named->literal();
  literal.lwe_dimension = dimension;
  literal.name += "-n" + std::to_string(dimension);
  return SwitchParams::check(named->shared_ckks(), std::move(literal));
}

double bits(double error) { return -std::log2(error); }

switching::RouteChoice choice_of(const Arguments& arguments, const std::string& set, int slots,
                                 Route route) {
  switching::SwitchOptions options{slots, kBound};
  options.route = route;
  const Rates rates = rates_of(arguments.text("device"), arguments.number("threads"));
  return switching::choose_route(set_of(arguments, set), options, rates.table, rates.threads);
}

void print_costs(const Arguments& arguments, const std::string& set, int slots) {
  const switching::RouteChoice choice = choice_of(arguments, set, slots, Route::Automatic);
  for (const RouteCost& cost : choice.costs) {
    std::printf("%s, %5d slots: %-6s", set.c_str(), slots, name(cost.route));
    if (cost.route == Route::Matvec) {
      std::printf(" %5d products of %5d slots,", cost.products, cost.shape.slots);
    }
    std::printf(" keys %6.2f GB, predicted %9.3f ms%s\n", static_cast<double>(cost.key_bytes) / 1e9,
                cost.seconds * 1e3, cost.shape == choice.best.shape ? " (automatic)" : "");
  }
}

void write_so_far(const std::vector<Row>& rows, const Arguments& arguments) {
  if (arguments.text("output") != "-") write_rows(rows, arguments.text("output"));
}

class SwitchBench {
 public:
  SwitchBench(const Arguments& arguments, const std::string& set)
      : arguments_(arguments),
        set_(set),
        params_(set_of(arguments, set)),
        world_(params_->ckks().name(),
               make_backend(arguments.text("device"), arguments.number("threads"))),
        context_(switching::Context::create(params_, world_.context())),
        secret_(switching::generate_secret(*params_, world_.random())) {
    const Stopwatch watch;
    keys_ = switching::make_switch_keys(*context_, world_.secret(), secret_, world_.random());
    for (const SwitchCase& c : switch_cases()) {
      cases_.push_back({c, make_table(context_, c), {}});
      cases_.back().all.emplace(c, cases_.back().table);
    }
    world_.queue().synchronize();
    say("%s, n = %d: %.3f GB of switching keys in %.1f s\n", params_->name().c_str(),
        params_->literal().lwe_dimension, giga(keys_->bytes()), watch.seconds());
  }

  void run(int slots, const std::string& route, bool last, std::vector<Row>& rows) {
    const RouteCost way = choice_of(arguments_, set_, slots, switching::route_of(route)).best;
    switching::SwitchOptions options{slots, kBound};
    options.route = way.route;
    keys_->matvec.clear();
    if (way.route == Route::Matvec) {
      keys_->matvec.emplace(
          way.shape, switching::make_matvec_key(*context_, world_.secret(), secret_, way.shape,
                                                world_.random()));
    }
    const DryRun dry = dry_run(params_->shared_ckks(), params_->ckks().bootstrap()->stc_levels,
                               slots, round_trip(options, way));
    const Stopwatch watch;
    world_.make_keys(dry.request);
    const Switcher switcher(context_, keys_, options);
    world_.queue().synchronize();
    say(" %d slots by route %s: CKKS keys of %.2f GB, switching keys of %.2f GB, matrices of "
        "%.2f GB in %.1f s; the way back predicted in %.3f ms\n",
        slots, name(way.route), giga(dry.key_bytes), giga(keys_->bytes()), giga(switcher.bytes()),
        watch.seconds(), way.seconds * 1e3);
    times(rows, switcher, dry);
    write_so_far(rows, arguments_);
    for (Case& c : cases_) {
      errors(rows, switcher, c, last);
      write_so_far(rows, arguments_);
    }
  }

  // Whether the errors at all slot counts together are right.
  bool verdict(std::vector<Row>& rows) const {
    bool good = true;
    for (const Case& c : cases_) good &= judged(rows, c, *c.all);
    return good;
  }

 private:
  struct Case {
    SwitchCase function;
    Table table;
    std::optional<SwitchErrors> all;
  };

  template <class... Values>
  static void say(const char* format, Values... values) {
    std::printf(format, values...);
    std::fflush(stdout);
  }
  static double giga(std::uint64_t bytes) { return static_cast<double>(bytes) / 1e9; }

  Setup round_trip(const switching::SwitchOptions& options, const RouteCost& way) const {
    return [this, options, way](const std::shared_ptr<const ckks::Context>& dry) -> Program1 {
      const auto context = switching::Context::create(params_, dry);
      std::vector<switching::MatvecShape> shapes;
      if (way.route == Route::Matvec) shapes.push_back(way.shape);
      const auto switcher = std::make_shared<Switcher>(
          context, switching::allocate_switch_keys(*context, shapes), options);
      const auto table = std::make_shared<Table>(make_table(context, cases_.front().function));
      return [switcher, table](const ckks::Evaluator& evaluator, const Ciphertext& x) {
        switcher->apply(evaluator, x, *table);
      };
    };
  }

  void times(std::vector<Row>& rows, const Switcher& switcher, const DryRun& dry) {
    const int slots = switcher.options().slots;
    const Table& table = cases_.front().table;
    const Ciphertext x = world_.encrypt(world_.message("real", slots), switcher.input_level());
    Ciphertext y;
    Samples samples;
    tfhe::Context::Polys rotated;
    world_.queue().reset_peak();
    const double whole = timed(slots, [&] { y = switcher.apply(world_.evaluator(), x, table); });
    Row row = timing("round_trip", slots, whole);
    memory(row, switcher, dry);
    rows.push_back(row);
    const auto part = [&](const char* what, const std::function<void()>& work) {
      rows.push_back(timing(what, slots, timed(slots, work)));
    };
    part("extract", [&] { samples = switcher.extract(world_.evaluator(), x); });
    part("lut", [&] { rotated = switcher.rotated(samples.lwe.view, table); });
    part("repack", [&] { y = switcher.repack(world_.evaluator(), samples, rotated, table); });
  }

  void memory(Row& row, const Switcher& switcher, const DryRun& dry) const {
    const MemoryUse used = world_.queue().device_memory();
    const std::uint64_t predicted = dry.key_bytes + dry.report.peak_bytes;
    row.add("key_bytes", dry.key_bytes).add("switching_key_bytes", std::uint64_t{keys_->bytes()});
    row.add("matrix_bytes", std::uint64_t{switcher.bytes()}).add("dry_peak_bytes", predicted);
    row.add("device_peak_bytes", std::uint64_t{used.peak});
    const Rates rates = rates_of(arguments_.text("device"), arguments_.number("threads"));
    row.add("predicted_ms", 1e3 * predicted_seconds(dry.report, rates.table, rates.threads));
    row.add("levels_left", switcher.output_level());
    say("  memory: %.2f GB predicted for one round trip, %.2f GB taken at most so far\n",
        giga(predicted), giga(used.peak));
  }

  template <class Work>
  double timed(int slots, const Work& work) {
    const int runs = slots < kMany ? arguments_.number("runs") : 1;
    if (!arguments_.flag("replay")) return median_seconds(world_.queue(), runs, work);
    Program program = world_.queue().record(work);
    return median_seconds(
        world_.queue(), runs, [&] { program.run(); }, slots < kMany ? 1 : 0);
  }

  void errors(std::vector<Row>& rows, const Switcher& switcher, Case& c, bool last) {
    const int slots = switcher.options().slots, wanted = arguments_.number("values");
    SwitchErrors here(c.function, c.table);
    do {
      std::vector<Complex> x = world_.message("real", slots);
      for (Complex& v : x) v *= c.function.range();
      const Ciphertext input = world_.encrypt(x, switcher.input_level());
      const std::vector<Complex> y =
          world_.decrypt(switcher.apply(world_.evaluator(), input, c.table));
      for (std::size_t i = 0; i < y.size(); ++i) {
        here.add(x[i].real(), y[i].real());
        c.all->add(x[i].real(), y[i].real());
      }
    } while (last && c.all->count() < wanted);
    rows.push_back(precision(c, here).add("params", shape(slots).add("function", c.function.name)));
    tell(c, here, "");
  }

  bool judged(std::vector<Row>& rows, const Case& c, const SwitchErrors& e) const {
    const Promise p = promise(*params_);
    const double mean = c.function.gentle ? e.mean() : e.argument_mean();
    const double worst = c.function.gentle ? e.largest() : e.argument_largest();
    const bool met = mean <= p.mean && worst <= p.worst, agrees = e.agrees();
    Row row = precision(c, e);
    rows.push_back(row.add("params", Row().add("function", c.function.name)));
    tell(c, e, !met ? "  TARGET MISSED" : !agrees ? "  DIFFERS FROM THE PREDICTION" : "  met");
    return met && agrees;
  }

  void tell(const Case& c, const SwitchErrors& e, const char* verdict) const {
    say("  %-9s %6d values: mean 2^-%.2f (predicted 2^-%.2f), worst 2^-%.2f; of the argument: ",
        c.function.name.c_str(), e.count(), bits(e.mean()), bits(e.predicted()), bits(e.largest()));
    if (e.argument_largest() > 0) {
      say("mean 2^-%.2f, worst 2^-%.2f%s\n", bits(e.argument_mean()), bits(e.argument_largest()),
          verdict);
    } else {
      say("none%s\n", verdict);
    }
  }

  Row precision(const Case& c, const SwitchErrors& e) const {
    Row row = begin("precision", bits(e.mean()), "bits");
    row.add("values", e.count()).add("mean_error_bits", bits(e.mean()));
    row.add("max_error_bits", bits(e.largest())).add("predicted_mean_bits", bits(e.predicted()));
    row.add("slope_at_most_1", int{c.function.gentle});
    if (e.argument_largest() > 0) {
      row.add("argument_mean_error_bits", bits(e.argument_mean()));
      row.add("argument_max_error_bits", bits(e.argument_largest()));
    }
    return row;
  }

  Row timing(const char* what, int slots, double seconds) const {
    say("  %-10s %10.3f ms\n", what, seconds * 1e3);
    Row row = begin(what, seconds * 1e3, "ms");
    row.add("median_of", slots < kMany ? arguments_.number("runs") : 1);
    return row.add("mode", arguments_.flag("replay") ? "replayed" : "immediate")
        .add("params", shape(slots));
  }

  Row shape(int slots) const {
    Row row;
    row.add("slots", slots).add("threads", arguments_.number("threads"));
    row.add("lwe_dimension", params_->literal().lwe_dimension);
    return row.add("route", switching::name(keys_->matvec.empty() ? Route::Ring : Route::Matvec));
  }

  Row begin(const std::string& what, double value, const char* unit) const {
    const DeviceInfo device = context_->queue().device();
    Row row;
    row.add("name", "switch." + what).add("value", value).add("unit", unit);
    row.add("device", device.name).add("backend", device.backend).add("preset", params_->name());
    return row.add("commit", arguments_.text("commit")).add("date", today());
  }

  const Arguments& arguments_;
  std::string set_;
  std::shared_ptr<const SwitchParams> params_;
  World world_;
  std::shared_ptr<const switching::Context> context_;
  tfhe::SecretKey secret_;
  std::shared_ptr<switching::SwitchKeys> keys_;
  std::vector<Case> cases_;
};

int run(const Arguments& arguments) {
  std::vector<Row> rows;
  bool good = true;
  const std::vector<int> slots = arguments.numbers("slots");
  const std::vector<std::string> routes = words(arguments.text("routes"));
  for (const std::string& set : words(arguments.text("sets"))) {
    if (arguments.flag("dry")) {
      for (const int n : slots) print_costs(arguments, set, n);
      continue;
    }
    SwitchBench bench(arguments, set);
    for (const int n : slots) {
      for (const std::string& route : routes) {
        bench.run(n, route, n == slots.back() && route == routes.back(), rows);
      }
    }
    good &= bench.verdict(rows);
  }
  if (!arguments.flag("dry")) write_rows(rows, arguments.text("output"));
  return good ? 0 : 1;
}

}  // namespace
}  // namespace latticino::bench

int main(int argc, char** argv) {
  using namespace latticino;
  return bench::run_program(
      argc, argv,
      {{"device", "cpu"},
       {"threads", "1"},
       {"sets", "switch-n16-d40-v1"},
       {"slots", "64,256,1024"},
       {"values", "10000"},
       {"routes", "automatic"},
       {"lwe-dimension", "0"},
       {"dry", "0"},
       {"replay", "0"},
       {"runs", "5"}},
      [](const bench::Arguments& arguments) { return bench::run(arguments); });
}
