// Measures every variant of every kernel at the shapes that parameter sets use, and writes the
// table of the fastest (src/backend/tuned, or a file for CudaOptions::tuning_file):
//   bench_tune --presets n16-d40-boot-v1,n16-d35-boot-v1 --table sm_90.txt
//   bench_tune --presets= --tfhe-sets tfhe-gates-v1 --batches 1,132,1056 --table tfhe.txt
// Bootstrappings and the operations below them are recorded once. Each shape is then timed at the
// places where it occurs, after the record before it, so that the cache holds what it will hold.
// For sets of TFHE, blind rotations of batches of these sizes are timed: in exact arithmetic, and
// in FP64 where the set allows it. The transforms of rotations by steps are timed too. The table
// also gets the time of each batch in both arithmetics, key switch included, by which contexts of
// TFHE choose between them.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <optional>
#include <set>

#include "backend/cuda/rotate/forms.h"
#include "backend/rotation_times.h"
#include "ckks/bootstrap/over_raise.h"
#include "support/sample.h"
#include "support/tfhe_world.h"
#include "support/trace.h"
#include "support/world.h"

namespace latticino::bench {
namespace {

constexpr std::size_t kPlaces = 12;  // records of one shape that are timed together
// Fraction of the time below which a difference is noise, so the kernel's own rule stays.
constexpr double kMinGain = 0.01;

using Log = std::vector<Operation>;

struct Subject {
  Tuning::Question question;
  std::vector<std::size_t> places;
};

class Tuner {
 public:
  Tuner(const Arguments& arguments, std::shared_ptr<Tuning> tuning)
      : runs_(arguments.number("runs")), tuning_(std::move(tuning)) {}

  void tune(const std::string& preset_name) {
    World world(preset_name, traced_backend());
    const Params& params = *world.params();
    const int slots = params.max_slots();
    std::printf("%s\n", preset_name.c_str());
    if (params.bootstrap()) tune_bootstrappings(world);
    const std::vector<int> steps{1, 2, 3, 4, 5, 6, 7, 8};
    const auto operations = [&](const ckks::Evaluator& e, const Ciphertext& x) {
      e.relinearize_rescale(e.tensor(x, x));
      e.relinearize(e.tensor(x, x));
      e.rescale(x);
      e.rotate(x, 1);
      e.rotate_hoisted(x, steps);
    };
    const auto setup = [&](const auto&) -> Program1 { return operations; };
    const int top = params.default_level();
    world.make_keys(dry_run(world.params(), top, slots, setup).request);
    std::vector<Ciphertext> x;
    for (int level = top; level > 0; --level) {
      x.push_back(world.encrypt(world.message("complex", slots), level));
    }
    std::vector<Ciphertext> out;
    measure(world.queue(), [&] {
      out.clear();
      for (const Ciphertext& c : x) {
        operations(world.evaluator(), c);
        for (const int batch : {2, 4, 8, 16}) {
          for (Ciphertext& y : world.evaluator().rotate(std::vector<Ciphertext>(batch, c), 1)) {
            out.push_back(std::move(y));
          }
        }
      }
    });
  }

  // The usual order, and the forms that are chosen by default, for one ciphertext and for several.
  void tune_bootstrappings(World& world) {
    const std::shared_ptr<const Params>& params = world.params();
    const bool over = ckks::bootstrap::can_over_raise(*params);
    using Message = ckks::BootstrapOptions::Message;
    for (const ckks::BootstrapOptions& options : std::initializer_list<ckks::BootstrapOptions>{
             {},
             {.slot_to_coeff_first = true, .over_mod_raise = over},
             {.slots = params->max_slots() / 2,
             .message = Message::Real,
             .slot_to_coeff_first = true,
             .over_mod_raise = over}}) {
      const int slots = options.slots == 0 ? params->max_slots() : options.slots;
      const int level = options.slot_to_coeff_first ? params->bootstrap()->stc_levels : 0;
      world.make_keys(dry_run(params, level, slots, bootstrapping(options)).request);
      const Bootstrapper bootstrapper(world.context(), options);
      const Ciphertext x = world.encrypt(world.message("complex", slots), level);
      for (const std::size_t count : {std::size_t{1}, Bootstrapper::kMaxBatch}) {
        std::vector<Ciphertext> y;
        measure(world.queue(), [&] {
          y = bootstrapper.bootstrap(world.evaluator(), std::vector<Ciphertext>(count, x));
        });
      }
    }
  }

  void tune_rotations(const std::string& set, const std::vector<int>& batches) {
    const auto params = tfhe_params_of(set);
    for (const auto arithmetic : {BlindRotateArithmetic::Exact, BlindRotateArithmetic::Fft64}) {
      const bool fourier = arithmetic == BlindRotateArithmetic::Fft64;
      if (fourier && !params->fourier_refusal().empty()) continue;
      TfheWorld world(params, traced_backend(), arithmetic);
      for (const int batch : batches) {
        std::printf("%s, %s, batch %d\n", set.c_str(), tfhe::name(arithmetic), batch);
        const int us = tune_batch(world, batch);
        RotationTime& time = times_[{set, batch}];
        if (time.count == 0) time = tfhe::rotation_shape(*params), time.count = batch;
        (fourier ? time.fourier_us : time.exact_us) = us;
      }
    }
  }

  // Lines for a table, one for each batch.
  std::string rotation_times() const {
    std::string lines;
    for (const auto& [key, time] : times_) lines += time.text() + '\n';
    return lines;
  }

  double before = 0, after = 0;  // seconds of all timed places

 private:
  std::unique_ptr<Backend> traced_backend() {
    auto inner = make_cuda_backend({.tuning = tuning_});
    backend_ = inner.get();
    log_ = std::make_shared<Log>();
    return std::make_unique<Trace>(std::move(inner), log_);
  }

  // Returns the microseconds of key switch and rotation, with the forms that were found.
  int tune_batch(TfheWorld& world, int batch) {
    const TfheFlips flips(world, batch);
    Queue& queue = world.context->queue();
    const TfheRecords records(world, flips.x);
    queue.submit(records.key_switch);
    const auto rotate = [&] {
      queue.submit(records.mod_switch);
      queue.submit(records.rotate);
    };
    // Transforms of rotations by steps come first, because rotations are timed with the forms found
    // for them.
    if (world.context->arithmetic() == BlindRotateArithmetic::Exact) {
      tuning_->force(TunedKernel::BlindRotate, cuda::kStepForm);
      measure(queue, rotate, TunedKernel::Transform);
      tuning_->force(TunedKernel::BlindRotate, -1);
    }
    measure(queue, rotate);
    flips.check(flips());
    const Sample whole = replayed(queue, runs_, [&] {
      queue.submit(records.key_switch);
      rotate();
    });
    const int us = std::max(1, static_cast<int>(std::lround(1e6 * whole.median)));
    std::printf("  key switch and rotation: %d us\n", us);
    return us;
  }

  // `only`: shapes of that kernel alone.
  void measure(Queue& queue, const std::function<void()>& body,
               std::optional<TunedKernel> only = {}) {
    const Program program = queue.record(body);  // keeps the memory that the log's views refer to
    queue.synchronize();
    for (const Subject& subject : subjects(only)) tune(subject);
  }

  // Every shape that has a choice and no entry yet, with the places where it occurs.
  std::vector<Subject> subjects(std::optional<TunedKernel> only) {
    std::map<std::uint64_t, Subject> found;
    for (std::size_t i = 0; i < log_->size(); ++i) {
      tuning_->watch(true);
      backend_->run((*log_)[i]);
      for (const Tuning::Question& q : tuning_->seen()) {
        if ((q.can_run & (q.can_run - 1)) == 0 || q.key.kernel != only.value_or(q.key.kernel))
          continue;
        Subject& subject = found[q.key.packed()];
        subject.question = q;
        if (subject.places.size() < kPlaces) subject.places.push_back(i);
      }
    }
    tuning_->watch(false);
    backend_->synchronize();
    std::vector<Subject> out;
    for (auto& [key, subject] : found) {
      if (done_.insert(key).second) out.push_back(std::move(subject));
    }
    return out;
  }

  double seconds(const Subject& subject) {
    backend_->begin_record();
    for (const std::size_t i : subject.places) {
      if (i > 0) backend_->run((*log_)[i - 1]);
      backend_->run((*log_)[i]);
    }
    const auto replay = backend_->end_record();
    const auto synchronize = [&] { backend_->synchronize(); };
    timed(
        2, [&] { replay->launch(); }, synchronize);
    return timed(
               runs_, [&] { replay->launch(); }, synchronize)
        .median;
  }

  void tune(const Subject& subject) {
    const TuningKey& key = subject.question.key;
    const int own = subject.question.own;
    tuning_->set(key, own);
    const double rule = seconds(subject);
    double best = rule;
    int choice = own;
    std::map<int, double> times{{own, rule}};
    for (int v = 0; v < Tuning::kVariants; ++v) {
      if (v == own || (subject.question.can_run >> v & 1) == 0) continue;
      tuning_->set(key, v);
      const double time = times[v] = seconds(subject);
      if (time < best) best = time, choice = v;
    }
    // Times the candidates once more in turns, so that one lucky run does not decide.
    if (choice != own) {
      tuning_->set(key, own);
      const double again = std::min(rule, seconds(subject));
      tuning_->set(key, choice);
      best = std::max(best, seconds(subject));
      if (best > (1 - kMinGain) * again) choice = own, best = rule;
    }
    if (choice == own) tuning_->erase(key);
    before += rule;
    after += best;
    const double each = 1e6 / static_cast<double>(subject.places.size());
    std::printf("  %-12s 2^%d (%d, %d, %d, %d): variant %d, %.2f us with the record before",
                name(key.kernel), key.log_n, key.shape[0], key.shape[1], key.shape[2], key.shape[3],
                own, rule * each);
    if (choice != own) std::printf("; variant %d %.2f us", choice, best * each);
    std::printf(" (all:");
    for (const auto& [v, time] : times) std::printf(" %d %.2f", v, time * each);
    std::printf(")\n");
    std::fflush(stdout);
  }

  int runs_;
  std::shared_ptr<Tuning> tuning_;
  Backend* backend_ = nullptr;  // the backend that computes, below the trace
  std::shared_ptr<Log> log_;
  std::set<std::uint64_t> done_;
  std::map<std::pair<std::string, int>, RotationTime> times_;  // times by set and batch
};

std::string measured_sets(const Arguments& arguments) {
  const std::string &presets = arguments.text("presets"), &tfhe = arguments.text("tfhe-sets");
  if (tfhe.empty()) return presets;
  return presets + (presets.empty() ? "" : "; ") + tfhe + " in batches of " +
         arguments.text("batches");
}

int run(const Arguments& arguments) {
  const DeviceInfo device = make_cuda_backend()->info();
  const auto tuning = std::make_shared<Tuning>(device.arch);
  Tuner tuner(arguments, tuning);
  for (const std::string& name : words(arguments.text("presets"))) tuner.tune(name);
  const std::vector<int> batches = arguments.numbers("batches");
  for (const std::string& set : words(arguments.text("tfhe-sets"))) {
    tuner.tune_rotations(set, batches);
  }
  std::printf("timed places: %.3f ms by the kernels' rules, %.3f ms tuned; %zu entries\n",
              tuner.before * 1e3, tuner.after * 1e3, tuning->size());
  const std::string& path = arguments.text("table");
  std::ofstream file(path);
  file << tuning->text(device.name + ", " + today() + ", " + measured_sets(arguments))
       << tuner.rotation_times();
  if (!file.flush()) {
    throw FileError("tune", path, "a path that can be written", "choose another --table");
  }
  std::printf("table written to %s\n", path.c_str());
  return 0;
}

}  // namespace
}  // namespace latticino::bench

int main(int argc, char** argv) {
  using namespace latticino;
  return bench::run_program(
      argc, argv,
      {{"presets", "n16-d40-boot-v1,n16-d35-boot-v1"},
       {"tfhe-sets", "tfhe-gates-v1,tfhe-gates-v2,tfhe-2-2-v1"},
       {"batches", "1,132,1056"},
       {"table", "tuned.txt"},
       {"runs", "9"}},
      [](const bench::Arguments& arguments) { return bench::run(arguments); });
}
