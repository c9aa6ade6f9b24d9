// Bootstrapping: time, precision and memory on one device.
//   bench_bootstrap --device cuda --preset n16-d40-boot-v1 --runs 20 --output row.json
// --message: complex, real (random in the unit box), merged (real, two ciphertexts refreshed as
// one: an even --batch), constant, alternating or spike; --chain 1
// feeds each result to the next run. Every run refreshes a new random message and decrypts the
// result, so a wrong result is seen; the program fails when the error is not within `--tolerance`
// bits of the prediction, and with --check 1 also when the time is not within a factor 2 of the
// rate table's (runtime/rates.h) or the memory not within 5 % of the dry run's.
// --dry 1 only tells what a dry run knows.
// --replays N runs one input N times more and compares the results bit by bit, --poison 1 compares
// with runs whose every buffer was full of 0xA5 first.
// --batch N refreshes N ciphertexts in each run; times are of each of them, memory is of all.
// --profile 1: a profiler counts the last run (support/profiler.h), whose time means nothing.
// --minimal-keys, --stc-first and --over-raise choose the options of that name, --arcsine the
// degree of the arcsine and --ratio the log message ratio (0: the set's).
#include <iostream>

#include "math/errors.h"
#include "runtime/rates.h"
#include "support/profiler.h"
#include "support/sample.h"
#include "support/world.h"

namespace latticino::bench {
namespace {

BootstrapOptions options_of(const Arguments& arguments) {
  BootstrapOptions options;
  options.slots = arguments.number("slots");
  options.minimal_keys = arguments.flag("minimal-keys");
  options.slot_to_coeff_first = arguments.flag("stc-first");
  options.over_mod_raise = arguments.flag("over-raise");
  options.arcsine = arguments.number("arcsine");
  options.log_message_ratio = arguments.number("ratio");
  using Message = BootstrapOptions::Message;
  if (arguments.text("message") == "real") options.message = Message::Real;
  if (arguments.text("message") == "merged") options.message = Message::MergedReals;
  return options;
}

// Number of further runs of one input, and of those whose bits differed.
struct Repeats {
  int replays = 0, poisoned = 0, different = 0;
};

// Read before further runs, which hold two programs at once.
struct Memory {
  std::uint64_t peak;
  MemoryUse device;
};

class Benchmark {
 public:
  Benchmark(const Arguments& arguments)
      : arguments_(arguments),
        options_(options_of(arguments)),
        world_(arguments.text("preset"),
               make_backend(arguments.text("device"), arguments.number("threads"),
                            arguments.text("tuning"), arguments.number("shared-limit"),
                            arguments.number("arch"))),
        params_(world_.params()),
        context_(world_.context()),
        batch_(arguments.number("batch")),
        slots_(options_.slots == 0 ? params_->max_slots() : options_.slots),
        level_(options_.slot_to_coeff_first ? params_->bootstrap()->stc_levels : 0) {}

  int run() {
    std::cout << params_->name() << ", " << slots_ << " slots, " << context_->queue().device().name
              << std::endl;
    if (batch_ < 1 || (batch_ > 1 && arguments_.flag("chain"))) {
      throw UnsupportedError("bench_bootstrap", "--batch " + std::to_string(batch_),
                             "one ciphertext or more, and one with --chain", "correct it");
    }
    if (options_.message == BootstrapOptions::Message::MergedReals && batch_ % 2 != 0) {
      throw UnsupportedError("bench_bootstrap", "--batch " + std::to_string(batch_),
                             "an even number with --message=merged", "correct it");
    }
    dry_ = dry_run(params_, level_, slots_, bootstrapping(options_, batch_));
    describe();
    if (arguments_.flag("dry")) return 0;
    prepare();
    for (int k = 0; k < batch_; ++k) input_.push_back(world_.encrypt(message(), level_));
    std::vector<double> seconds;
    Errors errors;
    const Stopwatch first;
    if (arguments_.flag("replay")) {
      program_ = std::make_unique<Program>(
          context_->queue().record([this] { output_ = refresh(input_); }));
    } else {
      output_ = refresh(input_);
    }
    context_->queue().synchronize();
    std::cout << "first run " << first.seconds() << " s" << std::endl;
    std::vector<std::vector<Complex>> z(input_.size());
    for (int i = 0; i < arguments_.number("runs"); ++i) {
      for (std::size_t k = 0; k < input_.size(); ++k) {
        if (arguments_.flag("chain") && i > 0) {
          world_.copy(world_.evaluator().to_level(output_[k], level_), input_[k]);
        } else {
          z[k] = message();
          world_.copy(world_.encrypt(z[k], level_), input_[k]);
        }
      }
      context_->queue().synchronize();
      const Stopwatch watch;
      run_once(arguments_.flag("profile") && i + 1 == arguments_.number("runs"));
      seconds.push_back(watch.seconds() / batch_);
      for (std::size_t k = 0; k < z.size(); ++k) errors.add(z[k], world_.decrypt(output_[k]));
      std::cout << "run " << i << ": " << seconds.back() * 1e3 << " ms, mean " << errors.mean_bits()
                << " bits, max " << errors.max_bits() << " bits so far" << std::endl;
    }
    const Memory memory{context_->queue().peak_bytes(), context_->queue().device_memory()};
    const Repeats repeats = same_bits();
    const Sample sample = sample_of(seconds);
    write(sample, errors, memory, repeats);
    const bool good = within_bounds(sample.median, errors, memory);
    return good && repeats.different == 0 ? 0 : 1;
  }

 private:
  void describe() const {
    std::cout << dry_.request.size() << " keys of " << dry_.key_bytes / 1e9 << " GB, peak "
              << (dry_.key_bytes + dry_.report.peak_bytes) / 1e9 << " GB, "
              << dry_.report.operations << " records, at least " << dry_.report.bytes_moved / 1e9
              << " GB moved; on an H200 about "
              << predicted_seconds(dry_.report, cuda_rates()) * 1e3 << " ms" << std::endl;
    if (!arguments_.flag("dry")) return;
    const Bootstrapper plan(ckks::Context::create_dry(params_), options_);
    const Bootstrapper::Precision bits = plan.predicted_precision();
    const Bootstrapper::Precision ones =
        plan.predicted_precision(std::vector<Complex>(static_cast<std::size_t>(slots_), 1.0));
    std::cout << "matrices " << plan.bytes() / 1e9 << " GB, random messages " << bits.mean_bits
              << " bits (largest error " << bits.max_bits << "), all ones " << ones.mean_bits
              << std::endl;
  }

  void prepare() {
    const Stopwatch keys_watch;
    world_.make_keys(dry_.request);
    std::cout << "keys " << world_.key_bytes() / 1e9 << " GB in " << keys_watch.seconds() << " s"
              << std::endl;
    const Stopwatch plan_watch;
    bootstrapper_ = std::make_unique<Bootstrapper>(context_, options_);
    context_->queue().synchronize();
    std::cout << "matrices " << bootstrapper_->bytes() / 1e9 << " GB in " << plan_watch.seconds()
              << " s" << std::endl;
    context_->queue().reset_peak();
  }

  void run_once(bool under_a_profiler) {
    const auto body = [this] {
      if (program_) {
        program_->run();
      } else {
        output_ = refresh(input_);
      }
    };
    const auto synchronize = [this] { context_->queue().synchronize(); };
    if (under_a_profiler) return profiled(body, synchronize);
    body();
    synchronize();
  }

  using Batch = std::vector<Ciphertext>;
  Batch refresh(const Batch& inputs) const {
    return bench::refresh(*bootstrapper_, world_.evaluator(), inputs);
  }

  std::vector<std::uint32_t> bits(const Batch& batch) const {
    std::vector<std::uint32_t> words;
    for (const Ciphertext& x : batch) {
      for (const Poly& part : x.parts) {
        const std::size_t at = words.size();
        words.resize(at + static_cast<std::size_t>(part.view.limbs()) * params_->n());
        context_->queue().download(words.data() + at, part.view);
      }
    }
    return words;
  }

  // Runs one input many times, with and without poisoned buffers: the bits must always be the same.
  Repeats same_bits() {
    Repeats out;
    if (arguments_.number("replays") == 0 && !arguments_.flag("poison")) return out;
    Queue& queue = context_->queue();
    const std::vector<std::uint32_t> want = bits(refresh(input_));
    const auto compare = [&](const Batch& x, int& runs) {
      ++runs;
      out.different += bits(x) != want;
    };
    const Stopwatch watch;
    for (int i = 0; i < arguments_.number("replays"); ++i) {
      if (program_) {
        // Overwritten first, so that no result is mistaken for the next one.
        for (const Ciphertext& x : output_) {
          for (const Poly& part : x.parts) queue.submit(Copy{{{PolyView{}, part.view}}});
        }
        program_->run();
        compare(output_, out.replays);
      } else {
        compare(refresh(input_), out.replays);
      }
    }
    if (arguments_.flag("poison")) {
      queue.poison(true);
      compare(refresh(input_), out.poisoned);
      if (program_) {
        program_.reset();
        Program poisoned = queue.record([this] { output_ = refresh(input_); });
        for (int i = 0; i < 3; ++i) {
          poisoned.run();
          compare(output_, out.poisoned);
        }
      }
      queue.poison(false);
    }
    std::cout << out.replays + out.poisoned << " more runs of one input in " << watch.seconds()
              << " s, " << out.different << " with other bits" << std::endl;
    return out;
  }

  std::vector<Complex> message() { return world_.message(arguments_.text("message"), slots_); }

  Bootstrapper::Precision prediction() const {
    std::mt19937_64 unused;
    const std::string& kind = arguments_.text("message");
    return is_random(kind) ? bootstrapper_->predicted_precision()
                           : bootstrapper_->predicted_precision(make_message(kind, slots_, unused));
  }

  Row sizes() const {
    Row sizes;
    sizes.add("N", params_->n()).add("limbs", params_->limbs(params_->top_level()));
    sizes.add("slots", slots_).add("batch", batch_).add("threads", arguments_.number("threads"));
    sizes.add("message", arguments_.text("message"));
    sizes.add("chain", int{arguments_.flag("chain")});
    add_limits(sizes, arguments_);
    sizes.add("minimal_keys", int{options_.minimal_keys});
    if (options_.slot_to_coeff_first) sizes.add("slot_to_coeff_first", 1);
    if (options_.over_mod_raise) sizes.add("over_mod_raise", 1);
    if (options_.arcsine > 0) sizes.add("arcsine", options_.arcsine);
    if (options_.log_message_ratio > 0) sizes.add("log_message_ratio", options_.log_message_ratio);
    return sizes;
  }

  // All inputs of the dry run share the memory of one, and it keeps no results of an earlier run,
  // as timed runs do. For a batch these are added here.
  double dry_peak() const {
    const double limbs = params_->limbs(level_) + params_->limbs(bootstrapper_->output_level());
    const double more = (batch_ - 1) * limbs * 2 * sizeof(std::uint32_t) * params_->n();
    return static_cast<double>(dry_.key_bytes + dry_.report.peak_bytes) + more;
  }

  double predicted_time() const {
    const Rates rates = rates_of(arguments_.text("device"), arguments_.number("threads"));
    return predicted_seconds(dry_.report, rates.table, rates.threads) / batch_;
  }

  void write(const Sample& seconds, const Errors& errors, const Memory& memory,
             const Repeats& repeats) const {
    const Bootstrapper::Precision predicted = prediction();
    const DeviceInfo device = context_->queue().device();
    Row row;
    row.add("name", "ckks.bootstrap");
    seconds.over(1e-3).add_to(row, "ms");
    row.add("device", device.name);
    row.add("backend", device.backend)
        .add("mode", arguments_.flag("replay") ? "replayed" : "immediate");
    row.add("preset", params_->name()).add("params", sizes());
    row.add("commit", arguments_.text("commit")).add("date", today());
    row.add("bytes_moved", dry_.report.bytes_moved).add("peak_bytes", memory.peak);
    row.add("dry_peak_bytes", dry_peak());
    row.add("device_peak_bytes", std::uint64_t{memory.device.peak});
    row.add("device_held_bytes", std::uint64_t{memory.device.held});
    row.add("key_bytes", std::uint64_t{world_.key_bytes()});
    row.add("sum_bytes", std::uint64_t{world_.sum_bytes()});
    row.add("matrix_bytes", std::uint64_t{bootstrapper_->bytes()});
    row.add("mean_error_bits", errors.mean_bits()).add("max_error_bits", errors.max_bits());
    row.add("mean_of_largest_error_bits", errors.mean_of_largest_bits());
    row.add("predicted_mean_bits", predicted.mean_bits);
    row.add("predicted_max_bits", predicted.max_bits);
    row.add("levels_left", bootstrapper_->output_level() - level_);
    row.add("predicted_ms", predicted_time() * 1e3);
    row.add("replays", repeats.replays).add("poisoned_runs", repeats.poisoned);
    row.add("different", repeats.different);
    write_rows({row}, arguments_.text("output"));
  }

  bool within_bounds(double time, const Errors& errors, const Memory& memory) const {
    const Bootstrapper::Precision predicted = prediction();
    std::cout << "median " << time * 1e3 << " ms (predicted " << predicted_time() * 1e3
              << "), peak " << memory.peak / 1e9 << " GB (dry run " << dry_peak() / 1e9
              << ", device " << memory.device.peak / 1e9 << ", held " << memory.device.held / 1e9
              << "), mean " << errors.mean_bits() << " bits (predicted " << predicted.mean_bits
              << "), max " << errors.max_bits() << " bits (predicted " << predicted.max_bits << ")"
              << std::endl;
    const double tolerance = arguments_.number("tolerance");
    // Errors of a chain add up; the error of each run is in the lines above.
    const bool right =
        arguments_.flag("chain") || (errors.mean_bits() > predicted.mean_bits - tolerance &&
                                     errors.max_bits() > predicted.max_bits - tolerance);
    if (!right) std::cerr << "WRONG RESULT: the error is larger than predicted\n";
    const bool check = arguments_.flag("check");
    const bool in_time = !check || (time < 2 * predicted_time() && predicted_time() < 2 * time);
    if (!in_time) std::cerr << "WRONG PREDICTION: the time is not within a factor 2\n";
    const double ratio = dry_peak() / static_cast<double>(memory.device.peak);
    const bool in_memory = !check || std::abs(ratio - 1) < 0.05;
    if (!in_memory) std::cerr << "WRONG PREDICTION: the memory is not within 5 %\n";
    return right && in_time && in_memory;
  }

  const Arguments& arguments_;
  BootstrapOptions options_;
  World world_;
  std::shared_ptr<const Params> params_;
  std::shared_ptr<const ckks::Context> context_;
  int batch_;          // ciphertexts per run
  int slots_, level_;  // of the inputs
  DryRun dry_;
  std::unique_ptr<Bootstrapper> bootstrapper_;
  Batch input_, output_;
  std::unique_ptr<Program> program_;
};

}  // namespace
}  // namespace latticino::bench

int main(int argc, char** argv) {
  using namespace latticino;
  return bench::run_program(
      argc, argv, {{"device", "cpu"},      {"preset", "n16-d40-boot-v1"},
                   {"slots", "0"},         {"batch", "1"},
                   {"message", "complex"}, {"chain", "0"},
                   {"minimal-keys", "0"},  {"runs", "5"},
                   {"replay", "1"},        {"threads", "0"},
                   {"tuning", ""},         {"shared-limit", "0"},
                   {"arch", "0"},          {"tolerance", "2"},
                   {"check", "0"},         {"dry", "0"},
                   {"replays", "0"},       {"poison", "0"},
                   {"stc-first", "0"},     {"over-raise", "0"},
                   {"arcsine", "0"},       {"ratio", "0"},
                   {"profile", "0"}},
      [](const bench::Arguments& arguments) { return bench::Benchmark(arguments).run(); });
}
