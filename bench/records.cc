// Times every operation record on one backend:
//   bench_records [cuda|cpu] [out.json] [commit] [date] [log_n] [limbs ...]
// Each case is recorded once over several buffer sets, so that the data of one run have left the
// cache when it comes round again; the value is the median of the replays, divided by the sets.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "math/primes.h"
#include "record_cases.h"
#include "records.h"

namespace {

using namespace latticino;

constexpr int kAux = 12, kReplays = 15;

struct Options {
  std::string backend = "cuda", out = "records.json";
  bench::Origin origin;
  int log_n = 16;
  std::vector<int> limbs;
};

Options parse(int argc, char** argv) {
  Options o;
  if (argc > 1) o.backend = argv[1];
  if (argc > 2) o.out = argv[2];
  if (argc > 3) o.origin.commit = argv[3];
  if (argc > 4) o.origin.date = argv[4];
  if (argc > 5) o.log_n = std::atoi(argv[5]);
  for (int i = 6; i < argc; ++i) o.limbs.push_back(std::atoi(argv[i]));
  if (o.limbs.empty()) o.limbs = {47, 23, 13, 7};
  return o;
}

double median_microseconds(Queue& queue, Program& program) {
  std::vector<double> times;
  for (int i = 0; i < kReplays; ++i) {
    const auto start = std::chrono::steady_clock::now();
    program.run();
    queue.synchronize();
    times.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
            .count());
  }
  std::nth_element(times.begin(), times.begin() + kReplays / 2, times.end());
  return times[kReplays / 2];
}

bench::Row measure(Queue& queue, const bench::Case& c, int sets) {
  bench::Row row;
  row.name = c.name;
  for (const Operation& op : c.make(0)) row.bytes_moved += bytes_moved(op);
  for (int k = 1; k < sets; ++k) c.make(k);  // buffers exist before recording
  Program program = queue.record([&] {
    for (int k = 0; k < sets; ++k) {
      for (Operation& op : c.make(k)) queue.submit(std::move(op));
    }
  });
  program.run();
  queue.synchronize();
  row.value = median_microseconds(queue, program) / sets;
  row.median_of = kReplays;
  return row;
}

}  // namespace

int main(int argc, char** argv) {
  const Options o = parse(argc, argv);
  Queue queue(o.backend == "cpu" ? make_cpu_backend() : make_cuda_backend());
  const int most = *std::max_element(o.limbs.begin(), o.limbs.end());
  const Ring ring(o.log_n, ntt_primes_below(o.log_n, 1u << 30, most + kAux));
  std::vector<bench::Row> rows;
  double copy_rate = 0;  // bytes a microsecond: the ceiling of everything bound by memory
  for (const int limbs : o.limbs) {
    bench::Shapes shapes(queue, ring, limbs, kAux);
    for (const bench::Case& c : shapes.cases()) {
      bench::Row row = measure(queue, c, shapes.sets());
      const double rate = row.bytes_moved / row.value;
      if (row.name == "poly.copy") copy_rate = std::max(copy_rate, rate);
      row.device = queue.device().name;
      row.backend = queue.device().backend;
      row.preset = "none";
      row.params = {{"N", ring.n()}, {"limbs", limbs}, {"aux", kAux}, {"batch", 1}};
      row.ceiling_fraction = rate / copy_rate;
      std::printf("%-24s L=%-3d %9.2f us  %7.1f MB  %7.1f GB/s  %5.2f of copy\n", row.name.c_str(),
                  limbs, row.value, row.bytes_moved * 1e-6, rate * 1e-3, row.ceiling_fraction);
      std::fflush(stdout);
      rows.push_back(row);
    }
  }
  bench::write_rows(o.out, rows, o.origin);
}
