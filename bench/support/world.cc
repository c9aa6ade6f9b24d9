#include "support/world.h"

#include <algorithm>
#include <iterator>

#include "backend/cpu_choice.h"

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
  const DryReport before = context->queue().report();
  const auto keys = std::make_shared<rlwe::KeyRecorder>(context->constants());
  const ckks::Evaluator evaluator(context, keys);
  Ciphertext x{context, {}, level, scale_at(*params, level), slots, keys->id()};
  for (int h = 0; h < 2; ++h) {
    x.parts.push_back(
        context->queue().allocate(context->ring(), params->basis(level), Domain::Eval));
  }
  program(evaluator, x);
  DryRun out{keys->request(), context->queue().report(), keys->bytes()};
  out.report.bytes_moved -= before.bytes_moved;
  out.report.operations -= before.operations;
  for (const auto& [name, count] : before.operations_by_name) {
    out.report.operations_by_name[name] -= count;
    out.report.bytes_by_name[name] -= before.bytes_by_name.at(name);
  }
  return out;
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
  if (device == "cuda") return {cuda_rates(), 1};
  const CpuChoice cpu = cpu_choice({device == "cpu", threads});
  return {cpu_rates(cpu.kernels), cpu.usable};
}

World::World(const std::string& preset_name, std::unique_ptr<Backend> backend)
    : World(preset(preset_name), std::move(backend)) {}

World::World(std::shared_ptr<const Params> params, std::unique_ptr<Backend> backend)
    : params_(std::move(params)),
      context_(ckks::Context::create(params_, std::make_unique<Queue>(std::move(backend)))),
      secret_(rlwe::SecretKey::generate(params_, random_)) {}

void World::make_keys(const rlwe::KeyRequest& request) {
  rlwe::KeyGenerator generator(context_->constants(), queue(), secret_, random_);
  keys_ = generator.make(request);
  evaluator_ = std::make_unique<ckks::Evaluator>(context_, keys_);
  queue().synchronize();
}

Ciphertext World::encrypt(const std::vector<Complex>& z, int level) {
  const ckks::Plaintext p = ckks::encode(context_, z, level, scale_at(*params_, level));
  return std::move(ckks::encrypt(secret_, {&p, 1}, random_).front());
}

std::vector<Complex> World::decrypt(const Ciphertext& x) const {
  return std::move(ckks::decrypt(secret_, {&x, 1}).front());
}

void World::copy(const Ciphertext& x, const Ciphertext& y) const {
  Copy copy;
  for (int h = 0; h < 2; ++h) copy.items.push_back({x.parts[h].view, y.parts[h].view});
  queue().submit(std::move(copy));
}

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
