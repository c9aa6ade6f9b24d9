#include "switch/keys.h"

namespace latticino::switching {

std::size_t SwitchKeys::bytes() const {
  return to_ring.bytes() + to_sparse.bytes() + tfhe->bytes() + packing->bytes();
}

std::vector<std::uint32_t> packing_elements(const SwitchParams& params) {
  std::vector<std::uint32_t> out;
  for (int i = 2; i <= params.literal().log_n; ++i) out.push_back((1u << i) + 1);
  return out;
}

std::shared_ptr<SwitchKeys> allocate_switch_keys(const Context& context) {
  const SwitchParams& params = context.params();
  const auto one_digit = [&](const Basis& basis) {
    rlwe::OneDigitKey key;
    for (Poly& part : key.parts) {
      part = context.queue().allocate(context.ckks()->ring(), basis, Domain::Eval);
    }
    return key;
  };
  auto keys = std::make_shared<SwitchKeys>();
  keys->params_hash = params.hash();
  keys->to_ring = one_digit(params.lwe_basis().with(params.key_aux()));
  keys->to_sparse = one_digit(params.ckks().encapsulation_basis());
  keys->tfhe = tfhe::allocate_server_keys(*context.tfhe(), {});
  auto packing = std::make_shared<rlwe::EvaluationKeys>(rlwe::KeyId{}, params.packing()->hash());
  const rlwe::KeyRecorder shapes(context.packing());
  for (const std::uint32_t g : packing_elements(params)) {
    rlwe::SwitchKey key = shapes.get({rlwe::KeyKind::Galois, g}, 0);
    for (auto& digit : key.digits) {
      for (Poly& part : digit) {
        part = context.queue().allocate(context.packing().ring(), part.view.basis(), Domain::Eval);
      }
    }
    packing->insert(std::move(key));
  }
  keys->packing = std::move(packing);
  return keys;
}

}  // namespace latticino::switching
