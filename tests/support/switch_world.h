// Both schemes on one queue, with only the CKKS keys that a dry run of a plan asks for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "support/bootstrap_world.h"
#include "switch/client.h"
#include "switch/switcher.h"

namespace latticino::switching {

class SwitchWorld {
 public:
  using Values = std::vector<double>;

  explicit SwitchWorld(const std::string& name,
                       std::unique_ptr<Backend> backend = ckks::test_backend())
      : params_(switch_preset(name)),
        world_(params_->shared_ckks(), std::move(backend)),
        context_(Context::create(params_, world_.context())),
        secret_(generate_secret(*params_, world_.random())),
        keys_(make_switch_keys(*context_, world_.secret(), secret_, world_.random())) {}

  // Keys of route Matvec too, made when they are first needed.
  void need(const MatvecShape& shape) {
    if (keys_->matvec.contains(shape)) return;
    keys_->matvec.emplace(
        shape, make_matvec_key(*context_, world_.secret(), secret_, shape, world_.random()));
  }

  static SwitchWorld& of(const std::string& name) {
    static std::map<std::string, std::unique_ptr<SwitchWorld>> worlds;
    std::unique_ptr<SwitchWorld>& world = worlds[name];
    if (world == nullptr) world = std::make_unique<SwitchWorld>(name);
    return *world;
  }

  ckks::World& ckks() { return world_; }
  const SwitchParams& params() const { return *params_; }
  const std::shared_ptr<const Context>& context() const { return context_; }
  const tfhe::SecretKey& secret() const { return secret_; }
  std::shared_ptr<const SwitchKeys> keys() const { return keys_; }

  ckks::Ciphertext encrypt(const Values& x, int level) {
    return world_.encrypt({x.begin(), x.end()}, level);
  }
  Values decrypt(const ckks::Ciphertext& x) const {
    Values out;
    for (const ckks::Complex& z : world_.decrypt(x)) out.push_back(z.real());
    return out;
  }
  // Evenly spaced over [-bound, bound], in mixed order.
  static Values spread(int slots, double bound) {
    Values out;
    for (int j = 0; j < slots; ++j) {
      const int k = static_cast<int>((std::int64_t{j} * 7919 + 13) % slots);
      out.push_back(slots == 1 ? bound / 3 : bound * (2.0 * k / (slots - 1) - 1));
    }
    return out;
  }

 private:
  std::shared_ptr<const SwitchParams> params_;
  ckks::World world_;
  std::shared_ptr<const Context> context_;
  tfhe::SecretKey secret_;
  std::shared_ptr<SwitchKeys> keys_;
};

// A plan with the CKKS keys that a program needs. Without a program: those of one table.
class SwitchPlan {
 public:
  using Program = std::function<ckks::World::Batch(const ckks::Evaluator&, const Switcher&,
                                                   const ckks::Ciphertext&)>;

  SwitchPlan(SwitchWorld& world, const SwitchOptions& options)
      : SwitchPlan(world, options, one_table, -1) {}
  // For inputs at that level.
  SwitchPlan(SwitchWorld& world, const SwitchOptions& options, const Program& program, int level)
      : world_(world),
        switcher_(world.context(), world.keys(), options),
        level_(level < 0 ? switcher_.input_level() : level) {
    world.ckks().dry_run(
        [&](const ckks::Evaluator& e, const ckks::World::Batch& b) {
          const auto dry = Context::create(world.context()->shared_params(), e.context());
          std::vector<MatvecShape> shapes;
          if (switcher_.matvec() != nullptr) shapes = {switcher_.matvec()->plan().shape};
          return program(e, Switcher(dry, allocate_switch_keys(*dry, shapes), options), b[0]);
        },
        {encrypt(SwitchWorld::Values(switcher_.options().slots, 0.0))}, &request_);
    evaluator_ =
        std::make_unique<ckks::Evaluator>(world.ckks().context(), world.ckks().make_keys(request_));
  }

  const Switcher& plan() const { return switcher_; }
  const ckks::Evaluator& evaluator() const { return *evaluator_; }
  SwitchWorld& world() const { return world_; }

  ckks::Ciphertext encrypt(const SwitchWorld::Values& x) const { return world_.encrypt(x, level_); }
  SwitchWorld::Values apply(const SwitchWorld::Values& x, const Table& table) const {
    return world_.decrypt(switcher_.apply(*evaluator_, encrypt(x), table));
  }

 private:
  static ckks::World::Batch one_table(const ckks::Evaluator& e, const Switcher& switcher,
                                      const ckks::Ciphertext& x) {
    const Table table = make_table(
        switcher.context(), [](double v) { return v; }, switcher.options().bound);
    return {switcher.apply(e, x, table)};
  }

  SwitchWorld& world_;
  Switcher switcher_;
  int level_;
  rlwe::KeyRequest request_;
  std::unique_ptr<ckks::Evaluator> evaluator_;
};

struct Errors {
  double mean = 0, largest = 0;
};
inline Errors errors_of(const std::vector<double>& have, const std::vector<double>& want) {
  EXPECT_EQ(have.size(), want.size());
  Errors out;
  for (std::size_t i = 0; i < have.size(); ++i) {
    const double e = std::abs(have[i] - want[i]);
    out.mean += e / static_cast<double>(have.size());
    out.largest = std::max(out.largest, e);
  }
  return out;
}

}  // namespace latticino::switching
