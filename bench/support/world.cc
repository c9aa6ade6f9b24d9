#include "support/world.h"

#include <algorithm>
#include <iterator>

#include "session/ckks/host.h"
#include "session/keys/dry_run.h"

namespace latticino::bench {
namespace {

// Levels that only bootstrapping uses have no canonical scale.
double scale_at(const Params& params, int level) {
  return params.scale(std::min(level, params.default_level()));
}

}  // namespace

std::vector<Complex> make_message(const std::string& kind, int slots, std::mt19937_64& generator) {
  std::uniform_real_distribution<double> u(-1, 1);
  std::vector<Complex> z(static_cast<std::size_t>(slots));
  for (std::size_t j = 0; j < z.size(); ++j) {
    if (is_random(kind)) {
      const double re = u(generator);
      z[j] = {re, kind == "complex" ? u(generator) : 0.0};
    } else if (kind == "constant") {
      z[j] = 1;
    } else if (kind == "alternating") {
      z[j] = j % 2 == 0 ? 1 : -1;
    } else if (kind == "spike") {
      z[j] = j == 0 ? 1 : 0;
    } else {
      throw UnsupportedError("bench", "message '" + kind + "'",
                             "complex, real, merged, constant, alternating or spike", "choose one");
    }
  }
  return z;
}

bool is_random(const std::string& kind) {
  return kind == "complex" || kind == "real" || kind == "merged";
}

void Errors::add(const std::vector<Complex>& want, const std::vector<Complex>& have) {
  double worst = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double e = std::abs(want[i] - have[i]);
    sum += e;
    worst = std::max(worst, std::isfinite(e) ? e : INFINITY);
    count += 1;
  }
  largest = std::max(largest, worst);
  largest_sum += worst;
  runs += 1;
}

int level_of(const Params& params, int limbs) {
  int level = params.top_level();
  while (level > 1 && params.limbs(level) > limbs) --level;
  return level;
}

DryRun dry_run(const std::shared_ptr<const Params>& params, int level, int slots,
               const Setup& setup) {
  const auto context = ckks::Context::create_dry(params);
  const Program1 program = setup(context);
  const session::DryRun run(context);
  program(run.evaluator(), session::shape_only(context, level, scale_at(*params, level), slots));
  return {run.request(), run.report(), run.key_bytes()};
}

std::vector<Ciphertext> refresh(const Bootstrapper& bootstrapper, const ckks::Evaluator& evaluator,
                                std::span<const Ciphertext> x) {
  if (bootstrapper.options().message != BootstrapOptions::Message::MergedReals) {
    return bootstrapper.bootstrap(evaluator, x);
  }
  const std::size_t pairs = x.size() / 2;
  auto [out, second] = bootstrapper.bootstrap_pairs(evaluator, x.first(pairs), x.last(pairs));
  std::ranges::move(second, std::back_inserter(out));
  return std::move(out);
}

Setup bootstrapping(const BootstrapOptions& options, int batch) {
  return [options, batch](const std::shared_ptr<const ckks::Context>& context) -> Program1 {
    const auto bootstrapper = std::make_shared<Bootstrapper>(context, options);
    return [bootstrapper, batch](const ckks::Evaluator& evaluator, const Ciphertext& x) {
      refresh(*bootstrapper, evaluator, std::vector<Ciphertext>(batch, x));
    };
  };
}

Rates rates_of(const std::string& device, int threads) {
  const session::RateDevice timed = session::rate_device({device}, threads, device == "cpu");
  return {session::rates_of(timed.kernels), timed.threads};
}

World::World(const std::string& preset_name, std::unique_ptr<Backend> backend)
    : World(preset(preset_name), std::move(backend)) {}

World::World(std::shared_ptr<const Params> params, std::unique_ptr<Backend> backend)
    : params_(std::move(params)),
      own_(ckks::Context::create(params_, std::make_unique<Queue>(std::move(backend)))) {}

void World::make_keys(const rlwe::KeyRequest& request) {
  keys_ = own_.keys(request);
  evaluator_ = std::make_unique<ckks::Evaluator>(context(), keys_);
  queue().synchronize();
}

Ciphertext World::encrypt(const std::vector<Complex>& z, int level) {
  return own_.encrypt(z, level, scale_at(*params_, level));
}

void World::copy(const Ciphertext& x, const Ciphertext& y) const { session::copy_into(x, y); }

Row World::row(const std::string& name, double value, const std::string& unit, int runs) const {
  const DeviceInfo device = queue().device();
  Row row;
  row.add("name", name).add("value", value).add("unit", unit).add("median_of", runs);
  row.add("device", device.name).add("backend", device.backend).add("preset", params_->name());
  return row;
}

double median_seconds(Queue& queue, int runs, const std::function<void()>& body, int before) {
  std::vector<double> seconds;
  for (int i = -before; i < runs; ++i) {
    const Stopwatch watch;
    body();
    queue.synchronize();
    if (i >= 0) seconds.push_back(watch.seconds());
  }
  return median(seconds);
}

}  // namespace latticino::bench
