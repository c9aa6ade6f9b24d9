// What the host does for operations that are submitted one by one, and not replayed. With
// `bench_host --device none` the backend does nothing, so only scheme code and checks are measured.
// With `bench_host --device cuda` its launches and allocations are measured as well; waiting for
// the GPU is not part of the time. The output has microseconds per operation, as the median of the
// runs. With --device none it also has records and allocations per operation, and times are
// processor times (Clock::Processor).
#include <cstdio>

#include "backend/idle_backend.h"
#include "support/sample.h"
#include "support/world.h"

namespace latticino::bench {
namespace {

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
    for (const int limbs : arguments_.numbers("limbs")) at_level(limbs);
    Ciphertext x = world_.encrypt(world_.message("complex", arguments_.number("slots")), 0);
    time("ckks.bootstrap", 0, 1, [&] { bootstrapper_->bootstrap(world_.evaluator(), x); });
    return std::move(rows_);
  }

 private:
  static constexpr int kHoisted = 8, kBatch = 16;

  std::unique_ptr<Backend> backend() {
    if (none_) return make_idle_backend(counts_);
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
    const IdleCounts before = *counts_;
    operation();
    const std::uint64_t records = counts_->records - before.records;
    const std::uint64_t allocations = counts_->allocations - before.allocations;
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
    if (none_) row.add("clock", "cpu").add("records", records).add("allocations", allocations);
    row.add("commit", arguments_.text("commit")).add("date", today());
    std::printf("%-24s %2d limbs: %8.1f us (%.1f .. %.1f)", name, params_.limbs(level),
                sample.median, sample.low, sample.high);
    if (none_) {
      std::printf(", %d records, %d allocations", static_cast<int>(records),
                  static_cast<int>(allocations));
    }
    std::printf("\n");
    std::fflush(stdout);
    rows_.push_back(row);
  }

  const Arguments& arguments_;
  bool none_;
  const std::shared_ptr<IdleCounts> counts_ = std::make_shared<IdleCounts>();
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
