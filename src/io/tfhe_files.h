// Files of TFHE: the same container, rules and errors as those of CKKS (io/files.h). A file of one
// scheme is a FileError for the other's functions.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/container.h"
#include "io/files.h"
#include "io/stream.h"
#include "tfhe/ciphertext.h"
#include "tfhe/client.h"
#include "tfhe/server_keys.h"

namespace latticino::io {

void save_params(Sink& sink, const TfheParams& params);
std::shared_ptr<const TfheParams> load_tfhe_params(Source& source);

// Both keys' bodies, and a seed each for the masks.
void save_keys(Sink& sink, const tfhe::Context& context, const tfhe::ServerKeys& keys);
std::shared_ptr<tfhe::ServerKeys> load_server_keys(Source& source, const tfhe::Context& context);

// Batches of one context and one key, with a note (io/files.h). Fresh encryptions go out as bodies
// and a seed, one word per ciphertext: loading them takes n + 1 words each, and throws
// OutOfMemoryError before it allocates more than 7/8 of what the device has free.
void save_ciphertexts(Sink& sink, std::span<const tfhe::Ciphertext> batches,
                      const std::string& note = {});
struct TfheCiphertexts {
  std::vector<tfhe::Ciphertext> batches;
  std::string note;
};
TfheCiphertexts load_tfhe_ciphertexts(Source& source,
                                      const std::shared_ptr<const tfhe::Context>& context);

// The same as for secret keys of CKKS (io/files.h).
void save_secret_key(const std::string& path, const tfhe::SecretKey& key,
                     const SecretSeal* seal = nullptr);
void save_secret_key(Sink& sink, const tfhe::SecretKey& key, const SecretSeal* seal = nullptr);
tfhe::SecretKey load_tfhe_secret_key(Source& source, std::shared_ptr<const TfheParams> params,
                                     std::span<const std::uint8_t> key = {});

}  // namespace latticino::io
