// Compares the precision of full-slot bootstrapping with what explain() predicts, for every kind of
// message:
//   bench_precision --device cuda --preset n16-d40-boot-v1,n16-d35-boot-v1 --output rows.json
// Without --preset all sets that bootstrap are measured. Fails where a measurement is more than a
// bit worse than its prediction (or a mean more than a bit better), misses a stated target, or a
// chain drifts. A chain feeds each result to the next bootstrapping.
#include <iostream>

#include "support/world.h"

namespace latticino::bench {
namespace {

constexpr double kTolerance = 1;  // allowed bits between prediction and measurement

struct Target {
  const char* preset;
  const char* message;
  int levels;
  double mean_bits, max_bits;
};

// The precision that the library states, over 20 runs.
constexpr Target kTargets[] = {{"n16-d40-boot-v1", "complex", 13, 21.5, 19.4},
                               {"n16-d35-boot-v1", "complex", 14, 19.5, 16.5},
                               {"n16-d40-structured-v1", "constant", 1, 15, 15},
                               {"n16-d40-structured-v1", "alternating", 1, 15, 15},
                               {"n16-d40-structured-v1", "spike", 1, 15, 15}};

PrecisionBits prediction(const Params& params, const std::string& message) {
  const BootstrapPrecision p = params.bootstrap_precision();
  if (message == "constant") return p.constant;
  if (message == "alternating") return p.alternating;
  return message == "spike" ? p.spike : p.random;
}

class Measurement {
 public:
  Measurement(const std::string& name, const Arguments& arguments)
      : arguments_(arguments),
        world_(name, make_backend(arguments.text("device"), arguments.number("threads"))),
        params_(*world_.params()) {
    world_.make_keys(dry_run(world_.params(), 0, params_.max_slots(), bootstrapping({})).request);
    bootstrapper_ = std::make_unique<Bootstrapper>(world_.context());
    input_ = world_.encrypt(message("complex"), 0);
    program_ = std::make_unique<Program>(world_.queue().record(
        [this] { output_ = bootstrapper_->bootstrap(world_.evaluator(), input_); }));
    std::cout << name << ", " << params_.max_slots() << " slots, " << world_.queue().device().name
              << std::endl;
  }

  bool run(std::vector<Row>& rows) {
    const int runs = arguments_.number("runs");
    bool good = measure("complex", runs, rows);
    for (const char* kind : {"constant", "spike", "alternating"}) good &= measure(kind, 1, rows);
    if (arguments_.number("chain") > 1) good &= chain(arguments_.number("chain"), rows);
    return good;
  }

 private:
  std::vector<Complex> message(const std::string& kind) {
    return world_.message(kind, params_.max_slots());
  }

  void refresh(const Ciphertext& x) {
    world_.copy(x, input_);
    program_->run();
    world_.queue().synchronize();
  }

  Row row(const std::string& kind, const Errors& errors, int runs) const {
    Row sizes;
    sizes.add("N", params_.n()).add("limbs", params_.limbs(params_.top_level()));
    sizes.add("slots", params_.max_slots()).add("batch", 1).add("message", kind);
    Row row = world_.row("ckks.bootstrap_precision", errors.mean_bits(), "bits", runs);
    row.add("params", sizes).add("commit", arguments_.text("commit")).add("date", today());
    row.add("mean_error_bits", errors.mean_bits()).add("max_error_bits", errors.max_bits());
    row.add("levels_left", params_.level_after_bootstrap()).add("log_pq", params_.log_pq());
    return row;
  }

  bool measure(const std::string& kind, int runs, std::vector<Row>& rows) {
    Errors errors;
    for (int i = 0; i < runs; ++i) {
      const std::vector<Complex> z = message(kind);
      refresh(world_.encrypt(z, 0));
      errors.add(z, world_.decrypt(output_));
    }
    const PrecisionBits expected = prediction(params_, kind);
    rows.push_back(row(kind, errors, runs)
                       .add("predicted_mean_bits", expected.mean)
                       .add("predicted_max_bits", expected.max));
    const bool agrees = std::abs(errors.mean_bits() - expected.mean) <= kTolerance &&
                        errors.max_bits() >= expected.max - kTolerance;
    const bool met = meets(kind, errors);
    std::printf("  %-12s %2d runs: mean %.2f (predicted %.2f), max %.2f (predicted %.2f)%s%s\n",
                kind.c_str(), runs, errors.mean_bits(), expected.mean, errors.max_bits(),
                expected.max, agrees ? "" : "  DIFFERS", met ? "" : "  TARGET MISSED");
    return agrees && met;
  }

  bool meets(const std::string& kind, const Errors& errors) const {
    bool met = true;
    for (const Target& t : kTargets) {
      if (params_.name() != t.preset || kind != t.message) continue;
      met &= params_.level_after_bootstrap() >= t.levels && errors.mean_bits() >= t.mean_bits &&
             errors.max_bits() >= t.max_bits;
    }
    return met;
  }

  // Independent errors grow with the square root of the number of bootstrappings. The errors of the
  // sine and of the encoded matrices (at most a fifth of SlotToCoeff's) are the same each time, so
  // they grow with the number. Half a bit is added as a margin for a single message.
  bool chain(int length, std::vector<Row>& rows) {
    const std::vector<Complex> z = message("complex");
    Errors first, last;
    refresh(world_.encrypt(z, 0));
    first.add(z, world_.decrypt(output_));
    for (int i = 1; i < length; ++i) refresh(world_.evaluator().to_level(output_, 0));
    last.add(z, world_.decrypt(output_));
    rows.push_back(row("chain", last, length).add("first_mean_error_bits", first.mean_bits()));
    const BootstrapPrecision p = params_.bootstrap_precision();
    const double noise = std::exp2(-2 * p.spike.mean);
    const double taken = std::exp2(-2 * p.random.mean) - noise;
    const double repeated = taken + params_.bootstrap_noise().slot_to_coeff / 5;
    // Dropping to level 0 adds one more division.
    const double down = params_.division_variance(params_.leaving(1).size()) * params_.n() /
                        (params_.scale(0) * params_.scale(0));
    const double bound =
        -0.5 * std::log2(length * (noise + down) + length * length * repeated) - 0.5;
    const bool good = last.mean_bits() >= bound;
    std::printf("  chain of %d: mean %.2f after one, %.2f at the end (expected at least %.2f)%s\n",
                length, first.mean_bits(), last.mean_bits(), bound, good ? "" : "  DRIFT");
    return good;
  }

  const Arguments& arguments_;
  World world_;
  const Params& params_;
  std::unique_ptr<Bootstrapper> bootstrapper_;
  Ciphertext input_, output_;
  std::unique_ptr<Program> program_;
};

std::vector<std::string> chosen(const std::string& list) {
  std::vector<std::string> names = words(list);
  if (!names.empty()) return names;
  for (const std::string& name : preset_names()) {
    if (preset(name)->bootstrap()) names.push_back(name);
  }
  return names;
}

int run(const Arguments& arguments) {
  std::vector<Row> rows;
  bool good = true;
  for (const std::string& name : chosen(arguments.text("preset"))) {
    try {
      good &= Measurement(name, arguments).run(rows);
    } catch (const Error& error) {  // the other sets are still measured
      std::cerr << name << ": " << error.what() << std::endl;
      good = false;
    }
    std::fflush(stdout);
  }
  write_rows(rows, arguments.text("output"));
  return good ? 0 : 1;
}

}  // namespace
}  // namespace latticino::bench

int main(int argc, char** argv) {
  using namespace latticino;
  return bench::run_program(
      argc, argv,
      {{"device", "cpu"}, {"preset", ""}, {"runs", "20"}, {"chain", "50"}, {"threads", "0"}},
      [](const bench::Arguments& arguments) { return bench::run(arguments); });
}
