// The container of every file, all little endian:
//
//   header    magic 8 | version u32 | type u32 | scheme u32 | 0 u32 | params hash 32 | key id 16 |
//             metadata bytes u64 | payload bytes u64 | first 8 bytes of SHA-256 of the above: 96
//   metadata  fields of the type, then SHA-256 of header and metadata: 32
//   payload   residues u32 in logical order (poly/domain.h), limb after limb in basis order; of LWE
//             ciphertexts one after another, each its mask and its body
//   trailer   SHA-256 of everything before it: 32
//   signature optional, of anything but a secret key: io/signature.h
//
// Readers check the header, then that its lengths are exactly what the source still holds, then the
// metadata against the parameters, and allocate only after that. All but parameters carry the id of
// their key, which is not zero.
//
// Versions are of each kind of file (scheme and type) by itself: newest_version() lists them. A
// reader knows every version up to that; a field may only be added with a new version, and a writer
// writes the oldest version that holds what it has (Header::version). Version 2: switching keys
// that hold keys of route Matvec. Version 3: ciphertexts of CKKS whose note states the range of
// their values, server keys of TFHE with a public key, and secret keys under a passphrase
// (io/codec/secret.h). Version 4: ciphertexts of CKKS as final answers (io/final_ciphertext.h).
// Version 5: ciphertexts of CKKS whose note says that their range is calibrated; earlier readers
// would not know that claims on them hold for a sample only. Version 6: final answers with such a
// note. All else is written as version 1.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "crypto/sha256.h"
#include "io/codec.h"
#include "io/stream.h"
#include "rlwe/keys.h"

namespace latticino::io {

enum class ObjectType : std::uint32_t {
  Params = 1,
  EvaluationKeys = 2,
  PublicKey = 3,
  Ciphertexts = 4,
  SecretKey = 5,  // with a magic of its own
  Bundle = 6,     // several files in one (io/bundle_file.h)
};
const char* name(ObjectType type);

enum class Scheme : std::uint32_t { Ckks = 1, Tfhe = 2, Switching = 3 };
const char* name(Scheme scheme);

// The newest version that can be read.
std::uint32_t newest_version(Scheme scheme, ObjectType type);
inline constexpr std::size_t kHeaderBytes = 96, kDigestBytes = 32;
inline constexpr std::uint64_t kMaxMetadata = std::uint64_t{16} << 20;

struct Header {
  std::uint32_t version = 1;
  ObjectType type = ObjectType::Params;
  Scheme scheme = Scheme::Ckks;
  crypto::Sha256Digest params_hash{};
  rlwe::KeyId key;
  std::uint64_t metadata_bytes = 0, payload_bytes = 0;
};

crypto::Sha256Digest hash_bytes(const std::string& hex);  // of Params::hash()
std::string hash_text(const crypto::Sha256Digest& digest);

class Writer {
 public:
  // Writes header and metadata; `header`'s metadata_bytes is filled in.
  Writer(Sink& sink, Header header, const Encoder& metadata);
  void payload(std::span<const std::uint8_t> bytes);
  void finish();  // writes the trailer, and a signature if the sink has a signer
  // If true, the payload need not be written (Sink::only_length).
  bool skipped() const { return skipped_; }

 private:
  void put(std::span<const std::uint8_t> bytes);
  Sink& sink_;
  ObjectType type_;
  crypto::Sha256 digest_;
  std::uint64_t left_;
  bool skipped_ = false;
};

class Reader {
 public:
  // Reads and checks header and metadata.
  Reader(Source& source, ObjectType expected, Scheme scheme = Scheme::Ckks);
  const Header& header() const { return header_; }
  Decoder metadata() const { return Decoder(metadata_); }
  // Throws ContextError unless the file belongs to these parameters.
  template <class AnyParams>
  void require_params(const AnyParams& params) const {
    require_params(params.name(), params.hash());
  }
  // Throws FileError unless the payload has exactly this length. The other form: unless it has at
  // least this length, for a sum of stated lengths that could overflow.
  void require_payload(std::uint64_t bytes) const;
  void require_room(std::uint64_t bytes) const;
  // Whether the file says that a signature follows. FileError if its length says otherwise. Used
  // for sources that do not know their length.
  void expect_signature(bool follows);
  void payload(std::span<std::uint8_t> out);
  // Reads the trailer and asks the source's verifier. Nothing that was read may be trusted before.
  void finish();

 private:
  void require_params(const std::string& name, const std::string& hash) const;
  void get(std::span<std::uint8_t> out);
  Source& source_;
  crypto::Sha256 digest_;
  Header header_;
  bool signed_ = false;
  std::vector<std::uint8_t> metadata_;
};

// What a file says it is, from its header alone.
Header inspect(Source& source);

}  // namespace latticino::io
