// Bootstrapping: time, precision and memory on one device.
//   bench_bootstrap --device cuda --preset n16-d40-boot-v1 --runs 20 --output row.json
// --message: complex, real (random in the unit box), constant, alternating or spike; --chain 1
// feeds each result to the next run. Every run refreshes a new random message and decrypts the
// result, so a wrong result is seen; the program fails when the error is not within `--tolerance`
// bits of the prediction.
#include <cmath>
#include <iostream>
#include <random>

#include "ckks/bootstrap/bootstrap.h"
#include "ckks/encoder.h"
#include "common.h"
#include "rlwe/client.h"
#include "rlwe/evaluation_keys.h"

namespace latticino::bench {
namespace {

using ckks::BootstrapOptions;
using ckks::Bootstrapper;
using ckks::Ciphertext;
using ckks::Complex;

BootstrapOptions options_of(const Arguments& arguments) {
  BootstrapOptions options;
  options.slots = arguments.number("slots");
  options.minimal_keys = arguments.flag("minimal-keys");
  if (arguments.text("message") == "real") options.message = BootstrapOptions::Message::Real;
  return options;
}

// Slots of one message: random in the unit box, or one that the sine treats badly.
std::vector<Complex> make_message(const std::string& kind, int slots, std::mt19937_64& generator) {
  std::uniform_real_distribution<double> u(-1, 1);
  std::vector<Complex> z(static_cast<std::size_t>(slots));
  for (std::size_t j = 0; j < z.size(); ++j) {
    if (kind == "complex" || kind == "real") {
      const double re = u(generator);
      z[j] = {re, kind == "real" ? 0.0 : u(generator)};
    } else if (kind == "constant") {
      z[j] = 1;
    } else if (kind == "alternating") {
      z[j] = j % 2 == 0 ? 1 : -1;
    } else if (kind == "spike") {
      z[j] = j == 0 ? 1 : 0;
    } else {
      throw UnsupportedError("bench.bootstrap", "message '" + kind + "'",
                             "complex, real, constant, alternating or spike", "choose one");
    }
  }
  return z;
}

bool is_random(const std::string& kind) { return kind == "complex" || kind == "real"; }

// What one bootstrapping asks for and moves, from a dry run.
struct DryRun {
  rlwe::KeyRequest request;
  DryReport report;
};

DryRun dry_run(const std::shared_ptr<const Params>& params, const BootstrapOptions& options,
               int slots) {
  const auto context = ckks::Context::create_dry(params);
  const Bootstrapper bootstrapper(context, options);
  const DryReport before = context->queue().report();
  const auto keys = std::make_shared<rlwe::KeyRecorder>(context->constants());
  const ckks::Evaluator evaluator(context, keys);
  Ciphertext x{context, {}, 0, params->scale(0), slots, keys->id()};
  for (int h = 0; h < 2; ++h) {
    x.parts.push_back(context->queue().allocate(context->ring(), params->basis(0), Domain::Eval));
  }
  bootstrapper.bootstrap(evaluator, x);
  DryRun out{keys->request(), context->queue().report()};
  out.report.bytes_moved -= before.bytes_moved;
  out.report.operations -= before.operations;
  return out;
}

struct Errors {
  double sum = 0, largest = 0, count = 0;
  void add(const std::vector<Complex>& want, const std::vector<Complex>& have) {
    for (std::size_t i = 0; i < want.size(); ++i) {
      const double e = std::abs(want[i] - have[i]);
      sum += e;
      largest = std::max(largest, std::isfinite(e) ? e : INFINITY);
      count += 1;
    }
  }
  double mean_bits() const { return -std::log2(sum / count); }
  double max_bits() const { return -std::log2(largest); }
};

class Benchmark {
 public:
  Benchmark(const Arguments& arguments)
      : arguments_(arguments),
        options_(options_of(arguments)),
        params_(preset(arguments.text("preset"))),
        slots_(options_.slots == 0 ? params_->max_slots() : options_.slots),
        context_(ckks::Context::create(
            params_, std::make_unique<Queue>(
                         make_backend(arguments.text("device"), arguments.number("threads"))))),
        secret_(rlwe::SecretKey::generate(params_, random_)) {}

  int run() {
    std::cout << params_->name() << ", " << slots_ << " slots, " << context_->queue().device().name
              << std::endl;
    prepare();
    input_ = encrypt(message());
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
    std::vector<Complex> z = message();
    for (int i = 0; i < arguments_.number("runs"); ++i) {
      if (arguments_.flag("chain") && i > 0) {
        set_input(evaluator_->to_level(output_, 0));
      } else {
        z = message();
        set_input(encrypt(z));
      }
      context_->queue().synchronize();
      const Stopwatch watch;
      if (program_) {
        program_->run();
      } else {
        output_ = refresh(input_);
      }
      context_->queue().synchronize();
      seconds.push_back(watch.seconds());
      errors.add(z, decrypt(output_));
      std::cout << "run " << i << ": " << seconds.back() * 1e3 << " ms, mean " << errors.mean_bits()
                << " bits, max " << errors.max_bits() << " bits so far" << std::endl;
    }
    return report(seconds, errors);
  }

 private:
  void prepare() {
    dry_ = dry_run(params_, options_, slots_);
    std::cout << dry_.request.size() << " keys, " << dry_.report.operations << " records, at least "
              << dry_.report.bytes_moved / 1e9 << " GB moved" << std::endl;
    const Stopwatch keys_watch;
    rlwe::KeyGenerator generator(context_->constants(), context_->queue(), secret_, random_);
    keys_ = generator.make(dry_.request);
    context_->queue().synchronize();
    std::cout << "keys " << keys_->bytes() / 1e9 << " GB in " << keys_watch.seconds() << " s"
              << std::endl;
    const Stopwatch plan_watch;
    bootstrapper_ = std::make_unique<Bootstrapper>(context_, options_);
    evaluator_ = std::make_unique<ckks::Evaluator>(context_, keys_);
    context_->queue().synchronize();
    std::cout << "matrices " << bootstrapper_->bytes() / 1e9 << " GB in " << plan_watch.seconds()
              << " s" << std::endl;
    context_->queue().reset_peak();
  }

  Ciphertext refresh(const Ciphertext& x) const { return bootstrapper_->bootstrap(*evaluator_, x); }

  std::vector<Complex> message() {
    return make_message(arguments_.text("message"), slots_, messages_);
  }

  Ciphertext encrypt(const std::vector<Complex>& z) {
    const ckks::Plaintext p = ckks::encode(context_, z, 0, params_->scale(0));
    rlwe::FreshPair pair = rlwe::encrypt_symmetric(context_->constants(), context_->queue(),
                                                   secret_, p.poly.view, 0, random_);
    return {context_, {pair.parts[0], pair.parts[1]}, 0, p.scale, slots_, secret_.id()};
  }

  // A recorded program reads fixed memory.
  void set_input(const Ciphertext& x) {
    Copy copy;
    for (int h = 0; h < 2; ++h) copy.items.push_back({x.parts[h].view, input_.parts[h].view});
    context_->queue().submit(std::move(copy));
  }

  std::vector<Complex> decrypt(const Ciphertext& x) {
    const PolyView views[2] = {x.parts[0].view, x.parts[1].view};
    return context_->encoder().project(
        rlwe::decrypt(context_->constants(), context_->queue(), secret_, views, x.level, x.scale),
        x.slots);
  }

  Bootstrapper::Precision prediction() const {
    std::mt19937_64 unused;
    const std::string& kind = arguments_.text("message");
    return is_random(kind) ? bootstrapper_->predicted_precision()
                           : bootstrapper_->predicted_precision(make_message(kind, slots_, unused));
  }

  int report(const std::vector<double>& seconds, const Errors& errors) const {
    const Bootstrapper::Precision predicted = prediction();
    const Queue& queue = context_->queue();
    const DeviceInfo device = queue.device();
    Row sizes;
    sizes.add("N", params_->n()).add("limbs", params_->limbs(params_->top_level()));
    sizes.add("slots", slots_).add("batch", 1).add("threads", arguments_.number("threads"));
    sizes.add("message", arguments_.text("message"));
    sizes.add("chain", int{arguments_.flag("chain")});
    sizes.add("minimal_keys", int{options_.minimal_keys});
    Row row;
    row.add("name", "ckks.bootstrap").add("value", median(seconds) * 1e3).add("unit", "ms");
    row.add("median_of", static_cast<int>(seconds.size())).add("device", device.name);
    row.add("backend", device.backend).add("mode", program_ ? "replayed" : "immediate");
    row.add("preset", params_->name()).add("params", sizes);
    row.add("commit", arguments_.text("commit")).add("date", today());
    row.add("bytes_moved", dry_.report.bytes_moved).add("peak_bytes", queue.peak_bytes());
    row.add("key_bytes", std::uint64_t{keys_->bytes()});
    row.add("matrix_bytes", std::uint64_t{bootstrapper_->bytes()});
    row.add("mean_error_bits", errors.mean_bits()).add("max_error_bits", errors.max_bits());
    row.add("predicted_mean_bits", predicted.mean_bits);
    row.add("predicted_max_bits", predicted.max_bits);
    row.add("levels_left", params_->level_after_bootstrap());
    write_rows({row}, arguments_.text("output"));
    std::cout << "median " << median(seconds) * 1e3 << " ms, peak " << queue.peak_bytes() / 1e9
              << " GB, mean " << errors.mean_bits() << " bits (predicted " << predicted.mean_bits
              << "), max " << errors.max_bits() << " bits (predicted " << predicted.max_bits << ")"
              << std::endl;
    const double tolerance = arguments_.number("tolerance");
    // Errors of a chain add up; each run's own are in the lines above.
    const bool right =
        arguments_.flag("chain") || (errors.mean_bits() > predicted.mean_bits - tolerance &&
                                     errors.max_bits() > predicted.max_bits - tolerance);
    if (!right) std::cerr << "WRONG RESULT: the error is larger than predicted\n";
    return right ? 0 : 1;
  }

  const Arguments& arguments_;
  BootstrapOptions options_;
  std::shared_ptr<const Params> params_;
  int slots_;
  std::shared_ptr<const ckks::Context> context_;
  rlwe::Random random_;
  rlwe::SecretKey secret_;
  std::mt19937_64 messages_{1};
  DryRun dry_;
  std::shared_ptr<rlwe::EvaluationKeys> keys_;
  std::unique_ptr<Bootstrapper> bootstrapper_;
  std::unique_ptr<ckks::Evaluator> evaluator_;
  Ciphertext input_, output_;
  std::unique_ptr<Program> program_;
};

}  // namespace
}  // namespace latticino::bench

int main(int argc, char** argv) {
  using namespace latticino;
  try {
    const char* commit = std::getenv("LATTICINO_COMMIT");
    const bench::Arguments arguments(argc, argv,
                                     {{"device", "cpu"},
                                      {"preset", "n16-d40-boot-v1"},
                                      {"slots", "0"},
                                      {"message", "complex"},
                                      {"chain", "0"},
                                      {"minimal-keys", "0"},
                                      {"runs", "5"},
                                      {"replay", "1"},
                                      {"threads", "0"},
                                      {"tolerance", "2"},
                                      {"commit", commit == nullptr ? "unknown" : commit},
                                      {"output", "-"}});
    return bench::Benchmark(arguments).run();
  } catch (const Error& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
}
