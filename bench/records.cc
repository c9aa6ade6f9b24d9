// Times every operation record on one device:
//   bench_records --device cuda --limbs 47,23,13,7 --output rows.json
//   bench_records --only poly.key_inner,ckks.rotate
//   bench_records --aux 13: so many auxiliary primes, and primes of a digit
//   bench_records --batches 16: also the passes of so many rotations by one key, for each of them
//   bench_records --tiles 1: conversions between halves on a GPU, in every tile that can take them
//   bench_records --device cpu --threads 1 --cpu-time 1: what the process used, not what passed
// Each case is recorded once over several buffer sets, so that the data of one run have left the
// cache when it comes round again; the value is the median of the replays, divided by the sets.
// Fractions are of the rate of the copy with the most limbs: what this device's memory gives.
#include <cstdio>

#include "math/primes.h"
#include "record_cases.h"
#include "support/sample.h"

namespace latticino::bench {
namespace {

Sample microseconds(Queue& queue, const Case& c, int sets, int replays, Clock clock) {
  for (int k = 0; k < sets; ++k) c.make(k);  // buffers must exist before recording
  const auto round = [&] {
    for (int k = 0; k < sets; ++k) {
      for (Operation& op : c.make(k)) queue.submit(std::move(op));
    }
  };
  return replayed(queue, replays, round, clock).over(sets * 1e-6);
}

std::uint64_t least_bytes(const Case& c) {
  std::uint64_t bytes = 0;
  for (const Operation& op : c.make(0)) bytes += bytes_moved(op);
  return bytes;
}

// Whether a list of names contains this one. An empty list contains all.
bool listed(const std::string& list, const std::string& name) {
  return list.empty() || ("," + list + ",").find("," + name + ",") != std::string::npos;
}

int run(const Arguments& arguments) {
  const auto tuning = std::make_shared<Tuning>();
  const bool tiles = arguments.flag("tiles");
  const int shared_limit = arguments.number("shared-limit");
  Queue queue(tiles
                  ? make_cuda_backend({.tuning = tuning,
                                       .shared_limit = static_cast<std::size_t>(shared_limit),
                                       .arch = arguments.number("arch")})
                  : make_backend(arguments.text("device"), arguments.number("threads"),
                                 arguments.text("tuning"), shared_limit, arguments.number("arch")));
  const std::vector<int> sizes = arguments.numbers("limbs");
  const int most = *std::max_element(sizes.begin(), sizes.end());
  const int log_n = arguments.number("log-n"), replays = arguments.number("replays");
  const int aux = arguments.number("aux");
  const Clock clock = arguments.flag("cpu-time") ? Clock::Processor : Clock::Wall;
  const Ring ring(log_n, ntt_primes_below(log_n, 1u << 30, most + aux));
  const DeviceInfo device = queue.device();
  std::vector<Row> rows;
  double copy_rate = 0;  // bytes per microsecond
  for (const int limbs : sizes) {
    Shapes shapes(queue, ring, limbs, aux);
    const auto measure = [&](const Case& c, int sets, int batch, int tile = -1, int own = -1) {
      if (!listed(arguments.text("only"), c.name)) return;
      const std::uint64_t bytes = least_bytes(c) / batch;
      const Sample sample = microseconds(queue, c, sets, replays, clock).over(batch);
      const double time = sample.median;
      const double rate = static_cast<double>(bytes) / time;
      if (c.name == "poly.copy") copy_rate = std::max(copy_rate, rate);
      Row params;
      params.add("N", ring.n()).add("limbs", limbs).add("aux", aux).add("batch", batch);
      add_limits(params, arguments);
      if (tile >= 0) params.add("tile", tile).add("rule", own);
      Row row;
      row.add("name", c.name);
      sample.add_to(row, "us");
      row.add("device", device.name).add("backend", device.backend).add("mode", "replayed");
      if (clock == Clock::Processor) row.add("clock", "cpu");
      row.add("preset", "none").add("params", params).add("bytes_moved", bytes);
      if (copy_rate > 0) row.add("ceiling_fraction", rate / copy_rate);
      row.add("commit", arguments.text("commit")).add("date", today());
      rows.push_back(row);
      std::printf("%-24s L=%-3d B=%-3d %9.2f us  %7.1f MB  %7.1f GB/s  %5.2f of copy\n",
                  c.name.c_str(), limbs, batch, time, 1e-6 * static_cast<double>(bytes),
                  1e-3 * rate, copy_rate > 0 ? rate / copy_rate : 0);
      std::fflush(stdout);
    };
    const auto every_tile = [&](const Case& c) {
      if (!listed(arguments.text("only"), c.name)) return;
      tuning->watch(true);
      for (Operation& op : c.make(0)) queue.submit(std::move(op));
      const std::vector<Tuning::Question> seen = tuning->seen();
      tuning->watch(false);
      if (seen.size() != 1 || seen[0].key.kernel != TunedKernel::ConvertTile) return;
      for (int tile = 0; tile < Tuning::kVariants; ++tile) {
        if ((seen[0].can_run >> tile & 1) == 0) continue;
        tuning->force(TunedKernel::ConvertTile, tile);
        std::printf("tile %2d%s ", tile, tile == seen[0].own ? "*" : " ");
        measure(c, shapes.sets(), 1, tile, seen[0].own);
      }
      tuning->force(TunedKernel::ConvertTile, -1);
    };
    for (const Case& c : shapes.cases()) {
      if (tiles) {
        every_tile(c);
      } else {
        measure(c, shapes.sets(), 1);
      }
    }
    for (const int batch : arguments.numbers("batches")) {
      const int sets = std::max(2, shapes.sets() / batch);
      for (const Case& c : shapes.batched_passes(batch)) measure(c, sets, batch);
    }
  }
  write_rows(rows, arguments.text("output"));
  return 0;
}

}  // namespace
}  // namespace latticino::bench

int main(int argc, char** argv) {
  using namespace latticino;
  return bench::run_program(argc, argv,
                            {{"device", "cuda"},
                             {"threads", "0"},
                             {"tuning", ""},
                             {"shared-limit", "0"},
                             {"arch", "0"},
                             {"log-n", "16"},
                             {"aux", "12"},
                             {"limbs", "47,23,13,7"},
                             {"only", ""},
                             {"tiles", "0"},
                             {"batches", ""},
                             {"replays", "15"},
                             {"cpu-time", "0"}},
                            bench::run);
}
