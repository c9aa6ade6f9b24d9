#include "tfhe/client.h"

namespace latticino::tfhe {

Integer encrypt_integers(const std::shared_ptr<const Context>& context, const SecretKey& secret,
                         std::span<const std::uint64_t> values, int bits, rlwe::Random& random) {
  Integer out;
  for (const std::vector<std::uint32_t>& block : integer_blocks(context->params(), values, bits)) {
    out.blocks.push_back(encrypt(context, secret, block, Encoding::Padded, random));
    out.blocks.back().largest = (1u << context->params().literal().message_bits) - 1;
  }
  return out;
}

std::vector<std::uint64_t> decrypt_integers(const SecretKey& secret, const Integer& x) {
  std::vector<std::uint64_t> out(x.size(), 0);
  int shift = 0;
  for (const Ciphertext& block : x.blocks) {
    const std::vector<std::uint32_t> values = decrypt(secret, block);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] += std::uint64_t{values[i]} << shift;
    shift += secret.params().literal().message_bits;
  }
  return out;
}

}  // namespace latticino::tfhe
