// A bootstrapping plan with only the keys that its dry run asks for.
#pragma once

#include <cmath>
#include <memory>

#include "ckks/bootstrap/bootstrap.h"
#include "support/ckks_world.h"

namespace latticino::ckks {

class BootstrapWorld {
 public:
  BootstrapWorld(World& world, const BootstrapOptions& options)
      : world_(world), bootstrapper_(world.context(), options) {
    rlwe::KeyRequest request;
    const Ciphertext x = world.encrypt(World::Values(slots(), 0.5), plan().input_level());
    world.dry_run(
        [&](const Evaluator& e, const World::Batch& b) -> World::Batch {
          const Bootstrapper dry(e.context(), options);
          if (options.message != BootstrapOptions::Message::MergedReals) {
            return {dry.bootstrap(e, b[0])};
          }
          const auto [re, im] = dry.bootstrap_pair(e, b[0], b[0]);
          return {re, im};
        },
        {x}, &request);
    keys_ = std::make_shared<WitnessKeys>(world.make_keys(request));
    evaluator_ = std::make_unique<Evaluator>(world.context(), keys_);
    requested_ = request;
  }

  // One plan for each preset and slot count, for complex messages. Tests share it.
  static BootstrapWorld& of(const std::string& name, int slots) {
    static std::map<std::pair<std::string, int>, std::unique_ptr<BootstrapWorld>> worlds;
    std::unique_ptr<BootstrapWorld>& world = worlds[{name, slots}];
    if (world == nullptr) {
      BootstrapOptions options;
      options.slots = slots;
      world = std::make_unique<BootstrapWorld>(World::of(name), options);
    }
    return *world;
  }

  int slots() const {
    const int slots = bootstrapper_.options().slots;
    return slots == 0 ? world_.params().max_slots() : slots;
  }
  World& world() const { return world_; }
  const Bootstrapper& plan() const { return bootstrapper_; }
  const Evaluator& evaluator() const { return *evaluator_; }
  const rlwe::KeyRequest& requested() const { return requested_; }
  std::size_t key_bytes() const { return keys_->bytes(); }
  const rlwe::KeyRequest& used() const { return keys_->used(); }

  Ciphertext bootstrap(const Ciphertext& x) const { return plan().bootstrap(evaluator(), x); }
  World::Values refreshed(const World::Values& z) const {
    return world_.decrypt(bootstrap(world_.encrypt(z, plan().input_level())));
  }

 private:
  World& world_;
  Bootstrapper bootstrapper_;
  std::shared_ptr<WitnessKeys> keys_;
  std::unique_ptr<Evaluator> evaluator_;
  rlwe::KeyRequest requested_;
};

inline double base_modulus(const Params& params) {
  double q0 = 1;
  for (int i = 0; i < params.basis(0).size(); ++i) {
    q0 *= params.ring_primes()[params.basis(0).prime(i)];
  }
  return q0;
}

// Coefficients of the integer polynomial in units of q0: message * ratio + I.
inline std::vector<double> raised_coefficients(const BootstrapWorld& b, const Ciphertext& raised) {
  std::vector<double> c = b.world().coefficients(raised);
  for (double& x : c) x *= raised.scale / base_modulus(b.world().params());
  return c;
}

// Coefficients of the subring in the order of CoeffToSlot: real halves, then imaginary ones, both
// in bit-reversed order.
inline std::vector<double> expected_order(const std::vector<double>& c, int slots) {
  const int half = static_cast<int>(c.size()) / 2, gap = half / slots;
  std::vector<double> re(slots), im(slots);
  for (int j = 0; j < slots; ++j) {
    int k = 0;
    for (int bit = 1; bit < slots; bit *= 2) k = 2 * k + ((j & bit) != 0);
    re[j] = c[k * gap];
    im[j] = c[half + k * gap];
  }
  re.insert(re.end(), im.begin(), im.end());
  return re;
}

inline World::Values side_by_side(const BootstrapWorld& b, const std::vector<Ciphertext>& x) {
  World::Values out;
  for (const Ciphertext& y : x) {
    const World::Values z = b.world().decrypt(y);
    out.insert(out.end(), z.begin(), z.end());
  }
  return out;
}

struct MeasuredErrors {
  double sum = 0, largest = 0;
  int count = 0;
  void add(const std::vector<Complex>& want, const std::vector<Complex>& have) {
    ASSERT_EQ(want.size(), have.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
      const double e = std::abs(want[i] - have[i]);
      sum += e;
      largest = std::max(largest, e);
      ++count;
    }
  }
  double mean_bits() const { return -std::log2(sum / count); }
  double max_bits() const { return -std::log2(largest); }
};

}  // namespace latticino::ckks
