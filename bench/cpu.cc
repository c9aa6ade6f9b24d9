// The CPU backend: CKKS operations at several degrees and sizes, and full-slot bootstrapping.
//   bench_cpu --threads 1,2 --output rows.json
// Other sets than those below: --preset, at the limbs of fresh ciphertexts.
// Times are medians. The peak memory of bootstrapping is that of the process so far, so it comes
// first; that of an operation counts what the queue holds: buffers, keys and inputs.
#include <sys/resource.h>

#include <algorithm>
#include <iostream>

#include "support/world.h"

namespace latticino::bench {
namespace {

constexpr int kHoisted = 8;  // rotations that share one decomposition

struct Set {
  const char* preset;
  std::vector<int> limbs;  // empty: the limbs of fresh ciphertexts
};
const std::vector<Set> kSets = {
    {"n14-d40-leveled-v1", {}}, {"n15-d40-leveled-v1", {}}, {"n16-d40-boot-v1", {47, 23, 13, 7}}};
constexpr const char* kBootstrapSet = "n16-d40-boot-v1";

std::vector<Set> chosen(const std::string& name) {
  return name.empty() ? kSets : std::vector<Set>{{name.c_str(), {}}};
}

std::vector<int> hoisted_steps() {
  std::vector<int> steps;
  for (int i = 1; i <= kHoisted; ++i) steps.push_back(i);
  return steps;
}

std::uint64_t peak_rss() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::uint64_t(usage.ru_maxrss) * 1024;
}

class CpuBenchmark {
 public:
  CpuBenchmark(const Arguments& arguments, int threads)
      : arguments_(arguments), threads_(threads), runs_(arguments.number("runs")) {}

  void bootstrap() {
    const std::string& name = arguments_.text("preset");
    if (!name.empty() && !preset(name)->bootstrap()) return;
    World world(name.empty() ? kBootstrapSet : name, make_cpu_backend({true, threads_}));
    const Params& params = *world.params();
    const int slots = params.max_slots(), runs = arguments_.number("bootstraps");
    const DryRun dry = dry_run(world.params(), 0, slots, bootstrapping({}));
    const Stopwatch watch;
    world.make_keys(dry.request);
    const double key_seconds = watch.seconds();
    const Bootstrapper bootstrapper(world.context());
    const std::vector<Complex> z = world.message("complex", slots);
    const Ciphertext x = world.encrypt(z, 0);
    Ciphertext y;
    const double seconds = median_seconds(
        world.queue(), runs, [&] { y = bootstrapper.bootstrap(world.evaluator(), x); });
    Errors errors;
    errors.add(z, world.decrypt(y));
    Row row = start(world, "ckks.bootstrap", seconds, runs, params.top_level());
    row.add("bytes_moved", dry.report.bytes_moved).add("peak_bytes", peak_rss());
    row.add("key_seconds", key_seconds).add("levels_left", params.level_after_bootstrap());
    row.add("mean_error_bits", errors.mean_bits()).add("max_error_bits", errors.max_bits());
    rows.push_back(row);
  }

  void operations(const Set& set) {
    World world(set.preset, make_cpu_backend({true, threads_}));
    const Params& params = *world.params();
    std::vector<int> levels;
    for (const int limbs : set.limbs) levels.push_back(level_of(params, limbs));
    if (levels.empty()) levels.push_back(params.default_level());
    const std::vector<int> steps = hoisted_steps();
    const auto program = [&](const ckks::Evaluator& e, const Ciphertext& x) {
      e.relinearize(e.tensor(x, x));
      e.rotate_hoisted(x, steps);
    };
    const int slots = params.max_slots();
    world.make_keys(dry_run(world.params(), levels[0], slots, [&](const auto&) -> Program1 {
                      return program;
                    }).request);
    const std::vector<Complex> z = world.message("complex", slots);
    for (const int level : levels) measure(world, z, level);
  }

  std::vector<Row> rows;

 private:
  // The time of each operation, the memory of its buffers and keys, and the precision of its
  // result.
  void measure(World& world, const std::vector<Complex>& z, int level) {
    const ckks::Evaluator& e = world.evaluator();
    const Ciphertext x = world.encrypt(z, level), product = e.relinearize(e.tensor(x, x));
    const std::vector<int> steps = hoisted_steps();
    std::vector<Complex> squares = z, turned = z;
    for (Complex& v : squares) v *= v;
    std::rotate(turned.begin(), turned.begin() + 1, turned.end());
    const auto time = [&](const char* name, double count, const std::vector<Complex>& want,
                          const std::function<Ciphertext()>& body) {
      Ciphertext y;
      world.queue().reset_peak();
      const double seconds = median_seconds(world.queue(), runs_, [&] { y = body(); }) / count;
      Row row = start(world, name, seconds, runs_, level);
      row.add("peak_bytes", world.queue().peak_bytes());
      Errors errors;
      errors.add(want, world.decrypt(y));
      row.add("mean_error_bits", errors.mean_bits()).add("max_error_bits", errors.max_bits());
      rows.push_back(row);
    };
    time("ckks.mul_relin", 1, squares, [&] { return e.relinearize(e.tensor(x, x)); });
    time("ckks.mul_relin_rescale", 1, squares,
         [&] { return e.relinearize_rescale(e.tensor(x, x)); });
    time("ckks.rotate", 1, turned, [&] { return e.rotate(x, 1); });
    time("ckks.rotate_hoisted", kHoisted, turned, [&] { return e.rotate_hoisted(x, steps)[0]; });
    time("ckks.rescale", 1, squares, [&] { return e.rescale(product); });
    time("ckks.encrypt", 1, z, [&] { return world.encrypt(z, level); });
    time("ckks.decrypt", 1, z, [&] { return world.decrypt(x), x; });
  }

  Row start(const World& world, const std::string& name, double seconds, int runs, int level) {
    const Params& params = *world.params();
    Row sizes;
    sizes.add("N", params.n()).add("limbs", params.limbs(level));
    sizes.add("log_q", params.log_q(level)).add("slots", params.max_slots()).add("batch", 1);
    sizes.add("threads", threads_);
    if (name == "ckks.rotate_hoisted") sizes.add("rotations", kHoisted);
    Row row = world.row(name, seconds * 1e3, "ms", runs);
    row.add("params", sizes).add("commit", arguments_.text("commit")).add("date", today());
    std::printf("%-20s %-24s %2d limbs, %d threads: %10.3f ms\n", params.name().c_str(),
                name.c_str(), params.limbs(level), threads_, seconds * 1e3);
    std::fflush(stdout);
    return row;
  }

  const Arguments& arguments_;
  int threads_, runs_;
};

int run(const Arguments& arguments) {
  std::vector<Row> rows;
  for (const int threads : arguments.numbers("threads")) {
    CpuBenchmark benchmark(arguments, threads);
    if (arguments.number("bootstraps") > 0) benchmark.bootstrap();
    for (const Set& set : chosen(arguments.text("preset"))) benchmark.operations(set);
    rows.insert(rows.end(), benchmark.rows.begin(), benchmark.rows.end());
  }
  write_rows(rows, arguments.text("output"));
  return 0;
}

}  // namespace
}  // namespace latticino::bench

int main(int argc, char** argv) {
  using namespace latticino;
  return bench::run_program(
      argc, argv, {{"threads", "1,2"}, {"preset", ""}, {"runs", "5"}, {"bootstraps", "3"}},
      [](const bench::Arguments& arguments) { return bench::run(arguments); });
}
