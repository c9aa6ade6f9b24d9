/// \file
/// Saving and loading. Files carry a version, the hash of their parameters and the identity of
/// their key, and are checked before anything is allocated: damaged, truncated or hostile ones are
/// a FileError, those of other parameters a ContextError. Python reads and writes the same files.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "latticino/client.h"
#include "latticino/tfhe.h"

namespace latticino {

/// An Ed25519 signature, with the public key of whoever claims to have signed.
struct FileSignature {
  std::array<std::uint8_t, 32> public_key{};  ///< the public key of the signer
  std::array<std::uint8_t, 64> bytes{};       ///< the signature
};
/// Signs a message; the library has no signature scheme of its own.
using FileSigner = std::function<FileSignature(std::span<const std::uint8_t> message)>;
/// Called before anything that was read is returned: it throws if the file must not be trusted. For
/// files without a signature, `signature` is empty.
using FileVerifier = std::function<void(std::span<const std::uint8_t> message,
                                        const std::optional<FileSignature>& signature)>;

/// Costs and salt with which scrypt makes the key of 64 bytes that encrypts a secret key.
struct ScryptCosts {
  std::uint32_t log_n = 17;             ///< log2 of scrypt's N
  std::uint32_t r = 8;                  ///< scrypt's r
  std::uint32_t p = 1;                  ///< scrypt's p
  std::array<std::uint8_t, 32> salt{};  ///< drawn at random for each file
};
/// Makes that key from a passphrase, for instance with EVP_PBE_scrypt of OpenSSL.
using DeriveKey = std::function<std::vector<std::uint8_t>(const ScryptCosts& costs)>;

/// Saves parameters, with a signature if `sign` is given.
LATTICINO_API void save_parameters(const std::string& path, const ParameterSet& parameters,
                                   const FileSigner& sign = {});
/// Loads parameters. They are checked as if they were new.
LATTICINO_API ParameterSet load_parameters(const std::string& path,
                                           const FileVerifier& verify = {});

/// Saves an array. A fresh encryption under the secret key stores a seed for its uniform part: half
/// of the bytes.
LATTICINO_API void save_array(const std::string& path, const Array& x, const FileSigner& sign = {});
/// Loads an array into a context of the same parameters.
LATTICINO_API Array load_array(const std::string& path, const Context& context,
                               const FileVerifier& verify = {});
/// The same as bytes, for sending.
LATTICINO_API std::vector<std::uint8_t> to_bytes(const Array& x, const FileSigner& sign = {});
/// The array of such bytes.
LATTICINO_API Array array_from_bytes(std::span<const std::uint8_t> bytes, const Context& context,
                                     const FileVerifier& verify = {});

/// Saves server keys. A public key goes into a file beside it, with ".public" added to the name.
/// The keys of each switching set go into a file with the name of the set added. Older files with
/// these names are removed.
LATTICINO_API void save_server_keys(const std::string& path, const ServerKeys& keys,
                                    const FileSigner& sign = {});
/// Loads server keys. KeyError if the files beside it were made from another secret key.
LATTICINO_API ServerKeys load_server_keys(const std::string& path, const Context& context,
                                          const FileVerifier& verify = {});

/// Saves a secret key. The file is readable by its owner only. `derive` encrypts it. Without it,
/// the file is not encrypted: keep it as you keep private keys.
LATTICINO_API void save_secret_key(const std::string& path, const Client& client,
                                   const DeriveKey& derive = {});
/// Loads a secret key. FileError if others may read the file; KeyError if `derive` gives another
/// key, is missing, or is given for a file that is not encrypted.
LATTICINO_API Client load_client(const std::string& path, const Context& context,
                                 const DeriveKey& derive = {});

/// \{
/// The same functions for arrays, keys and clients of TFHE.
LATTICINO_API void save_array(const std::string& path, const TfheArray& x,
                              const FileSigner& sign = {});
LATTICINO_API TfheArray load_array(const std::string& path, const TfheContext& context,
                                   const FileVerifier& verify = {});
LATTICINO_API std::vector<std::uint8_t> to_bytes(const TfheArray& x, const FileSigner& sign = {});
LATTICINO_API TfheArray array_from_bytes(std::span<const std::uint8_t> bytes,
                                         const TfheContext& context,
                                         const FileVerifier& verify = {});
LATTICINO_API void save_server_keys(const std::string& path, const TfheServerKeys& keys,
                                    const FileSigner& sign = {});
LATTICINO_API TfheServerKeys load_server_keys(const std::string& path, const TfheContext& context,
                                              const FileVerifier& verify = {});
LATTICINO_API void save_secret_key(const std::string& path, const TfheClient& client,
                                   const DeriveKey& derive = {});
LATTICINO_API TfheClient load_client(const std::string& path, const TfheContext& context,
                                     const DeriveKey& derive = {});
/// \}

}  // namespace latticino
