#include "tfhe/server_keys.h"

namespace latticino::tfhe {

BlindRotate blind_rotation(const TfheParams& params) {
  BlindRotate op;
  op.gadget = params.literal().bootstrap;
  op.glwe_dimension = params.glwe_dimension();
  op.group = params.literal().group;
  op.ternary = params.literal().ternary;
  return op;
}

ExpandUniform bootstrap_masks(const ServerKeys& keys, int glwe_dimension, std::uint32_t first,
                              std::uint32_t rows) {
  const auto k = static_cast<std::uint32_t>(glwe_dimension);
  ExpandUniform expand;
  for (std::uint32_t row = first; row < first + rows; ++row) {
    for (std::uint32_t c = 1; c <= k; ++c) {
      expand.items.push_back({keys.bootstrap_seed, std::uint64_t{row} * k + (c - 1),
                              keys.bootstrap.view[row * (k + 1) + c]});
    }
  }
  return expand;
}

std::shared_ptr<ServerKeys> allocate_server_keys(const Context& context, const rlwe::KeyId& id) {
  const TfheParams& params = context.params();
  auto keys = std::make_shared<ServerKeys>();
  keys->id = id;
  keys->params_hash = params.hash();
  const std::uint32_t polys =
      blind_rotation(params).key_index(static_cast<std::uint32_t>(params.steps()), 0, 0, 0);
  keys->bootstrap = context.allocate_polys(polys, Domain::Eval);
  keys->key_switch =
      context.allocate(static_cast<std::uint32_t>(params.lwe_dimension()),
                       static_cast<std::uint32_t>(params.big_dimension()) *
                           static_cast<std::uint32_t>(params.literal().key_switch.levels));
  return keys;
}

}  // namespace latticino::tfhe
