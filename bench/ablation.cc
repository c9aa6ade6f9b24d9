// What each step of the design gains, for key switching at several numbers of limbs and for
// full-slot bootstrapping. The first steps begin at Cheddar's baseline, and each adds one thing.
// Then come steps that have everything but one thing. Every run of one kind of bootstrapping must
// give the same ciphertext, bit for bit.
// A bootstrapping also has times by class of kernels: the records of each class are replayed in a
// program of their own. The step "+ graph" has such times by ranges of limbs, too.
//   bench_ablation --device cuda --output rows.json
//   --classes 0: without times by class
//   --steps "baseline,+ kernel options": these steps alone
#include <algorithm>
#include <cstdio>
#include <utility>

#include "math/primes.h"
#include "ops/views.h"
#include "record_cases.h"
#include "support/chain.h"
#include "support/sample.h"
#include "support/trace.h"
#include "support/world.h"

namespace latticino::bench {
namespace {

constexpr int kLimbRange = 10;
constexpr int kAux = 12;  // auxiliary primes, and primes of a digit

enum class Of { Both, Rotations, Bootstrapping };
// Bootstrappings, each with one choice more than the one before. Their bits differ.
enum class Plan { MinimalKeys, Hoisted, SlotToCoeffFirst, OverModRaise };
constexpr int kPlans = 4;

BootstrapOptions options_of(Plan plan) {
  BootstrapOptions options;
  options.minimal_keys = plan == Plan::MinimalKeys;
  options.slot_to_coeff_first = plan >= Plan::SlotToCoeffFirst;
  options.over_mod_raise = plan >= Plan::OverModRaise;
  return options;
}

struct Step {
  const char* name;
  const char* left_out;  // see features.h
  Plan plan = Plan::Hoisted;
  Of of = Of::Both;
  int batch = 1;  // rotations that run at once
  // Rotations of one ciphertext by as many keys; otherwise independent rotations by one key.
  bool hoisted = false;
};
constexpr char kEverything[] =
    "tiles,matrix,lazy,twiddles,inner,last_step,sums,key_sums,batches,overlap,graphs,tuning";
// The first five are the steps of Table 8 of Cheddar, as far as they apply here
// (docs/lab/ablation.md). The paper adds its two kernel options in one step. Here lazy reduction
// comes first, and twiddles made on the fly come with "+ kernel options". Cheddar's baseline
// computes the products with a key in one pass, and the polynomials of a ciphertext too, so ours
// does as well. The later steps are in no paper, or in Theodosian's Figs. 7 and 8. Kernels with
// several variants run from "+ tiles" on.
constexpr Step kSteps[] = {
    {"baseline", "tiles,matrix,lazy,twiddles,inner,last_step,sums,overlap,graphs,tuning"},
    {"+ lazy reduction", "tiles,matrix,twiddles,inner,last_step,sums,overlap,graphs,tuning"},
    {"+ kernel options", "tiles,matrix,inner,last_step,sums,overlap,graphs,tuning"},
    {"+ sequential fusion", "tiles,matrix,inner,sums,overlap,graphs,tuning"},
    {"+ parallel fusion", "tiles,matrix,inner,overlap,graphs,tuning"},
    {"+ inner products with transforms", "tiles,matrix,overlap,graphs,tuning"},
    {"+ tiles", "matrix,overlap,graphs,tuning"},
    {"+ matrix units", "overlap,graphs,tuning"},
    {"+ kernel variants", "overlap,graphs"},
    {"+ overlap of launches", "graphs"},
    {"+ graph", ""},
    {"+ SlotToCoeff first", "", Plan::SlotToCoeffFirst, Of::Bootstrapping},
    {"+ OverModRaise", "", Plan::OverModRaise, Of::Bootstrapping},
    {"minimal keys", "", Plan::MinimalKeys, Of::Bootstrapping},
    {"+ 8 hoisted", "", Plan::Hoisted, Of::Rotations, 8, true},
    {"+ batch of 4", "", Plan::Hoisted, Of::Rotations, 4},
    {"+ batch of 16", "", Plan::Hoisted, Of::Rotations, 16},
    {"all but everything", kEverything},
    {"all but tiles", "tiles"},
    {"all but matrix units", "matrix"},
    {"all but matrix units and lazy reduction", "matrix,lazy"},
    {"all but fused inner products", "inner"},
    {"all but the fused last step", "last_step"},
    {"all but long sums", "sums"},
    {"all but batches", "batches"},
    {"all but overlap of launches", "overlap"},
    {"all but graphs", "graphs"},
    {"all but tuned variants", "tuning"},
};

// Classes of kernels, as the papers' breakdowns have them. A record that does several things, such
// as a product with keys and its transforms, is of the class that it ends in.
struct Class {
  const char* name;
  std::vector<const char*> records;
};
const Class kClasses[] = {
    {"transforms", {"Transform"}},        {"conversions", {"Convert", "ModRaise"}},
    {"products with keys", {"KeyInner"}}, {"last steps", {"ModDownFinish"}},
    {"automorphisms", {"Automorphism"}},  {"element-wise", {"Linear", "Tensor", "Dot", "Copy"}}};

class Ablation {
 public:
  explicit Ablation(const Arguments& arguments)
      : arguments_(arguments),
        runs_(arguments.number("runs")),
        steps_(known_steps(arguments.text("steps"))),
        world_(arguments.text("preset"), backend(arguments.text("device"))) {}

  int run() {
    for (const int limbs : arguments_.numbers("limbs")) key_switch(limbs);
    if (world_.params()->bootstrap()) bootstrap();
    write_rows(rows_, arguments_.text("output"));
    return equal_ ? 0 : 1;
  }

 private:
  std::unique_ptr<Backend> backend(const std::string& device) {
    const bool cuda = device == "cuda";
    if (cuda) shipped_ = Tuning::shipped(make_cuda_backend()->info().arch);
    // The log has records as they run. If features are left out, these are simpler records.
    return make_lowered_backend(
        std::make_unique<Trace>(cuda ? make_cuda_backend({.tuning = tuning_, .features = features_})
                                     : make_backend(device, 0),
                                log_),
        features_);
  }

  bool chosen(const Step& step) const {
    return steps_.empty() || std::ranges::find(steps_, step.name) != steps_.end();
  }

  void choose(const char* left_out) {
    *features_ = Features::without(left_out);
    *tuning_ = features_->tuning ? shipped_ : Tuning(shipped_.arch());
  }

  void key_switch(int limbs) {
    Queue& queue = world_.queue();
    const Ring ring(16, ntt_primes_below(16, 1u << 30, limbs + kAux));
    Shapes shapes(queue, ring, limbs, kAux);
    side_by_side(limbs);
    for (const Step& step : kSteps) {
      if (step.of == Of::Bootstrapping || !chosen(step)) continue;
      choose(step.left_out);
      const Case c = step.hoisted ? shapes.hoisted(step.batch) : shapes.rotations(step.batch);
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

  // The rotations of two programs: both at once on two streams, and one program after the other.
  void side_by_side(int limbs) {
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

  // A plan, a ciphertext at its level, and the bits that every choice of features must give: those
  // of the plainest one.
  struct Bootstrapping {
    std::unique_ptr<Bootstrapper> plan;
    Ciphertext input;
    std::vector<std::uint32_t> want;
  };

  void bootstrap() {
    const std::shared_ptr<const Params>& params = world_.params();
    const int slots = params->max_slots();
    const auto level_of = [&](Plan plan) {
      return options_of(plan).slot_to_coeff_first ? params->bootstrap()->stc_levels : 0;
    };
    rlwe::KeyRequest request;
    for (int i = 0; i < kPlans; ++i) {
      const Plan plan{i};
      const DryRun dry = dry_run(params, level_of(plan), slots, bootstrapping(options_of(plan)));
      for (const auto& [label, level] : dry.request) {
        request[label] = std::max(request[label], level);
      }
    }
    world_.make_keys(request);
    Bootstrapping of[kPlans];
    const std::vector<Complex> message = world_.message("complex", slots);
    choose(kEverything);
    for (int i = 0; i < kPlans; ++i) {
      of[i].plan = std::make_unique<Bootstrapper>(world_.context(), options_of(Plan{i}));
      of[i].input = world_.encrypt(message, level_of(Plan{i}));
      of[i].want = words_of(of[i].plan->bootstrap(world_.evaluator(), of[i].input));
    }
    for (const Step& step : kSteps) {
      if (step.of != Of::Rotations && chosen(step))
        bootstrap(step, of[static_cast<int>(step.plan)]);
    }
  }

  void bootstrap(const Step& step, const Bootstrapping& of) {
    const std::shared_ptr<const Params>& params = world_.params();
    choose(step.left_out);
    Ciphertext y;
    const auto body = [&] { y = of.plan->bootstrap(world_.evaluator(), of.input); };
    const Sample sample = replayed(world_.queue(), runs_, body).over(1e-3);
    Row sizes;
    sizes.add("N", params->n()).add("limbs", params->limbs(params->top_level()));
    sizes.add("slots", params->max_slots()).add("batch", 1);
    if (step.name == std::string("+ graph")) add_chain(sizes);
    add("ablation.bootstrap", step, sample, "ms", sizes);
    if (words_of(y) != of.want) {
      equal_ = false;
      std::fprintf(stderr, "WRONG RESULT: %s differs from the plainest form\n", step.name);
    }
    if (!arguments_.flag("classes")) return;
    // Only recordings as graphs are logged, and a log's views need the memory of their program.
    const bool graphs = std::exchange(features_->graphs, true);
    const Program program = world_.queue().record(body);
    features_->graphs = graphs;
    add_classes(step, sizes);
  }

  std::vector<std::uint32_t> words_of(const Ciphertext& x) const {
    std::vector<std::uint32_t> words;
    for (const Poly& part : x.parts) {
      const std::size_t at = words.size();
      words.resize(at + static_cast<std::size_t>(part.view.limbs()) * world_.params()->n());
      world_.queue().download(words.data() + at, part.view);
    }
    return words;
  }

  // The records of each class of the bootstrapping that was recorded last, one after the other in
  // their order. Its program must still exist. The records work on the data that the whole program
  // left behind.
  void add_classes(const Step& step, const Row& sizes) {
    const std::vector<Operation> log = *log_;
    std::size_t counted = 0;
    for (const Class& c : kClasses) {
      std::vector<Operation> own;
      for (const Operation& op : log) {
        if (std::ranges::any_of(
                c.records, [&](const char* n) { return latticino::name(op) == std::string(n); })) {
          own.push_back(op);
        }
      }
      counted += own.size();
      if (own.empty()) continue;
      Row of = sizes;
      of.add("class", c.name);
      const Sample sample = time_of(own, of);
      std::printf("  %-18s ", c.name);
      add("ablation.class", step, sample, "ms", of, bytes_of(own));
    }
    if (counted < log.size()) std::printf("%zu records of no class\n", log.size() - counted);
    if (step.name == std::string("+ graph")) add_limbs(step, log, sizes);
  }

  // The time of the records with so many limbs of Q, measured in the same way.
  void add_limbs(const Step& step, const std::vector<Operation>& log, const Row& sizes) {
    for (int least = 1; least <= world_.params()->limbs(world_.params()->top_level());
         least += kLimbRange) {
      std::vector<Operation> own;
      for (const Operation& op : log) {
        const int limbs = std::max(limbs_of(op), 1);
        if (limbs >= least && limbs < least + kLimbRange) own.push_back(op);
      }
      if (own.empty()) continue;
      Row of = sizes;
      of.add("least", least).add("most", least + kLimbRange - 1);
      const Sample sample = time_of(own, of);
      std::printf("  %2d to %2d limbs     ", least, least + kLimbRange - 1);
      add("ablation.limbs", step, sample, "ms", of, bytes_of(own));
    }
  }

  // Limbs of Q, in the largest of a record's polynomials.
  int limbs_of(const Operation& op) const {
    int most = 0;
    for_each_view(op, [&](const PolyView& v, bool) {
      const int first_aux = v.ring->prime_count() - world_.params()->alpha();
      int limbs = 0;
      for (int i = 0; i < v.limbs(); ++i) limbs += v.basis().prime(i) < first_aux ? 1 : 0;
      most = std::max(most, limbs);
    });
    return most;
  }

  static std::uint64_t bytes_of(const std::vector<Operation>& ops) {
    std::uint64_t bytes = 0;
    for (const Operation& op : ops) bytes += bytes_moved(op);
    return bytes;
  }

  // Milliseconds of these records in a program of their own. Their number is written to `row`.
  Sample time_of(const std::vector<Operation>& ops, Row& row) {
    row.add("records", static_cast<int>(ops.size()));
    const auto body = [&] {
      for (const Operation& op : ops) world_.queue().submit(Operation(op));
    };
    return replayed(world_.queue(), runs_, body).over(1e-3);
  }

  // The part of the bytes of the bootstrapping recorded last that must be moved one after another,
  // even if everything else runs at the same time.
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
           const Row& sizes, std::uint64_t bytes = 0) {
    const DeviceInfo device = world_.queue().device();
    Row row;
    row.add("name", name).add("step", step.name).add("left_out", step.left_out);
    row.add("hoisting", int{step.plan != Plan::MinimalKeys});
    sample.add_to(row, unit);
    row.add("device", device.name).add("backend", device.backend);
    row.add("mode", features_->graphs ? "replayed" : "launched");
    const bool scheme = std::string(name) == "ablation.bootstrap";
    row.add("preset", scheme ? world_.params()->name() : "none").add("params", sizes);
    if (bytes > 0) row.add("bytes_moved", bytes);
    row.add("commit", arguments_.text("commit")).add("date", today());
    rows_.push_back(row);
    std::printf("%-20s %-30s %10.3f %s\n", name, step.name, sample.median, unit);
    std::fflush(stdout);
  }

  static std::vector<std::string> known_steps(const std::string& list) {
    std::vector<std::string> steps = words(list);
    for (const std::string& name : steps) {
      if (std::ranges::none_of(kSteps, [&](const Step& step) { return name == step.name; })) {
        throw UnsupportedError("bench ablation", "step '" + name + "'",
                               "names of steps, as printed", "check the name");
      }
    }
    return steps;
  }

  const Arguments& arguments_;
  int runs_;
  std::vector<std::string> steps_;
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
      {{"device", "cuda"},
       {"preset", "n16-d40-boot-v1"},
       {"limbs", "47,23,7"},
       {"runs", "9"},
       {"classes", "1"},
       {"steps", ""}},
      [](const bench::Arguments& arguments) { return bench::Ablation(arguments).run(); });
}
