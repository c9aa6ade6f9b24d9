// The client half in a browser: keys, encryption, decryption and their files, of one parameter set.
// It has no evaluator and no threads, and works on bytes instead of files.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "crypto/secure_memory.h"
#include "io/stream.h"
#include "rlwe/keys.h"
#include "wasm/notes.h"

namespace latticino::wasm {

using Bytes = std::span<const std::uint8_t>;
using Progress = std::function<void(int done, int total)>;

// A key that a server asks for, as in a row of Plan.keys.
struct RequestedKey {
  rlwe::KeyLabel label;
  int level = 0;
};

// The values to encrypt under CKKS, row by row. Complex ones are pairs.
struct Numbers {
  std::span<const double> values;
  bool complex = false;
  Shape shape = {};
  int level = -1;                            // -1: the set's level of fresh ciphertexts
  std::optional<session::Range> range = {};  // none: values are within -1 and 1
};

// The values to encrypt under TFHE.
struct Integers {
  std::span<const std::uint64_t> values;
  Shape shape;
  std::string type;  // "bool", "u2" to "u64", "m4"
};

// Decrypted values. `type`: "real", "complex" (pairs), or a type of TFHE, whose values are in
// `integers`.
struct Values {
  Shape shape;
  std::string type;
  crypto::ClearingVector<double> numbers;
  crypto::ClearingVector<std::uint64_t> integers;
};

class Client {
 public:
  // `params`: the bytes of a parameter file, or the canonical text of a set. FileError and
  // ParameterError for others.
  static std::unique_ptr<Client> make(Bytes params);  // makes a new secret key
  // Loads the secret key of a file, which may be sealed by a passphrase (empty: it is not sealed).
  static std::unique_ptr<Client> load(Bytes params, Bytes file, Bytes passphrase);
  virtual ~Client() = default;

  virtual std::string scheme() const = 0;  // "CKKS" or "TFHE"
  virtual std::string key_id() const = 0;
  virtual std::string describe() const = 0;  // JSON with name, hash and sizes of the set

  // The file of the secret key, sealed by a passphrase, which must not be empty.
  virtual void save_secret(io::Sink& sink, Bytes passphrase) = 0;
  // A bundle of server keys, as lt.to_bytes(keys) of Python. Keys of CKKS are made while they are
  // written, one at a time. TFHE has one set of keys: `wishes` is empty. UnsupportedError for keys
  // of bootstrapping.
  virtual void save_server_keys(io::Sink& sink, std::vector<RequestedKey> wishes, bool with_public,
                                const Progress& progress) = 0;
  // A file of ciphertexts, as lt.to_bytes(x) of Python. UnsupportedError for the other scheme's
  // values.
  virtual void encrypt(io::Sink& sink, const Numbers& x);
  virtual void encrypt(io::Sink& sink, const Integers& x);
  // Decrypts such a file, and files of final answers. KeyError if another key made it.
  virtual Values decrypt(Bytes file) = 0;
};

}  // namespace latticino::wasm
