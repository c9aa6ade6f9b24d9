#include "session/keys/tfhe_key_holder.h"

#include "crypto/secure_memory.h"

namespace latticino::session {

std::vector<tfhe::Ciphertext> TfheKeyHolder::encrypt(std::span<const std::uint64_t> values,
                                                     int bits) {
  if (bits > 0) return tfhe::encrypt_integers(context, secret, values, bits, random).blocks;
  std::vector<std::uint32_t> messages(values.begin(), values.end());
  const crypto::ClearOnExit clear(messages);
  std::vector<tfhe::Ciphertext> out{encrypt(messages, tfhe::encoding_of(context->params(), bits))};
  if (bits == 0) out[0].largest = 1;
  return out;
}

tfhe::Ciphertext TfheKeyHolder::encrypt(std::span<const std::uint32_t> messages,
                                        tfhe::Encoding encoding) {
  return tfhe::encrypt(context, secret, messages, encoding, random);
}

std::shared_ptr<tfhe::ServerKeys> TfheKeyHolder::server_keys(
    const std::function<void(int, int)>& progress, bool with_public) {
  auto keys = tfhe::make_server_keys(*context, secret, random, progress);
  if (with_public) {
    keys->public_key =
        std::make_shared<const tfhe::PublicKey>(tfhe::make_public_key(*context, secret, random));
  }
  return keys;
}

}  // namespace latticino::session
