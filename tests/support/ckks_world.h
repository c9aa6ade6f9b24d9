// A small CKKS setting for tests: the holder of a key from a fixed seed, and a way to run a program
// with only the keys that its dry run asks for.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "ckks/encoding/encoder.h"
#include "math/errors.h"
#include "session/keys/ckks_key_holder.h"
#include "session/keys/dry_run.h"

namespace latticino::ckks {

// Returns a bundle's keys, and notes which were used.
class WitnessKeys : public rlwe::KeySource {
 public:
  explicit WitnessKeys(std::shared_ptr<const rlwe::EvaluationKeys> keys) : keys_(std::move(keys)) {}
  const rlwe::SwitchKey& get(const rlwe::KeyLabel& label, int level) const override {
    int& highest = used_.try_emplace(label, level).first->second;
    highest = std::max(highest, level);
    return keys_->get(label, level);
  }
  bool has(const rlwe::KeyLabel& label, int level) const override {
    return keys_->has(label, level);
  }
  rlwe::KeyId id() const override { return keys_->id(); }
  const rlwe::KeyRequest& used() const { return used_; }
  std::size_t bytes() const { return keys_->bytes(); }

 private:
  std::shared_ptr<const rlwe::EvaluationKeys> keys_;
  mutable rlwe::KeyRequest used_;
};

// The CPU with one thread; with LATTICINO_TEST_DEVICE=cuda, the GPU.
inline std::unique_ptr<Backend> test_backend() {
  const char* given = std::getenv("LATTICINO_TEST_DEVICE");
  const std::string device = given == nullptr ? "cpu" : given;
  if (device == "cuda") return make_cuda_backend();
  if (device == "cpu") return make_cpu_backend({true, 1});
  throw UnsupportedError("tests", "LATTICINO_TEST_DEVICE=" + device, "cpu or cuda",
                         "choose one, or leave it out for the CPU");
}

class World {
 public:
  using Values = std::vector<Complex>;
  using Batch = std::vector<Ciphertext>;
  using Program = std::function<Batch(const Evaluator&, const Batch&)>;

  explicit World(std::shared_ptr<const Params> params,
                 std::unique_ptr<Backend> backend = test_backend())
      : own_(Context::create(params, std::make_unique<Queue>(std::move(backend))),
             rlwe::Random::insecure_from_seed({1, 2, 3})),
        dry_(Context::create_dry(params)) {}
  explicit World(const std::string& name) : World(preset(name)) {}

  // One world for each preset and a whole test program, because making it takes longer than most
  // tests.
  static World& of(const std::string& name) {
    static std::map<std::string, std::unique_ptr<World>> worlds;
    std::unique_ptr<World>& world = worlds[name];
    if (world == nullptr) world = std::make_unique<World>(name);
    return *world;
  }

  const Params& params() const { return context()->params(); }
  // log2 of the smallest scale that fresh ciphertexts can be brought to.
  double log_scale() const {
    double least = std::log2(params().scale(0));
    for (int l = 1; l <= params().default_level(); ++l) {
      least = std::min(least, std::log2(params().scale(l)));
    }
    return least;
  }
  const std::shared_ptr<const Context>& context() const { return own_.context; }
  const rlwe::SecretKey& secret() const { return own_.secret; }
  rlwe::Random& random() { return own_.random; }

  // Random slots in the unit box.
  Values values(int slots, unsigned seed = 1) const {
    std::mt19937_64 generator(seed);
    std::uniform_real_distribution<double> uniform(-1, 1);
    Values out(slots);
    for (Complex& z : out) z = {uniform(generator), uniform(generator)};
    return out;
  }
  Values real_values(int slots, unsigned seed = 1) const {
    Values out = values(slots, seed);
    for (Complex& z : out) z = z.real();
    return out;
  }

  Ciphertext encrypt(const Values& values, int level, double scale = 0) {
    return own_.encrypt(values, level, scale == 0 ? params().scale(level) : scale);
  }
  std::vector<double> coefficients(const Ciphertext& x) const { return own_.coefficients(x); }
  Values decrypt(const Ciphertext& x) const { return own_.decrypt(x); }

  // Runs the program on the dry context. Returns its outputs without data, and the keys that it
  // asks for.
  Batch dry_run(const Program& program, const Batch& x, rlwe::KeyRequest* request) const {
    const session::DryRun run(dry_);
    Batch shapes;
    for (const Ciphertext& c : x) shapes.push_back(session::shape_of(dry_, c));
    Batch out = program(run.evaluator(), shapes);
    *request = run.request();
    return out;
  }

  std::shared_ptr<rlwe::EvaluationKeys> make_keys(const rlwe::KeyRequest& request) {
    return own_.keys(request);
  }

  // Dry run, generation of exactly the keys it reports, real run; both must use the same keys and
  // agree on levels, scales and slots.
  Batch run(const Program& program, const Batch& x) {
    rlwe::KeyRequest needed;
    const Batch planned = dry_run(program, x, &needed);
    const auto keys = std::make_shared<WitnessKeys>(make_keys(needed));
    Batch out = program(Evaluator(context(), keys), x);
    EXPECT_EQ(keys->used(), needed);
    EXPECT_EQ(out.size(), planned.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
      EXPECT_EQ(out[i].str(), planned[i].str());
      EXPECT_EQ(out[i].scale, planned[i].scale);
    }
    return out;
  }
  Ciphertext run(const std::function<Ciphertext(const Evaluator&, const Ciphertext&)>& program,
                 const Ciphertext& x) {
    return run([&](const Evaluator& e, const Batch& b) { return Batch{program(e, b[0])}; },
               Batch{x})[0];
  }

  std::vector<std::uint32_t> download(const Poly& poly) const {
    std::vector<std::uint32_t> out(static_cast<std::size_t>(poly.view.limbs()) * params().n());
    context()->queue().download(out.data(), poly.view);
    return out;
  }

 private:
  session::CkksKeyHolder own_;
  std::shared_ptr<const Context> dry_;
};

// -log2 of the largest |a - b|.
inline double bits_of(const std::vector<Complex>& a, const std::vector<Complex>& b) {
  EXPECT_EQ(a.size(), b.size());
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
  return -std::log2(worst);
}

template <class F>
std::vector<Complex> mapped(const std::vector<Complex>& a, F f) {
  std::vector<Complex> out;
  for (const Complex& z : a) out.push_back(f(z));
  return out;
}

inline std::vector<Complex> rotated(const std::vector<Complex>& a, int r) {
  const int n = static_cast<int>(a.size());
  std::vector<Complex> out(n);
  for (int i = 0; i < n; ++i) out[i] = a[(((i + r) % n) + n) % n];
  return out;
}

}  // namespace latticino::ckks
