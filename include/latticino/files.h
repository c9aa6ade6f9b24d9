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

/// An Ed25519 signature and who claims to have signed.
struct FileSignature {
  std::array<std::uint8_t, 32> public_key{};
  std::array<std::uint8_t, 64> bytes{};
};
/// Signs a message; the library has no signature scheme of its own.
using FileSigner = std::function<FileSignature(std::span<const std::uint8_t> message)>;
/// Called before anything that was read is handed out: throws unless the file is to be trusted.
/// Files without a signature give none.
using FileVerifier = std::function<void(std::span<const std::uint8_t> message,
                                        const std::optional<FileSignature>& signature)>;

/// Costs and salt with which scrypt makes the key of 64 bytes that seals a secret key.
struct ScryptCosts {
  std::uint32_t log_n = 17, r = 8, p = 1;
  std::array<std::uint8_t, 32> salt{};
};
/// Makes that key of a passphrase: with EVP_PBE_scrypt of OpenSSL for instance.
using DeriveKey = std::function<std::vector<std::uint8_t>(const ScryptCosts& costs)>;

LATTICINO_API void save_parameters(const std::string& path, const ParameterSet& parameters,
                                   const FileSigner& sign = {});
/// Checked as if they were new.
LATTICINO_API ParameterSet load_parameters(const std::string& path,
                                           const FileVerifier& verify = {});

/// A fresh encryption under the secret key stores a seed for its uniform part: half of the bytes.
LATTICINO_API void save_array(const std::string& path, const Array& x, const FileSigner& sign = {});
LATTICINO_API Array load_array(const std::string& path, const Context& context,
                               const FileVerifier& verify = {});
/// The same as bytes, for sending.
LATTICINO_API std::vector<std::uint8_t> to_bytes(const Array& x, const FileSigner& sign = {});
LATTICINO_API Array array_from_bytes(std::span<const std::uint8_t> bytes, const Context& context,
                                     const FileVerifier& verify = {});

/// A public key goes beside the bundle, with ".public" added to the name, and the keys of each set
/// of switching, with the set's name added. What an older bundle left under these names goes.
LATTICINO_API void save_server_keys(const std::string& path, const ServerKeys& keys,
                                    const FileSigner& sign = {});
/// KeyError where the files beside it were made from another secret key.
LATTICINO_API ServerKeys load_server_keys(const std::string& path, const Context& context,
                                          const FileVerifier& verify = {});

/// Readable by its owner only. `derive` seals it; without, it is not encrypted: keep the file where
/// private keys are kept.
LATTICINO_API void save_secret_key(const std::string& path, const Client& client,
                                   const DeriveKey& derive = {});
/// FileError where others may read the file; KeyError where `derive` gives another key, is missing,
/// or is given for a file that is not sealed.
LATTICINO_API Client load_client(const std::string& path, const Context& context,
                                 const DeriveKey& derive = {});

/// The same of TFHE.
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

}  // namespace latticino
