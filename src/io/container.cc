#include "io/container.h"

#include <algorithm>
#include <string>

#include "math/errors.h"

namespace latticino::io {
namespace {

using Magic = std::array<std::uint8_t, 8>;
// The high bit and the line ends show whether a transfer changed bytes.
constexpr Magic kPublicMagic = {0x93, 'L', 'A', 'T', 'T', 'I', '\r', '\n'};
constexpr Magic kSecretMagic = {0x93, 'L', 'A', 'T', 'S', 'E', 'C', '\n'};

const Magic& magic_of(ObjectType type) {
  return type == ObjectType::SecretKey ? kSecretMagic : kPublicMagic;
}

std::vector<std::uint8_t> encode(const Header& h) {
  Encoder e;
  e.raw(magic_of(h.type));
  e.u32(h.version);
  e.u32(static_cast<std::uint32_t>(h.type));
  e.u32(static_cast<std::uint32_t>(h.scheme));
  e.u32(0);
  e.raw(h.params_hash);
  e.raw(h.key.bytes);
  e.u64(h.metadata_bytes);
  e.u64(h.payload_bytes);
  const auto digest = crypto::sha256(e.bytes());
  e.raw(std::span(digest).first(8));
  return e.bytes();
}

[[noreturn]] void foreign(const std::string& had, const std::string& needs,
                          const std::string& remedy) {
  throw FileError("io.read", had, needs, remedy);
}

// The kind of object that a header states, if this library knows it.
void decode_kind(Header& h, std::uint32_t type, std::uint32_t scheme, const Magic& magic) {
  constexpr char kUpdate[] = "update the library";
  h.scheme = static_cast<Scheme>(scheme);
  if (scheme < 1 || scheme > static_cast<std::uint32_t>(Scheme::Switching)) {
    foreign("scheme " + std::to_string(scheme), "CKKS, TFHE or switching", kUpdate);
  }
  h.type = static_cast<ObjectType>(type);
  if (type < 1 || type > static_cast<std::uint32_t>(ObjectType::Bundle)) {
    foreign("object type " + std::to_string(type), "a type from 1 to 6", kUpdate);
  }
  if (magic != magic_of(h.type)) {
    refuse("object type " + std::to_string(type), "a type that the magic allows");
  }
  const std::uint32_t newest = newest_version(h.scheme, h.type);
  if (h.version == 0 || h.version > newest) {
    foreign("format version " + std::to_string(h.version) + " of " + name(h.type),
            "at most version " + std::to_string(newest), kUpdate);
  }
}

Header decode(std::span<const std::uint8_t> bytes) {
  Decoder d(bytes);
  Magic magic;
  d.raw(magic);
  if (magic != kPublicMagic && magic != kSecretMagic) {
    foreign("a file of another kind", "a file that this library wrote", "check the path");
  }
  Header h;
  h.version = d.u32();
  const std::uint32_t type = d.u32(), scheme = d.u32(), zero = d.u32();
  d.raw(h.params_hash);
  d.raw(h.key.bytes);
  h.metadata_bytes = d.u64();
  h.payload_bytes = d.u64();
  std::array<std::uint8_t, 8> check;
  d.raw(check);
  const auto digest = crypto::sha256(bytes.first(kHeaderBytes - check.size()));
  if (!std::equal(check.begin(), check.end(), digest.begin())) {
    refuse("a header that does not match its check", "an unaltered header");
  }
  decode_kind(h, type, scheme, magic);
  if (zero != 0) refuse("the reserved field " + std::to_string(zero), "0");
  if ((h.key == rlwe::KeyId{}) != (h.type == ObjectType::Params)) {
    refuse("key id " + h.key.str() + " of " + name(h.type),
           "the id of a key, and 0 for parameters alone");
  }
  return h;
}

Header read_header(Source& source, std::array<std::uint8_t, kHeaderBytes>& bytes) {
  source.read(bytes);
  return decode(bytes);
}

}  // namespace

const char* name(ObjectType type) {
  switch (type) {
    case ObjectType::Params:
      return "parameters";
    case ObjectType::EvaluationKeys:
      return "evaluation keys";
    case ObjectType::PublicKey:
      return "a public key";
    case ObjectType::Ciphertexts:
      return "ciphertexts";
    case ObjectType::SecretKey:
      return "a secret key";
    case ObjectType::Bundle:
      return "a bundle of keys";
  }
  return "an unknown object";
}

const char* name(Scheme scheme) {
  return scheme == Scheme::Ckks ? "CKKS" : scheme == Scheme::Tfhe ? "TFHE" : "switching";
}

std::uint32_t newest_version(Scheme scheme, ObjectType type) {
  struct Row {
    Scheme scheme;
    ObjectType type;
    std::uint32_t newest;
  };
  // One row for each kind of file that has changed. For the others, version 2 is read like version
  // 1.
  constexpr Row kRows[] = {{Scheme::Tfhe, ObjectType::EvaluationKeys, 3},
                           {Scheme::Switching, ObjectType::EvaluationKeys, 2},
                           {Scheme::Ckks, ObjectType::Ciphertexts, 6},
                           {Scheme::Ckks, ObjectType::SecretKey, 3},
                           {Scheme::Tfhe, ObjectType::SecretKey, 3}};
  for (const Row& row : kRows) {
    if (row.scheme == scheme && row.type == type) return row.newest;
  }
  return 2;
}

crypto::Sha256Digest hash_bytes(const std::string& hex) {
  crypto::Sha256Digest out{};
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  for (std::size_t i = 0; i < out.size() && 2 * i + 1 < hex.size(); ++i) {
    out[i] = static_cast<std::uint8_t>(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
  }
  return out;
}

std::string hash_text(const crypto::Sha256Digest& digest) {
  std::string s;
  for (const std::uint8_t b : digest) {
    s += "0123456789abcdef"[b >> 4];
    s += "0123456789abcdef"[b & 15];
  }
  return s;
}

Writer::Writer(Sink& sink, Header header, const Encoder& metadata)
    : sink_(sink), type_(header.type), left_(header.payload_bytes) {
  if ((header.key == rlwe::KeyId{}) != (header.type == ObjectType::Params)) {
    throw KeyError("io.write", std::string(name(header.type)) + " of key id " + header.key.str(),
                   "the id of a key, and 0 for parameters alone",
                   "save what a client made, not the keys of a dry run");
  }
  header.metadata_bytes = metadata.bytes().size();
  if (header.metadata_bytes > kMaxMetadata) {
    throw FileError("io.write", std::to_string(header.metadata_bytes) + " bytes of metadata",
                    "at most " + std::to_string(kMaxMetadata), "split it into several files");
  }
  const bool may_sign = sink.signer && header.type != ObjectType::SecretKey;
  skipped_ = sink.only_length(kHeaderBytes + header.metadata_bytes + 2 * kDigestBytes +
                              header.payload_bytes + (may_sign ? kSignatureBytes : 0));
  if (skipped_) return;
  put(encode(header));
  put(metadata.bytes());
  crypto::Sha256 so_far = digest_;
  put(so_far.finish());
}

void Writer::put(std::span<const std::uint8_t> bytes) {
  digest_.update(bytes);
  sink_.write(bytes);
  if (sink_.progress) sink_.progress(bytes.size());
}

void Writer::payload(std::span<const std::uint8_t> bytes) {
  if (skipped_) return;
  left_ -= bytes.size();
  put(bytes);
}

void Writer::finish() {
  if (skipped_) return;
  if (left_ != 0) {
    throw FileError("io.write", "a payload " + std::to_string(left_) + " bytes short",
                    "the length in the header", "report this as a bug");
  }
  const crypto::Sha256Digest trailer = digest_.finish();
  sink_.write(trailer);
  if (sink_.signer && type_ != ObjectType::SecretKey) {
    sink_.write(io::encode(sink_.signer(signed_message(trailer))));
  }
}

Reader::Reader(Source& source, ObjectType expected, Scheme scheme) : source_(source) {
  std::array<std::uint8_t, kHeaderBytes> bytes;
  header_ = read_header(source, bytes);
  digest_.update(bytes);
  if (header_.type != expected) {
    foreign(name(header_.type), name(expected), "use the function for what the file holds");
  }
  if (header_.scheme != scheme) {
    foreign(std::string(name(header_.type)) + " of " + name(header_.scheme), name(scheme),
            "use the function for what the file holds");
  }
  const std::uint64_t left = source.remaining();
  constexpr std::uint64_t kDigests = 2 * kDigestBytes;
  const bool stream = left == Source::kUnknown;
  if (stream && header_.type != ObjectType::Bundle) {
    foreign(std::string(name(header_.type)) + " in a stream without a length", "a bundle of keys",
            "read it from a file or from bytes");
  }
  const bool bounded =
      header_.metadata_bytes <= kMaxMetadata && left >= kDigests + header_.metadata_bytes;
  const std::uint64_t rest = bounded ? left - kDigests - header_.metadata_bytes : 0;
  signed_ = bounded && header_.type != ObjectType::SecretKey && rest >= kSignatureBytes &&
            rest - kSignatureBytes == header_.payload_bytes;
  if (!bounded || (!stream && !signed_ && rest != header_.payload_bytes)) {
    refuse(std::to_string(left) + " bytes after the header",
           std::to_string(header_.metadata_bytes) + " of metadata and " +
               std::to_string(header_.payload_bytes) + " of payload with their checks");
  }
  metadata_.resize(header_.metadata_bytes);
  get(metadata_);
  crypto::Sha256 so_far = digest_;
  crypto::Sha256Digest stored;
  get(stored);
  if (stored != so_far.finish()) refuse("metadata that do not match their check", "unaltered ones");
}

void Reader::get(std::span<std::uint8_t> out) {
  source_.read(out);
  digest_.update(out);
  if (source_.progress) source_.progress(out.size());
}

void Reader::require_params(const std::string& name, const std::string& hash) const {
  if (header_.params_hash == hash_bytes(hash)) return;
  throw ContextError("io.read",
                     "an object of parameters " + hash_text(header_.params_hash).substr(0, 16),
                     "one of " + name + " (" + hash.substr(0, 16) + ")",
                     "load it with the parameters it was made for");
}

void Reader::require_payload(std::uint64_t bytes) const {
  if (header_.payload_bytes == bytes) return;
  refuse("a payload of " + std::to_string(header_.payload_bytes) + " bytes",
         std::to_string(bytes) + " for what the metadata describe");
}

void Reader::require_room(std::uint64_t bytes) const {
  if (bytes > header_.payload_bytes) require_payload(bytes);
}

void Reader::expect_signature(bool follows) {
  if (source_.remaining() == Source::kUnknown) {
    signed_ = follows;
  } else if (signed_ != follows) {
    refuse(signed_ ? "a signature" : "no signature", "a file as its metadata describe it");
  }
}

void Reader::payload(std::span<std::uint8_t> out) { get(out); }

void Reader::finish() {
  crypto::Sha256Digest stored;
  source_.read(stored);
  if (stored != digest_.finish())
    refuse("content that does not match its check", "unaltered content");
  std::optional<Signature> signature;
  if (signed_) {
    std::array<std::uint8_t, kSignatureBytes> block;
    source_.read(block);
    signature = decode_signature(block);
  }
  if (source_.verifier) source_.verifier(signed_message(stored), signature);
}

Header inspect(Source& source) {
  std::array<std::uint8_t, kHeaderBytes> bytes;
  return read_header(source, bytes);
}

}  // namespace latticino::io
