// Ceilings of a CPU: products of integers and of doubles in the widest registers that the library's
// kernels use, and bytes per second from each level of its caches.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <memory>
#include <thread>

#include "backend/cpu_choice.h"
#include "ceilings/ceilings.h"
#include "ceilings/cpu_loops.h"

namespace latticino::bench {
namespace {

constexpr std::uint64_t kSteps = 1 << 22;
constexpr std::size_t kKiB = 1024, kMiB = kKiB * kKiB;

// The same loops in plain code, number by number.
template <class T, class Step>
T by_numbers(int lanes, std::uint64_t steps, const std::function<T(int, int)>& first,
             const Step& step) {
  T total = 0;
  for (int i = 0; i < kSums; ++i) {
    for (int l = 0; l < lanes; ++l) {
      T x = first(i, l);
      for (std::uint64_t s = 0; s < steps; ++s) x = step(x, l);
      total += x;
    }
  }
  return total;
}

void check(const Loops& loops) {
  constexpr std::uint64_t kFew = 1000;
  const int lanes = loops.bytes / 8;
  const auto words = by_numbers<std::uint64_t>(
      lanes, kFew, [&](int i, int l) { return std::uint64_t(1 + i * lanes + l); },
      [](std::uint64_t x, int l) {
        return (x & 0xffffffffu) * std::uint64_t{0x9e3779b1u + 2u * l} + 3 + l;
      });
  require_right(loops.multiply(kFew) == words, "integers");
  const auto doubles = by_numbers<double>(
      lanes, kFew, [](int i, int) { return double(i); },
      [](double x, int l) { return x * 0.5 + l; });
  require_right(loops.fused(kFew) == doubles, "doubles");
  std::vector<std::uint64_t> data(512);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < data.size(); ++i) sum ^= data[i] = 0x9e3779b97f4a7c15u * (i + 1);
  std::unique_ptr<char, decltype(&std::free)> aligned(
      static_cast<char*>(std::aligned_alloc(64, 4096)), &std::free);
  std::memcpy(aligned.get(), data.data(), 4096);
  require_right(loops.read(aligned.get(), 4096, 1) == sum, "bytes read");
}

double processor_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Seconds of each run of `body(thread)` on all threads at once: the time until the last one ends,
// or the processor time of the slowest one.
std::vector<double> timed_runs(int threads, int runs, Clock clock,
                               const std::function<void(int)>& body) {
  std::vector<double> seconds, used(threads);
  for (int run = -1; run < runs; ++run) {
    const auto counted = [&](int t) {
      const double before = processor_seconds();
      body(t);
      used[t] = processor_seconds() - before;
    };
    const Stopwatch watch;
    std::vector<std::thread> others;
    for (int t = 1; t < threads; ++t) others.emplace_back(counted, t);
    counted(0);
    for (std::thread& t : others) t.join();
    const double wall = watch.seconds();
    if (run >= 0) seconds.push_back(clock == Clock::Wall ? wall : std::ranges::max(used));
  }
  return seconds;
}

// The size that Linux states, or 0 if it states none.
std::size_t cache_bytes(int index) {
  std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size");
  std::size_t size = 0;
  char unit = 'K';
  if (!(file >> size >> unit)) return 0;
  return size * (unit == 'M' ? kMiB : kKiB);
}

volatile std::uint64_t sink;
volatile double sink_of_doubles;

}  // namespace

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "a CPU";
}

std::vector<Ceiling> cpu_ceilings(int threads, int runs, Clock clock) {
  const std::string kernels = cpu_choice().kernels;
  const Loops& loops = kernels == "avx512" ? avx512_loops()
                       : kernels == "avx2" ? avx2_loops()
                                           : plain_loops();
  check(loops);
  std::vector<Ceiling> out;
  const auto add = [&](const std::string& name, const char* unit, double work, std::size_t bytes,
                       const std::function<void(int)>& body) {
    Row params;
    params.add("threads", threads).add("kernels", kernels);
    params.add("clock", clock == Clock::Wall ? "wall" : "processor");
    if (bytes > 0) params.add("bytes", std::uint64_t{bytes});
    out.push_back(
        {name, unit, rate_of(work * threads, timed_runs(threads, runs, clock, body)), params});
  };
  const double lanes = loops.bytes / 8;
  const double products = lanes * kSums * kSteps;
  add("multiply", "1/s", products, 0, [&](int) { sink = loops.multiply(kSteps); });
  add("double", "1/s", products, 0, [&](int) { sink_of_doubles = loops.fused(kSteps); });
  // Each thread reads memory of its own: half of its L1, half of its L2, then what no cache holds.
  const std::size_t l1 = std::max(cache_bytes(0), 32 * kKiB),
                    l2 = std::max(cache_bytes(2), 256 * kKiB);
  const std::size_t l3 = cache_bytes(3), large = std::max(2 * l3, 256 * kMiB) / threads;
  const struct {
    const char* name;
    std::size_t bytes, total;
  } reads[] = {{"l1", l1 / 2, 4096 * kMiB}, {"l2", l2 / 2, 1024 * kMiB}, {"memory", large, large}};
  for (const auto& r : reads) {
    const std::size_t bytes = r.bytes / 4096 * 4096;
    std::vector<std::unique_ptr<char, decltype(&std::free)>> own;
    for (int t = 0; t < threads; ++t) {
      own.emplace_back(static_cast<char*>(std::aligned_alloc(4096, bytes)), &std::free);
      std::memset(own.back().get(), t + 1, bytes);
    }
    const std::uint64_t rounds = std::max<std::uint64_t>(r.total / bytes, 1);
    add(r.name, "B/s", double(bytes) * double(rounds), bytes,
        [&](int t) { sink = loops.read(own[t].get(), bytes, rounds); });
    if (std::string(r.name) != "memory") continue;
    // A copy. Each byte that is read and written counts once.
    const std::size_t half = bytes / 2;
    add("copy", "B/s", 2.0 * double(half), bytes,
        [&](int t) { std::memcpy(own[t].get() + half, own[t].get(), half); });
  }
  return out;
}

}  // namespace latticino::bench
