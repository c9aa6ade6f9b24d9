// TFHE's server keys in payloads: the bodies of both keys. Masks come from their seeds.
#pragma once

#include <cstdint>

#include "io/container.h"
#include "tfhe/server_keys.h"

namespace latticino::io {

std::uint64_t server_keys_bytes(const tfhe::Context& context);
void write_server_keys(Writer& writer, const tfhe::Context& context, const tfhe::ServerKeys& keys);
// Reads into keys that already have their shape and seeds.
void read_server_keys(Reader& reader, const tfhe::Context& context, tfhe::ServerKeys& keys);

}  // namespace latticino::io
