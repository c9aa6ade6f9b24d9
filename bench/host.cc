// What the host does for operations that are submitted one by one, not replayed:
//   bench_host --device none: a backend that does nothing, so scheme code and checks alone
//   bench_host --device cuda: with its launches and allocations; the GPU is waited for outside the
//                             time that counts, and keeps up or has a queue to keep them in
// Microseconds an operation, the median of the runs, and records an operation. Times of --device
// none are the process's own (Clock::Processor).
#include <cstdio>
#include <cstring>

#include "support/sample.h"
#include "support/world.h"

namespace latticino::bench {
namespace {

// Hands out addresses that nobody may read, and counts what it is told to run.
class NoBackend : public Backend {
 public:
  explicit NoBackend(std::uint64_t& records) : records_(records) {}
  DeviceInfo info() const override {
    return {"none", make_cpu_backend({true, 1})->info().name, 0, 0};
  }
  void* allocate(std::size_t bytes) override {
    const std::uintptr_t address = next_;
    next_ += (bytes + 255) / 256 * 256;
    return reinterpret_cast<void*>(address);
  }
  void release(void*, std::size_t) noexcept override {}
  void fill(void*, std::size_t, std::uint8_t) override {}
  MemoryUse memory() const override { return {}; }
  void reset_memory_peak() override {}
  void trim() noexcept override {}
  void clear(void*, std::size_t) override {}
  void copy_in(void*, const void*, std::size_t) override {}
  void copy_out(void* host, const void*, std::size_t bytes) override {
    std::memset(host, 0, bytes);
  }
  void upload(const PolyView&, const std::uint32_t*) override {}
  void download(std::uint32_t* host, const PolyView& from) override {
    std::memset(host, 0, sizeof(std::uint32_t) * from.ring->n() * from.limbs());
  }
  void run(const Operation&) override { ++records_; }
  void synchronize() override {}
  void begin_record() override {}
  std::unique_ptr<Replay> end_record() override { return nullptr; }
  void abandon_record() noexcept override {}

 private:
  std::uint64_t& records_;
  std::uintptr_t next_ = std::uintptr_t{1} << 40;
};

class Host {
 public:
  explicit Host(const Arguments& arguments)
      : arguments_(arguments),
        none_(arguments.text("device") == "none"),
        world_(arguments.text("preset"), backend()),
        params_(*world_.params()) {
    BootstrapOptions options;
    options.slots = arguments.number("slots");
    bootstrapper_ = std::make_shared<Bootstrapper>(world_.context(), options);
    DryRun dry = dry_run(world_.params(), 0, options.slots, bootstrapping(options));
    rlwe::KeyRequest request = std::move(dry.request);
    const auto everything = [](const ckks::Evaluator& e, const Ciphertext& x) {
      e.relinearize(e.tensor(x, x));
      for (int step = 1; step <= kHoisted; ++step) e.rotate(x, step);
    };
    const DryRun rest = dry_run(world_.params(), params_.default_level(), params_.max_slots(),
                                [&](const auto&) -> Program1 { return everything; });
    for (const auto& [label, level] : rest.request) {
      request[label] = std::max(request[label], level);
    }
    world_.make_keys(request);
  }

  std::vector<Row> run() {
    for (const int limbs : numbers(arguments_.text("limbs"))) at_level(limbs);
    Ciphertext x = world_.encrypt(world_.message("complex", arguments_.number("slots")), 0);
    time("ckks.bootstrap", 0, 1, [&] { bootstrapper_->bootstrap(world_.evaluator(), x); });
    return std::move(rows_);
  }

 private:
  static constexpr int kHoisted = 8, kBatch = 16;

  std::unique_ptr<Backend> backend() {
    if (none_) return std::make_unique<NoBackend>(records_);
    return make_backend(arguments_.text("device"), 1, arguments_.text("tuning"));
  }

  void at_level(int limbs) {
    const int level = std::min(level_of(params_, limbs), params_.default_level());
    const ckks::Evaluator& e = world_.evaluator();
    const Ciphertext x = world_.encrypt(world_.message("complex", params_.max_slots()), level);
    const Ciphertext y = x;
    std::vector<int> steps;
    for (int i = 1; i <= kHoisted; ++i) steps.push_back(i);
    time("ckks.add", level, kBatch, [&] { e.add(x, y); });
    time("ckks.rescale", level, kBatch, [&] { e.rescale(x); });
    time("ckks.mul_relin_rescale", level, kBatch, [&] { e.multiply(x, y); });
    time("ckks.rotate", level, kBatch, [&] { e.rotate(x, 1); });
    time("ckks.rotate_hoisted", level, 2, [&] { e.rotate_hoisted(x, steps); });
  }

  template <class Operation>
  void time(const char* name, int level, int count, const Operation& operation) {
    Queue& queue = world_.queue();
    operation();  // tables and constants exist from here on
    const std::uint64_t before = records_;
    operation();
    const std::uint64_t records = records_ - before;
    std::vector<double> seconds;
    for (int i = 0; i < arguments_.number("runs"); ++i) {
      queue.synchronize();
      const Sample one = timed(
          1,
          [&] {
            for (int k = 0; k < count; ++k) operation();
          },
          [] {}, none_ ? Clock::Processor : Clock::Wall);
      seconds.push_back(one.median);
    }
    queue.synchronize();
    const Sample sample = sample_of(std::move(seconds)).over(count * 1e-6);
    Row sizes, row;
    sizes.add("N", params_.n()).add("limbs", params_.limbs(level)).add("batch", 1);
    row.add("name", std::string("host.") + name);
    sample.add_to(row, "us");
    const DeviceInfo device = queue.device();
    row.add("device", device.name).add("backend", device.backend).add("mode", "immediate");
    row.add("preset", params_.name()).add("params", sizes);
    if (none_) row.add("clock", "cpu").add("records", records);
    row.add("commit", arguments_.text("commit")).add("date", today());
    std::printf("%-24s %2d limbs: %8.1f us (%.1f .. %.1f)", name, params_.limbs(level),
                sample.median, sample.low, sample.high);
    if (none_) std::printf(", %d records", static_cast<int>(records));
    std::printf("\n");
    std::fflush(stdout);
    rows_.push_back(row);
  }

  const Arguments& arguments_;
  bool none_;
  std::uint64_t records_ = 0;
  World world_;
  const Params& params_;
  std::shared_ptr<Bootstrapper> bootstrapper_;
  std::vector<Row> rows_;
};

}  // namespace
}  // namespace latticino::bench

int main(int argc, char** argv) {
  using namespace latticino;
  return bench::run_rows(
      argc, argv,
      {{"device", "none"},
       {"tuning", ""},
       {"preset", "n16-d40-boot-v1"},
       {"limbs", "23,13,7"},
       {"slots", "256"},
       {"runs", "51"}},
      [](const bench::Arguments& arguments) { return bench::Host(arguments).run(); });
}
