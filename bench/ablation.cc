// What each step of the design gives: key switching at several numbers of limbs and full-slot
// bootstrapping, first with everything left out and one step more at a time, then with everything
// but one step. Every run must give the same ciphertext, bit for bit.
//   bench_ablation --device cuda --output rows.json
#include <cstdio>

#include "chain.h"
#include "math/primes.h"
#include "record_cases.h"
#include "sample.h"
#include "trace.h"
#include "world.h"

namespace latticino::bench {
namespace {

constexpr int kAux = 12;  // auxiliary primes, and primes of a digit

struct Step {
  const char* name;
  const char* left_out;  // features.h
  bool hoisting = true;  // without: rotations one after the other, with minimal keys
  int batch = 1;         // independent rotations at once (key switching only)
};
// In the order of the papers' tables (Cheddar, Table 8; Theodosian, Fig. 7 and 8).
constexpr Step kSteps[] = {
    {"unfused", "tiles,inner,last_step,sums,batches,graphs,tuning", false},
    {"+ kernel variants", "tiles,inner,last_step,sums,batches,graphs", false},
    {"+ sequential fusion", "tiles,sums,batches,graphs", false},
    {"+ parallel fusion", "tiles,graphs", false},
    {"+ tiles", "graphs", false},
    {"+ graph", "", false},
    {"+ hoisting", "", true},
    {"+ batch of 4", "", true, 4},
    {"+ batch of 16", "", true, 16},
    {"all but tiles", "tiles"},
    {"all but fused inner products", "inner"},
    {"all but the fused last step", "last_step"},
    {"all but long sums", "sums"},
    {"all but batches", "batches"},
    {"all but graphs", "graphs"},
    {"all but tuned variants", "tuning"},
};

class Ablation {
 public:
  explicit Ablation(const Arguments& arguments)
      : arguments_(arguments),
        runs_(arguments.number("runs")),
        world_(arguments.text("preset"), backend(arguments.text("device"))) {}

  int run() {
    for (const int limbs : numbers(arguments_.text("limbs"))) key_switch(limbs);
    if (world_.params()->bootstrap()) bootstrap();
    write_rows(rows_, arguments_.text("output"));
    return equal_ ? 0 : 1;
  }

 private:
  std::unique_ptr<Backend> backend(const std::string& device) {
    const bool cuda = device == "cuda";
    if (cuda) shipped_ = Tuning::shipped(make_cuda_backend()->info().arch);
    return std::make_unique<Trace>(
        make_lowered_backend(
            cuda ? make_cuda_backend({.tuning = tuning_}) : make_backend(device, 0), features_),
        log_);
  }

  void choose(const Step& step) {
    *features_ = Features::without(step.left_out);
    *tuning_ = features_->tuning ? shipped_ : Tuning(shipped_.arch());
  }

  void key_switch(int limbs) {
    Queue& queue = world_.queue();
    const Ring ring(16, ntt_primes_below(16, 1u << 30, limbs + kAux));
    Shapes shapes(queue, ring, limbs, kAux);
    overlap(limbs);
    for (const Step& step : kSteps) {
      if (step.name == std::string("+ hoisting")) continue;  // of several rotations
      choose(step);
      const Case c = shapes.rotations(step.batch);
      const int rounds = std::max(2, shapes.sets() / step.batch);
      for (int k = 0; k < rounds; ++k) c.make(k);
      const Sample sample = replayed(queue, runs_, [&] {
                              for (int k = 0; k < rounds; ++k) {
                                for (Operation& op : c.make(k)) queue.submit(std::move(op));
                              }
                            }).over(rounds * step.batch * 1e-6);
      Row sizes;
      sizes.add("N", ring.n()).add("limbs", limbs).add("aux", kAux).add("batch", step.batch);
      add("ablation.rotate", step, sample, "us", sizes);
    }
  }

  // Rotations of two programs on two streams, at once and one program after the other.
  void overlap(int limbs) {
    if (arguments_.text("device") != "cuda") return;
    Side sides[2] = {Side(limbs), Side(limbs)};
    const auto both = [&](bool at_once) {
      return timed(
          runs_,
          [&] {
            for (Side& side : sides) {
              side.program->run();
              if (!at_once) side.queue.synchronize();
            }
          },
          [&] {
            for (Side& side : sides) side.queue.synchronize();
          });
    };
    both(true);
    *features_ = Features{};
    Row sizes;
    sizes.add("N", sides[0].ring.n()).add("limbs", limbs).add("aux", kAux).add("batch", 1);
    const double count = 2e-6 * sides[0].shapes.sets();
    add("ablation.rotate", {"two programs in turn", ""}, both(false).over(count), "us", sizes);
    add("ablation.rotate", {"two programs at once", ""}, both(true).over(count), "us", sizes);
  }

  struct Side {
    explicit Side(int limbs)
        : queue(make_cuda_backend()),
          ring(16, ntt_primes_below(16, 1u << 30, limbs + kAux)),
          shapes(queue, ring, limbs, kAux),
          rotation(shapes.rotations(1)) {
      for (int k = 0; k < shapes.sets(); ++k) rotation.make(k);
      program = std::make_unique<Program>(queue.record([&] {
        for (int k = 0; k < shapes.sets(); ++k) {
          for (Operation& op : rotation.make(k)) queue.submit(std::move(op));
        }
      }));
    }
    Queue queue;
    Ring ring;
    Shapes shapes;
    Case rotation;
    std::unique_ptr<Program> program;
  };

  void bootstrap() {
    const std::shared_ptr<const Params>& params = world_.params();
    const int slots = params->max_slots();
    rlwe::KeyRequest request;
    std::unique_ptr<Bootstrapper> plans[2];
    for (const bool hoisting : {false, true}) {
      BootstrapOptions options;
      options.minimal_keys = !hoisting;
      for (const auto& [label, level] : dry_run(params, 0, slots, bootstrapping(options)).request) {
        request[label] = std::max(request[label], level);
      }
      plans[hoisting] = std::make_unique<Bootstrapper>(world_.context(), options);
    }
    world_.make_keys(request);
    const Ciphertext x = world_.encrypt(world_.message("complex", slots), 0);
    Row sizes;
    sizes.add("N", params->n()).add("limbs", params->limbs(params->top_level()));
    sizes.add("slots", slots).add("batch", 1);
    std::vector<std::uint32_t> want[2];
    for (const Step& step : kSteps) {
      if (step.batch > 1) continue;
      choose(step);
      Ciphertext y;
      const auto body = [&] { y = plans[step.hoisting]->bootstrap(world_.evaluator(), x); };
      const Sample sample = replayed(world_.queue(), runs_, body).over(1e-3);
      if (step.name == std::string("+ hoisting")) add_chain(sizes);
      add("ablation.bootstrap", step, sample, "ms", sizes);
      std::vector<std::uint32_t> words;
      for (const Poly& part : y.parts) {
        std::vector<std::uint32_t> host(static_cast<std::size_t>(part.view.limbs()) * params->n());
        world_.queue().download(host.data(), part.view);
        words.insert(words.end(), host.begin(), host.end());
      }
      std::vector<std::uint32_t>& first = want[step.hoisting];
      if (first.empty()) first = words;
      if (words != first) {
        equal_ = false;
        std::fprintf(stderr, "WRONG RESULT: %s differs from the first\n", step.name);
      }
    }
  }

  // How much of the bootstrapping recorded last could run side by side.
  void add_chain(const Row& sizes) {
    const Chain chain = chain_of(*log_);
    Row row;
    row.add("name", "ablation.chain").add("value", chain.share).add("unit", "share");
    row.add("records", chain.records).add("longest", chain.longest);
    row.add("preset", world_.params()->name()).add("params", sizes);
    row.add("commit", arguments_.text("commit")).add("date", today());
    rows_.push_back(row);
    std::printf("%d records, %d of them one after the other: %.1f %% of the bytes\n", chain.records,
                chain.longest, 100 * chain.share);
  }

  void add(const char* name, const Step& step, const Sample& sample, const char* unit,
           const Row& sizes) {
    const DeviceInfo device = world_.queue().device();
    Row row;
    row.add("name", name).add("step", step.name).add("left_out", step.left_out);
    row.add("hoisting", int{step.hoisting});
    sample.add_to(row, unit);
    row.add("device", device.name).add("backend", device.backend);
    row.add("mode", features_->graphs ? "replayed" : "launched");
    const bool scheme = std::string(name) == "ablation.bootstrap";
    row.add("preset", scheme ? world_.params()->name() : "none").add("params", sizes);
    row.add("commit", arguments_.text("commit")).add("date", today());
    rows_.push_back(row);
    std::printf("%-20s %-30s %10.3f %s\n", name, step.name, sample.median, unit);
    std::fflush(stdout);
  }

  const Arguments& arguments_;
  int runs_;
  std::shared_ptr<Features> features_ = std::make_shared<Features>();
  std::shared_ptr<Tuning> tuning_ = std::make_shared<Tuning>();
  Tuning shipped_;
  std::shared_ptr<std::vector<Operation>> log_ = std::make_shared<std::vector<Operation>>();
  World world_;
  bool equal_ = true;
  std::vector<Row> rows_;
};

}  // namespace
}  // namespace latticino::bench

int main(int argc, char** argv) {
  using namespace latticino;
  return bench::run_program(
      argc, argv,
      {{"device", "cuda"}, {"preset", "n16-d40-boot-v1"}, {"limbs", "47,23,7"}, {"runs", "9"}},
      [](const bench::Arguments& arguments) { return bench::Ablation(arguments).run(); });
}
