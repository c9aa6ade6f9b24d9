#include "wasm/client.h"

#include "math/errors.h"
#include "wasm/schemes.h"

namespace latticino::wasm {
namespace {

// Reads the set from a file or from a text, for both schemes.
struct AnyParams {
  std::shared_ptr<const Params> ckks;
  std::shared_ptr<const TfheParams> tfhe;
};

AnyParams read_params(Bytes bytes) {
  constexpr std::string_view kCkks = "latticino-params ", kTfhe = "latticino-tfhe-params ";
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with(kCkks)) return {Params::check(parse_params(std::string(text))), nullptr};
  if (text.starts_with(kTfhe)) {
    return {nullptr, TfheParams::check(parse_tfhe_params(std::string(text)))};
  }
  io::MemorySource header(bytes), source(bytes);
  if (io::inspect(header).scheme == io::Scheme::Tfhe)
    return {nullptr, io::load_tfhe_params(source)};
  return {io::load_params(source), nullptr};
}

[[noreturn]] void refuse_values(const std::string& had, const std::string& needs) {
  throw UnsupportedError("encrypt", had, needs, "use the client of the other scheme");
}

}  // namespace

std::unique_ptr<Client> Client::make(Bytes params) {
  const AnyParams any = read_params(params);
  return any.ckks ? make_ckks_client(any.ckks) : make_tfhe_client(any.tfhe);
}

std::unique_ptr<Client> Client::load(Bytes params, Bytes file, Bytes passphrase) {
  const AnyParams any = read_params(params);
  return any.ckks ? load_ckks_client(any.ckks, file, passphrase)
                  : load_tfhe_client(any.tfhe, file, passphrase);
}

void Client::encrypt(io::Sink&, const Numbers&) {
  refuse_values("real or complex numbers under " + scheme(), "booleans or unsigned integers");
}

void Client::encrypt(io::Sink&, const Integers&) {
  refuse_values("a type of integers under " + scheme(), "real or complex numbers");
}

SealedKey::SealedKey(Bytes passphrase, const io::Scrypt& kdf)
    : kdf_(kdf), key_(crypto::kSealKeyBytes) {
  if (passphrase.empty()) {
    throw ValueError("passphrase", "an empty passphrase", "text, not empty", "choose one");
  }
  crypto::scrypt(passphrase, kdf.salt, static_cast<int>(kdf.log_n), kdf.r, kdf.p, key_);
}

SealedKey SealedKey::fresh(Bytes passphrase) {
  io::Scrypt kdf;
  crypto::system_entropy(kdf.salt);
  return {passphrase, kdf};
}

std::optional<SealedKey> SealedKey::of_file(Bytes file, io::Scheme scheme, Bytes passphrase) {
  io::MemorySource source(file);
  const std::optional<io::Scrypt> kdf = io::secret_key_seal(source, scheme);
  if (!kdf && !passphrase.empty()) {
    throw KeyError("load_client", "a passphrase for a secret key that is not encrypted", "none",
                   "load it without one, and save it again with one");
  }
  if (!kdf || passphrase.empty()) return std::nullopt;
  return SealedKey(passphrase, *kdf);
}

void require_shape(const Shape& shape, std::size_t size) {
  std::size_t product = 1;
  bool fits = true;
  for (const std::size_t n : shape) fits = fits && !__builtin_mul_overflow(product, n, &product);
  if (fits && product == size && size > 0) return;
  throw ShapeError("encrypt", std::to_string(size) + " values for another shape",
                   "as many values as the shape has, at least one", "correct the shape");
}

}  // namespace latticino::wasm
