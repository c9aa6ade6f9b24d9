// Measures what a device can do at most per second, which rooflines compare kernels with:
//   bench_ceilings --device cpu --threads 2 --output rows.json
//   bench_ceilings --device cuda --output rows.json
// The output has one row per rate. `--clock processor` counts the processor time of the threads
// instead of elapsed time. Use it if other programs run on the machine. Each loop compares its
// result with plain arithmetic.
#include "ceilings/ceilings.h"

namespace latticino::bench {
namespace {

std::vector<Row> run(const Arguments& arguments) {
  const bool gpu = arguments.choice("device", {"cpu", "cuda"}) == "cuda";
  const Clock clock =
      arguments.choice("clock", {"wall", "processor"}) == "wall" ? Clock::Wall : Clock::Processor;
  const int runs = arguments.number("runs"), threads = arguments.number("threads");
  if (runs < 1 || threads < 1) {
    throw ValueError("bench.ceilings", "runs or threads below 1", "at least 1", "correct them");
  }
  const std::vector<Ceiling> ceilings =
      gpu ? gpu_ceilings(runs) : cpu_ceilings(threads, runs, clock);
  const std::string name = gpu ? gpu_name() : cpu_name();
  std::vector<Row> rows;
  std::printf("%s\n", name.c_str());
  for (const Ceiling& c : ceilings) {
    Row row;
    row.add("name", "ceiling." + c.name);
    c.rate.add_to(row, c.unit.c_str());
    row.add("device", name).add("backend", gpu ? "cuda" : "cpu").add("mode", "immediate");
    row.add("preset", "none").add("params", c.params);
    row.add("commit", arguments.text("commit")).add("date", today());
    rows.push_back(row);
    const double giga = c.rate.median / 1e9;
    std::printf("  %-22s %10.1f %s (%.1f to %.1f) %s\n", c.name.c_str(), giga,
                c.unit == "1/s" ? "G/s" : "GB/s", c.rate.low / 1e9, c.rate.high / 1e9,
                c.params.str().c_str());
  }
  return rows;
}

}  // namespace
}  // namespace latticino::bench

int main(int argc, char** argv) {
  using namespace latticino;
  return bench::run_rows(argc, argv,
                         {{"device", "cpu"}, {"threads", "1"}, {"runs", "9"}, {"clock", "wall"}},
                         bench::run);
}
