// How the time of a rotation's key switch grows: with limbs, with N, and with independent rotations
// in one batch.
//   bench_growth --device cuda --output rows.json
// Rows are replayed programs; `footprint_bytes` is the memory that one batch touches. With
// "cold" operands several batches take turns, so that those of a batch have left the cache when its
// turn comes again. With "warm" operands one batch runs again and again, and what fits stays there.
// --stages 48,24,12: the memory of the key switch of a rotation, for each of these numbers of
// limbs. A switch has three stages: conversion up to the digits, products with the key, and
// conversion down to the limbs. A row has the memory that the largest pass of a stage touches, and
// the bytes that all passes of the stage read and write. Nothing is timed, so any device will do.
// --profile 1: nothing is timed. A profiler counts one batch of each such row, in the same order.
//   bench_growth --profile 1 --limbs= --degrees= --batch-limbs 23,47 --batches 1,4,16
#include <cstdio>
#include <set>

#include "math/primes.h"
#include "ops/views.h"
#include "record_cases.h"
#include "support/profiler.h"
#include "support/sample.h"

namespace latticino::bench {
namespace {

constexpr int kAux = 12;  // auxiliary primes, and primes of a digit

std::uint64_t footprint(const std::vector<Operation>& ops) {
  std::set<const std::uint32_t*> limbs;
  std::uint64_t bytes = 0;
  for (const Operation& op : ops) {
    for_each_view(op, [&](const PolyView& v, bool) {
      for (int i = 0; i < v.limbs(); ++i) {
        const bool first = limbs.insert(v.limb(v.basis().prime(i))).second;
        if (first) bytes += sizeof(std::uint32_t) * v.ring->n();
      }
    });
  }
  return bytes;
}

class Growth {
 public:
  explicit Growth(const Arguments& arguments)
      : arguments_(arguments), queue_(make_backend(arguments.text("device"), 0)) {}

  void point(const char* axis, int log_n, int limbs, int batch, bool warm = false) {
    const Ring ring(log_n, ntt_primes_below(log_n, 1u << 30, limbs + kAux));
    Shapes shapes(queue_, ring, limbs, kAux);
    const Case c = shapes.rotations(batch);
    const int rounds = std::max(2, shapes.sets() / batch);
    for (int k = 0; k < rounds; ++k) c.make(k);
    const auto round = [&] {
      for (int k = 0; k < rounds; ++k) {
        for (Operation& op : c.make(warm ? 0 : k)) queue_.submit(std::move(op));
      }
    };
    const std::vector<Operation> ops = c.make(0);
    const bool profile = arguments_.flag("profile");
    Sample sample;
    if (profile) {
      round();
      profiled(
          [&] {
            for (const Operation& op : ops) queue_.submit(Operation(op));
          },
          [&] { queue_.synchronize(); });
    } else {
      sample = replayed(queue_, arguments_.number("runs"), round).over(rounds * batch * 1e-6);
    }
    std::uint64_t moved = 0;
    for (const Operation& op : ops) moved += bytes_moved(op);
    const DeviceInfo device = queue_.device();
    Row params, row;
    params.add("N", ring.n()).add("limbs", limbs).add("aux", kAux).add("batch", batch);
    row.add("name", "growth.rotate").add("axis", axis);
    row.add("operands", warm ? "warm" : "cold");
    sample.add_to(row, "us");
    row.add("device", device.name).add("backend", device.backend);
    row.add("mode", profile ? "profiled" : "replayed");
    row.add("preset", "none").add("params", params);
    row.add("bytes_moved", moved / batch).add("footprint_bytes", footprint(ops));
    row.add("commit", arguments_.text("commit")).add("date", today());
    rows_.push_back(row);
    std::printf("%-6s N = 2^%d, %2d limbs, batch %2d, %s: %8.2f us each, footprint %7.1f MB\n",
                axis, log_n, limbs, batch, warm ? "warm" : "cold", sample.median,
                1e-6 * static_cast<double>(footprint(ops)));
    std::fflush(stdout);
  }

  // The stages of a key switch as Theodosian's Table III has them. With at most one limb more than
  // the digits have, there are also rows in which all limbs are one digit, as in parameter sets.
  void stages(int log_n, int limbs) {
    const Ring ring(log_n, ntt_primes_below(log_n, 1u << 30, limbs + kAux));
    Shapes shapes(queue_, ring, limbs, kAux);
    for (const Case& c : shapes.cases()) {
      const bool one = c.name == "ckks.rotate_one_digit";
      if (!one && c.name != "ckks.rotate") continue;
      const std::vector<Operation> ops = c.make(0);
      const auto add = [&](int stage, std::size_t first, std::size_t count) {
        std::uint64_t most = 0, moved = 0;
        for (std::size_t i = first; i < first + count; ++i) {
          // A view of a key has limbs that the pass leaves alone; their bytes are not moved.
          most = std::max(most, std::min(footprint({ops[i]}), bytes_moved(ops[i])));
          moved += bytes_moved(ops[i]);
        }
        Row params, row;
        params.add("N", ring.n()).add("limbs", limbs).add("aux", kAux);
        params.add("one_digit", int{one}).add("stage", stage);
        row.add("name", "growth.stage").add("value", most).add("unit", "bytes");
        row.add("preset", "none").add("params", params).add("bytes_moved", moved);
        row.add("commit", arguments_.text("commit")).add("date", today());
        rows_.push_back(row);
        std::printf("stage %d, N = 2^%d, %2d limbs%s: footprint %6.1f MB, moved %6.1f MB\n", stage,
                    log_n, limbs, one ? ", one digit" : "", 1e-6 * static_cast<double>(most),
                    1e-6 * static_cast<double>(moved));
      };
      add(1, 0, 2);
      add(2, 2, 1);
      add(3, 3, 2);
    }
  }

  int run() {
    const int log_n = arguments_.number("log-n");
    for (const int limbs : arguments_.numbers("stages")) stages(log_n, limbs);
    for (const int limbs : arguments_.numbers("limbs")) point("limbs", log_n, limbs, 1);
    for (const int log : arguments_.numbers("degrees")) {
      point("N", log, arguments_.number("degree-limbs"), 1);
    }
    for (const int limbs : arguments_.numbers("batch-limbs")) {
      for (const int batch : arguments_.numbers("batches")) {
        point("batch", log_n, limbs, batch);
        point("batch", log_n, limbs, batch, true);
      }
    }
    write_rows(rows_, arguments_.text("output"));
    return 0;
  }

 private:
  const Arguments& arguments_;
  Queue queue_;
  std::vector<Row> rows_;
};

}  // namespace
}  // namespace latticino::bench

int main(int argc, char** argv) {
  using namespace latticino;
  return bench::run_program(
      argc, argv,
      {{"device", "cuda"},
       {"log-n", "16"},
       {"limbs", "2,4,7,10,13,16,20,23,28,35,41,47"},
       {"degrees", "13,14,15,16,17"},
       {"degree-limbs", "13"},
       {"batch-limbs", "7,13,23"},
       {"batches", "1,2,4,8,16,32,64"},
       {"stages", ""},
       {"runs", "15"},
       {"profile", "0"}},
      [](const bench::Arguments& arguments) { return bench::Growth(arguments).run(); });
}
