// A parameter set of TFHE on a device under fresh real keys, and what benchmarks do with it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "params/switch/params.h"
#include "session/keys/tfhe_key_holder.h"
#include "support/common.h"
#include "tfhe/evaluator.h"

namespace latticino::bench {

// For a switching set, the parameters of its tables.
inline std::shared_ptr<const TfheParams> tfhe_params_of(const std::string& set) {
  return set.starts_with("switch-") || set.starts_with("test-switch-") ? switch_preset(set)->tfhe()
                                                                       : tfhe_preset(set);
}

struct TfheWorld : session::TfheKeyHolder {
  TfheWorld(std::shared_ptr<const TfheParams> of, std::unique_ptr<Backend> backend,
            BlindRotateArithmetic arithmetic)
      : TfheKeyHolder(tfhe::Context::create(
            std::move(of), std::make_unique<Queue>(std::move(backend)), arithmetic)),
        params(context->shared_params()) {
    const Stopwatch watch;
    keys = server_keys();
    context->queue().synchronize();
    std::printf("%s: keys in %.2f s\n", params->name().c_str(), watch.seconds());
  }

  std::shared_ptr<const TfheParams> params;
  std::shared_ptr<const tfhe::ServerKeys> keys;
};

// One gate or table of each of a batch of ciphertexts, which flips their messages.
class TfheFlips {
 public:
  TfheFlips(TfheWorld& world, int batch) : world_(world), evaluator_(world.context, world.keys) {
    const bool booleans = world.params->booleans();
    for (int i = 0; i < batch; ++i) messages_.push_back(static_cast<std::uint32_t>(i % 2));
    x = world.encrypt(messages_, booleans ? tfhe::Encoding::Boolean : tfhe::Encoding::Padded);
    if (!booleans) table_ = make_table(world.context, [](std::uint32_t m) { return m ^ 1; });
  }

  tfhe::Ciphertext operator()() const {
    return world_.params->booleans() ? evaluator_.gate(tfhe::Gate::Nand, x, x)
                                     : evaluator_.apply(x, table_);
  }
  void check(const tfhe::Ciphertext& y) const {
    const std::vector<std::uint32_t> results = tfhe::decrypt(world_.secret, y);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i] == (messages_[i] ^ 1)) continue;
      throw ValueError("bench.tfhe", "a wrong result", "the right one", "run the tests");
    }
  }

  tfhe::Ciphertext x;

 private:
  const TfheWorld& world_;
  tfhe::Evaluator evaluator_;
  std::vector<std::uint32_t> messages_;
  tfhe::Table table_;
};

// The records of one bootstrapping of each of a batch, one by one. Each record reads what the one
// before has written.
struct TfheRecords {
  TfheRecords(const TfheWorld& world, const tfhe::Ciphertext& x) {
    const TfheParams& params = *world.params;
    const tfhe::Context& context = *world.context;
    const auto count = x.size();
    const auto n = static_cast<std::uint32_t>(params.lwe_dimension());
    const auto parts = static_cast<std::uint32_t>(params.glwe_dimension()) + 1;
    switched = context.allocate(n, count);
    exponents = context.allocate(n, count, 2u * params.n());
    rotated = context.allocate_polys(count * parts, Domain::Coeff);
    out = context.allocate(static_cast<std::uint32_t>(params.big_dimension()), count);
    table = tfhe::constant_polynomial(context, params.lwe_modulus() / 8);
    key_switch = {
        world.keys->key_switch.view, params.literal().key_switch, {{x.view, switched.view}}};
    mod_switch = {true, 0, {{switched.view, exponents.view}}};
    rotate = tfhe::blind_rotation(context, *world.keys);
    rotate.items = {{exponents.view, table.view, rotated.view}};
    extract = {params.glwe_dimension(), {{rotated.view, {0}, out.view}}};
  }

  LweKeySwitch key_switch;
  ModSwitch mod_switch;
  BlindRotate rotate;
  SampleExtract extract;

 private:
  tfhe::Context::Lwe switched, exponents, out;
  tfhe::Context::Polys rotated;
  Poly table;
};

}  // namespace latticino::bench
