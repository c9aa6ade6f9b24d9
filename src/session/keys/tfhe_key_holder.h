// What the holder of a TFHE key makes. Server code never includes this file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "session/keys/key_holder.h"
#include "tfhe/client.h"

namespace latticino::session {

struct TfheKeyHolder : KeyHolder<tfhe::Context, tfhe::SecretKey> {
  using KeyHolder::KeyHolder;

  // Values as integers of so many bits, one batch for each block. `bits` 0: single bits; below 0:
  // full messages.
  std::vector<tfhe::Ciphertext> encrypt(std::span<const std::uint64_t> values, int bits);
  tfhe::Ciphertext encrypt(std::span<const std::uint32_t> messages, tfhe::Encoding encoding);
  // `progress`: see tfhe::make_server_keys.
  std::shared_ptr<tfhe::ServerKeys> server_keys(const std::function<void(int, int)>& progress = {},
                                                bool with_public = false);
};

}  // namespace latticino::session
