// Compares BitPacker chains with chains whose levels have primes of their own (paper: BitPacker,
// Secs. 6.1 and 6.5):
//   bench_bitpacker --part chains --words 28,31 --scales 35,50 --device cuda --output rows.json
//   bench_bitpacker --part errors --scales 30,45,60 --samples 1000000
// chains: for each word, scale and kind of chain, the program searches for the deepest parameter
// set with 128-bit security and bootstrapping, which takes up to minutes. --kinds packed searches
// for packed chains only, --kinds whole for the others only. It writes the limbs and bytes of the
// set. It also times rotation, product, rescale, adjust and bootstrapping; --runs 0 leaves the
// times out. Where the ring does not have the primes for a chain, the row says why. errors: the
// program writes quartiles of the error that one rescale or adjust adds to a slot. It fails where
// the root mean square differs from the predicted one by 0.1 bit or more.
#include <atomic>
#include <cstdio>
#include <thread>

#include "bitpacker/bitpacker_errors.h"
#include "bitpacker/bitpacker_sets.h"
#include "support/sample.h"
#include "support/world.h"

namespace latticino::bench {
namespace {

constexpr double kBytes = 240e6;  // bytes that one round over the ciphertexts moves at least
// Allowed error of a root mean square, in bits: 10^6 slots leave 0.01.
constexpr double kMaxDeviation = 0.1;
constexpr Chain kChains[] = {Chain::Packed, Chain::Whole};

std::string name_of(Chain chain, const ChainSize& size) {
  if (chain == Chain::Packed) return "packed";
  const int primes = primes_of_level(size);
  return primes == 1 ? "single" : primes == 2 ? "double" : std::to_string(primes) + " primes";
}

Row sizes_of(Chain chain, const ChainSize& size) {
  Row out;
  out.add("N", 1 << size.log_n).add("word", size.word).add("log_scale", size.log_scale);
  return out.add("chain", name_of(chain, size));
}

int all_limbs(const Params& p) {
  int sum = 0;
  for (int l = 0; l <= p.level_after_bootstrap(); ++l) sum += p.limbs(l);
  return sum;
}

class Benchmark {
 public:
  explicit Benchmark(const Arguments& arguments)
      : arguments_(arguments), runs_(arguments.number("runs")) {}

  std::vector<Row> chains() {
    for (const Planned& x : planned()) {
      rows_.push_back(x.params ? chain_row(x.chain, x.size, *x.params)
                               : refused_row(x.chain, x.size, x.why));
      if (x.params && runs_ > 0) measure(x.chain, x.size, x.params);
    }
    return std::move(rows_);
  }

  std::vector<Row> errors(bool& good) {
    each([&](Chain chain, const ChainSize& size) {
      std::shared_ptr<const Params> params;
      try {
        params = two_levels(chain, size);
      } catch (const ParameterError& error) {
        rows_.push_back(refused_row(chain, size, error.what()));
        return;
      }
      const DivisionErrors found = division_errors(params, backend(), arguments_.number("samples"));
      good = add_errors("rescale", chain, size, *params, found.rescale) && good;
      good = add_errors("adjust", chain, size, *params, found.adjust) && good;
    });
    return std::move(rows_);
  }

 private:
  struct Planned {
    Chain chain;
    ChainSize size;
    std::shared_ptr<const Params> params = nullptr;
    std::string why = "";  // why there are no parameters
  };

  // The deepest sets, searched for on all cores.
  std::vector<Planned> planned() const {
    std::vector<Planned> out;
    each([&](Chain chain, const ChainSize& size) { out.push_back({chain, size}); });
    std::atomic<std::size_t> next = 0;
    std::vector<std::jthread> workers;
    for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t) {
      workers.emplace_back([&] {
        for (std::size_t i = next++; i < out.size(); i = next++) {
          try {
            out[i].params = deepest(out[i].chain, out[i].size);
          } catch (const ParameterError& error) {
            out[i].why = error.what();
          }
        }
      });
    }
    workers.clear();  // joins
    return out;
  }

  template <class Body>
  void each(const Body& body) const {
    for (const int word : arguments_.numbers("words")) {
      for (const std::string& scale : words(arguments_.text("scales"))) {
        for (const Chain chain : kChains) {
          if (!chosen(chain)) continue;
          // One word, as near to it as the primes are.
          const double log_scale = scale == "word" ? word - 0.3 : parsed<double>("scales", scale);
          body(chain, ChainSize{16, word, log_scale});
        }
      }
    }
  }

  bool chosen(Chain chain) const {
    const std::string& kinds = arguments_.choice("kinds", {"packed", "whole", "packed,whole"});
    return kinds == "packed,whole" || (kinds == "packed") == (chain == Chain::Packed);
  }

  std::unique_ptr<Backend> backend() const {
    return make_backend(arguments_.text("device"), arguments_.number("threads"));
  }

  Row ended(Row row) const {
    return row.add("commit", arguments_.text("commit")).add("date", today());
  }

  Row refused_row(Chain chain, const ChainSize& size, const std::string& why) const {
    std::printf("2^%d, scale 2^%.1f, %s: none: %s\n", size.word, size.log_scale,
                name_of(chain, size).c_str(), why.c_str());
    Row row;
    row.add("name", "bitpacker.refused").add("value", 0).add("unit", "levels");
    return ended(row.add("params", sizes_of(chain, size)).add("why", why));
  }

  Row chain_row(Chain chain, const ChainSize& size, const Params& p) const {
    const int left = p.level_after_bootstrap(), limbs = all_limbs(p);
    std::printf(
        "2^%d, scale 2^%.1f, %s: %d levels left, %d limbs at the top, %d of levels 0 to %d\n",
        size.word, size.log_scale, name_of(chain, size).c_str(), left, p.q_count(), limbs, left);
    std::fflush(stdout);
    Row row;
    row.add("name", "bitpacker.chain").add("value", static_cast<double>(limbs) / (left + 1));
    row.add("unit", "limbs per level").add("params", sizes_of(chain, size));
    row.add("levels_left", left).add("limbs_left", p.limbs(left)).add("limbs_top", p.q_count());
    row.add("mains", static_cast<int>(p.literal().mains.size()));
    row.add("terminals", static_cast<int>(p.literal().terminals.size() + p.literal().outer.size()));
    row.add("log_scale", p.literal().log_scale);
    row.add("evalmod_bits", p.literal().level_log_scale.back());
    row.add("prime_bits",
            std::log2(*std::max_element(p.literal().mains.begin(), p.literal().mains.end())));
    row.add("alpha", p.alpha()).add("dnum", p.dnum()).add("log_pq", p.log_pq());
    const auto limb = std::uint64_t{4} * static_cast<std::uint64_t>(p.n());
    row.add("ciphertext_bytes",
            std::uint64_t{2 * limb * static_cast<std::uint64_t>(p.limbs(left))});
    row.add("key_bytes", std::uint64_t{p.switching_key_bytes()});
    row.add("predicted_mean_bits", p.bootstrap_precision().random.mean);
    return ended(row);
  }

  bool add_errors(const char* operation, Chain chain, const ChainSize& size, const Params& p,
                  const ErrorBits& x) {
    const bool good = std::abs(x.rms - x.predicted_rms) < kMaxDeviation;
    std::printf(
        "%s, 2^%d, scale 2^%.1f, %s: median %.2f bits (%.2f .. %.2f), rms %.3f, predicted %.3f%s\n",
        operation, size.word, size.log_scale, name_of(chain, size).c_str(), x.median, x.low, x.high,
        x.rms, x.predicted_rms, good ? "" : ": WRONG");
    std::fflush(stdout);
    Row row;
    row.add("name", std::string("bitpacker.") + operation + "_error").add("value", x.median);
    row.add("unit", "bits").add("low", x.low).add("high", x.high);
    row.add("least", x.least).add("most", x.most).add("samples", x.samples);
    row.add("rms", x.rms).add("predicted_rms", x.predicted_rms);
    const DeviceInfo device = backend()->info();
    row.add("device", device.name).add("backend", device.backend);
    row.add("scale", std::log2(p.scale(0))).add("leaving", p.leaving(1).size());
    rows_.push_back(ended(row.add("params", sizes_of(chain, size))));
    return good;
  }

  void measure(Chain chain, const ChainSize& size, const std::shared_ptr<const Params>& params) {
    World world(params, backend());
    const int left = params->level_after_bootstrap();
    BootstrapOptions options;
    options.minimal_keys = arguments_.flag("minimal-keys");
    const DryRun dry = dry_run(params, 0, params->max_slots(), bootstrapping(options));
    const bool boots = arguments_.flag("bootstraps");
    rlwe::KeyRequest request =
        dry_run(params, left, params->max_slots(), [](const auto&) -> Program1 {
          return [](const ckks::Evaluator& e, const Ciphertext& x) {
            e.multiply(x, x);
            e.rotate(x, 1);
          };
        }).request;
    if (boots) {
      for (const auto& [label, highest] : dry.request) {
        request[label] = std::max(request[label], highest);
      }
    }
    world.make_keys(request);
    for (const int level : {left, std::max(1, left / 2)}) operations(world, chain, size, level);
    if (boots) bootstrap(world, chain, size, options, dry);
  }

  void operations(World& world, Chain chain, const ChainSize& size, int level) {
    const ckks::Evaluator& e = world.evaluator();
    const Params& p = *world.params();
    const double bytes = 4.0 * sizeof(std::uint32_t) * p.n() * p.limbs(level);
    std::vector<Ciphertext> x;
    const bool cached = arguments_.text("device") != "cuda";
    const int count = cached ? 1 : std::max(4, static_cast<int>(kBytes / bytes));
    for (int i = 0; i < count; ++i) {
      x.push_back(world.encrypt(world.message("complex", p.max_slots()), level));
    }
    const double up = p.scale(level - 1) * p.rescale_factor(level) / x[0].scale;
    std::vector<Ciphertext> out;
    const auto time = [&](const char* name, const auto& operation) {
      const Sample sample = replayed(world.queue(), runs_, [&] {
                              out.clear();
                              for (const Ciphertext& each : x) out.push_back(operation(each));
                            }).over(count * 1e-6);
      add_time(world, name, chain, size, level, sample, "us");
    };
    time("rotate", [&](const Ciphertext& y) { return e.rotate(y, 1); });
    time("multiply", [&](const Ciphertext& y) { return e.multiply(y, x[0]); });
    time("rescale", [&](const Ciphertext& y) { return e.rescale(y); });
    time("adjust",
         [&](const Ciphertext& y) { return e.rescale(e.multiply_scalar_no_rescale(y, 1, up)); });
  }

  void bootstrap(World& world, Chain chain, const ChainSize& size, const BootstrapOptions& options,
                 const DryRun& dry) {
    const Params& p = *world.params();
    const Bootstrapper bootstrapper(world.context(), options);
    const std::vector<Complex> z = world.message("complex", p.max_slots());
    const Ciphertext x = world.encrypt(z, 0);
    Ciphertext y;
    const Sample sample = replayed(world.queue(), runs_, [&] {
                            y = bootstrapper.bootstrap(world.evaluator(), x);
                          }).over(1e-3);
    Errors errors;
    errors.add(z, world.decrypt(y));
    Row& row = add_time(world, "bootstrap", chain, size, 0, sample, "ms");
    row.add("levels_left", p.level_after_bootstrap());
    row.add("minimal_keys", int{options.minimal_keys});
    row.add("mean_error_bits", errors.mean_bits()).add("max_error_bits", errors.max_bits());
    row.add("key_bytes", std::uint64_t{world.key_bytes()})
        .add("bytes_moved", dry.report.bytes_moved);
    std::printf("  mean %.1f, worst %.1f bits\n", errors.mean_bits(), errors.max_bits());
  }

  Row& add_time(World& world, const char* name, Chain chain, const ChainSize& size, int level,
                const Sample& sample, const char* unit) {
    std::printf("  %-9s level %2d, %2d limbs: %9.2f %s (%.2f .. %.2f)\n", name, level,
                world.params()->limbs(level), sample.median, unit, sample.low, sample.high);
    std::fflush(stdout);
    const DeviceInfo device = world.queue().device();
    Row row;
    row.add("name", std::string("bitpacker.") + name);
    sample.add_to(row, unit);
    row.add("device", device.name).add("backend", device.backend).add("mode", "replayed");
    Row sizes = sizes_of(chain, size);
    row.add("params", sizes.add("level", level).add("limbs", world.params()->limbs(level)));
    rows_.push_back(ended(row));
    return rows_.back();
  }

  const Arguments& arguments_;
  int runs_;
  std::vector<Row> rows_;
};

int run(const Arguments& arguments) {
  const bool chains = arguments.choice("part", {"chains", "errors"}) == "chains";
  Benchmark benchmark(arguments);
  bool good = true;
  write_rows(chains ? benchmark.chains() : benchmark.errors(good), arguments.text("output"));
  return good ? 0 : 1;
}

}  // namespace
}  // namespace latticino::bench

int main(int argc, char** argv) {
  return latticino::bench::run_program(argc, argv,
                                       {{"part", "chains"},
                                        {"device", "cpu"},
                                        {"threads", "0"},
                                        {"words", "28,29,30,31"},
                                        {"scales", "word,35,45,50"},
                                        {"kinds", "packed,whole"},
                                        {"runs", "0"},
                                        {"bootstraps", "1"},
                                        {"minimal-keys", "0"},
                                        {"samples", "1000000"}},
                                       latticino::bench::run);
}
