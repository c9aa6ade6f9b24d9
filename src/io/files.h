// Saving and loading: a pair of functions per object. A Sink or Source is a file (io/stream.h:
// write_file, FileSource) or memory. Loading throws FileError for damaged, truncated or hostile
// bytes and ContextError for objects of other parameters.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ckks/ciphertext.h"
#include "crypto/sealed.h"
#include "io/container.h"
#include "io/stream.h"
#include "rlwe/client.h"
#include "rlwe/evaluation_keys.h"

namespace latticino::io {

void save_params(Sink& sink, const Params& params);
std::shared_ptr<const Params> load_params(Source& source);

// Bundles store the b parts, and one seed for each key. Loading expands the a parts.
void save_keys(Sink& sink, const rlwe::Constants& constants, Queue& queue,
               const rlwe::EvaluationKeys& keys);
// The same file of keys that are made while it is written, one in memory at a time. `keys`: in
// increasing order of their labels, which ValueError enforces, with the seed that `make` uses.
struct KeyEntry {
  rlwe::KeyLabel label;
  int level = 0;
  std::array<std::uint8_t, 32> seed{};
};
void save_keys(Sink& sink, const rlwe::Constants& constants, Queue& queue, const rlwe::KeyId& id,
               std::span<const KeyEntry> keys,
               const std::function<rlwe::SwitchKey(const KeyEntry&)>& make);
std::shared_ptr<rlwe::EvaluationKeys> load_keys(Source& source, const rlwe::Constants& constants,
                                                Queue& queue);

void save_public_key(Sink& sink, const rlwe::Constants& constants, Queue& queue,
                     const rlwe::PublicKey& key);
rlwe::PublicKey load_public_key(Source& source, const rlwe::Constants& constants, Queue& queue);

// Versions of ciphertexts of CKKS whose note states the range of their values, and of those whose
// note calls the range calibrated. Callers write the notes, so they also say which version it is.
inline constexpr std::uint32_t kRangeVersion = 3, kCalibratedVersion = 5;

// Any number of ciphertexts of one context and one key, with a note (at most 64 KiB of UTF-8; what
// the caller needs to know about them, such as the length of a vector). The a part of a fresh
// symmetric encryption goes out as its seed.
void save_ciphertexts(Sink& sink, std::span<const ckks::Ciphertext> ciphertexts,
                      const std::string& note = {}, std::uint32_t version = 1);
struct Ciphertexts {
  std::vector<ckks::Ciphertext> ciphertexts;
  std::string note;
  bool final = false;  // for answers that are only decrypted (io/final_ciphertext.h)
};
Ciphertexts load_ciphertexts(Source& source, const std::shared_ptr<const ckks::Context>& context);

// A seal of secret keys in files: a key of kSealKeyBytes that scrypt makes from a passphrase and
// the salt, outside of this library (Python: hashlib.scrypt), with costs N = 2^log_n, r and p.
struct Scrypt {
  std::uint32_t log_n = 17, r = 8, p = 1;
  std::array<std::uint8_t, 32> salt{};  // must be new for every file
};
struct SecretSeal {
  Scrypt kdf;
  crypto::SealKey key;
};

// A secret key in a file of its own kind, readable by its owner only; not encrypted without a seal:
// keep it where private keys are kept. No other file holds secrets. `key` opens a seal: KeyError
// where it is missing, another one, or given for a file without a seal.
void save_secret_key(const std::string& path, const rlwe::SecretKey& key,
                     const SecretSeal* seal = nullptr);
void save_secret_key(Sink& sink, const rlwe::SecretKey& key, const SecretSeal* seal = nullptr);
rlwe::SecretKey load_secret_key(Source& source, std::shared_ptr<const Params> params,
                                std::span<const std::uint8_t> key = {});
// The costs and salt of a file's seal; none if it has no seal. Nothing of it is authenticated yet.
std::optional<Scrypt> secret_key_seal(Source& source, Scheme scheme);

}  // namespace latticino::io
