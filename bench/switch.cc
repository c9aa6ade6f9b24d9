// Slots through tables of TFHE and back: the whole round trip and its parts, and errors.
//   bench_switch --device cuda --set switch-n16-d40-v1 --slots 64,256,1024 --replay 1
// Every value goes through 1 / (1 + exp(-x)), |x| <= 8. Parts always run at once, one by one.
#include <cstdio>

#include "common.h"
#include "switch/client.h"
#include "switch/switcher.h"
#include "world.h"

namespace latticino::bench {
namespace {

using switching::Samples;
using switching::Switcher;

constexpr double kBound = 8;
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

class SwitchBench {
 public:
  explicit SwitchBench(const Arguments& arguments)
      : arguments_(arguments),
        params_(switch_preset(arguments.text("set"))),
        world_(params_->ckks().name(),
               make_backend(arguments.text("device"), arguments.number("threads"))),
        context_(switching::Context::create(params_, world_.context())) {
    const Stopwatch watch;
    const tfhe::SecretKey secret = switching::generate_secret(*params_, random_);
    keys_ = switching::make_switch_keys(*context_, world_.secret(), secret, random_);
    world_.queue().synchronize();
    std::printf("%s: %.3f GB of switching keys in %.1f s\n", params_->name().c_str(),
                static_cast<double>(keys_->bytes()) / 1e9, watch.seconds());
  }

  void run(int slots, std::vector<Row>& rows) {
    const switching::SwitchOptions options{slots, kBound};
    const DryRun dry = dry_run(params_->shared_ckks(), params_->ckks().bootstrap()->stc_levels,
                               slots, round_trip(options));
    world_.make_keys(dry.request);
    const Switcher switcher(context_, keys_, options);
    const switching::Table table = switching::make_table(context_, sigmoid, kBound);
    std::vector<Complex> z = world_.message("real", slots);
    for (Complex& v : z) v *= kBound;
    const Ciphertext x = world_.encrypt(z, switcher.input_level());
    Ciphertext y;
    const auto whole = [&] { y = switcher.apply(world_.evaluator(), x, table); };
    add(rows, "round_trip", slots, arguments_.flag("replay") ? replayed(whole) : timed(whole));
    Errors errors;
    std::vector<Complex> want;
    for (const Complex v : z) want.push_back(sigmoid(v.real()));
    errors.add(want, world_.decrypt(y));
    std::printf("  slots %5d: keys %.2f GB, mean error %.2f bits (predicted %.2f), largest %.2f\n",
                slots, static_cast<double>(dry.key_bytes) / 1e9, errors.mean_bits(),
                -std::log2(table.report.mean), errors.max_bits());
    parts(rows, switcher, table, x);
  }

 private:
  Setup round_trip(const switching::SwitchOptions& options) const {
    return [this, options](const std::shared_ptr<const ckks::Context>& dry) -> Program1 {
      const auto context = switching::Context::create(params_, dry);
      const auto switcher =
          std::make_shared<Switcher>(context, switching::allocate_switch_keys(*context), options);
      const auto table = std::make_shared<switching::Table>(make_table(context, sigmoid, kBound));
      return [switcher, table](const ckks::Evaluator& evaluator, const Ciphertext& x) {
        switcher->apply(evaluator, x, *table);
      };
    };
  }

  void parts(std::vector<Row>& rows, const Switcher& switcher, const switching::Table& table,
             const Ciphertext& x) {
    const int slots = x.slots;
    Samples samples;
    add(rows, "extract", slots, timed([&] { samples = switcher.extract(world_.evaluator(), x); }));
    add(rows, "tables", slots, timed([&] { switcher.rotated(samples.lwe.view, table); }));
    // Tables, packing and half a bootstrapping.
    add(rows, "look_up", slots,
        timed([&] { switcher.look_up(world_.evaluator(), samples, table); }));
  }

  template <class Work>
  double timed(const Work& work) {
    return median_seconds(world_.queue(), arguments_.number("runs"), work);
  }

  template <class Work>
  double replayed(const Work& work) {
    Program program = world_.queue().record(work);
    return timed([&] { program.run(); });
  }

  void add(std::vector<Row>& rows, const char* what, int slots, double seconds) {
    Row params;
    params.add("slots", slots).add("set", params_->name());
    params.add("threads", arguments_.number("threads"));
    Row row =
        world_.row(std::string("switch.") + what, seconds * 1e3, "ms", arguments_.number("runs"));
    const bool replay = arguments_.flag("replay") && std::string(what) == "round_trip";
    row.add("mode", replay ? "replay" : "immediate").add("params", params);
    row.add("commit", arguments_.text("commit")).add("date", today());
    rows.push_back(row);
    std::printf("  slots %5d %-10s %10.3f ms\n", slots, what, seconds * 1e3);
    std::fflush(stdout);
  }

  const Arguments& arguments_;
  std::shared_ptr<const SwitchParams> params_;
  rlwe::Random random_;
  World world_;
  std::shared_ptr<const switching::Context> context_;
  std::shared_ptr<const switching::SwitchKeys> keys_;
};

}  // namespace
}  // namespace latticino::bench

int main(int argc, char** argv) {
  using namespace latticino;
  return bench::run_rows(argc, argv,
                         {{"device", "cpu"},
                          {"threads", "1"},
                          {"set", "switch-n16-d40-v1"},
                          {"slots", "64,256,1024"},
                          {"replay", "0"},
                          {"runs", "5"}},
                         [](const bench::Arguments& arguments) {
                           std::vector<bench::Row> rows;
                           bench::SwitchBench run(arguments);
                           for (const int n : bench::numbers(arguments.text("slots"))) {
                             run.run(n, rows);
                           }
                           return rows;
                         });
}
