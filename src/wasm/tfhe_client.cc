#include <algorithm>
#include <cstdlib>
#include <limits>

#include "io/bundle_file.h"
#include "math/errors.h"
#include "session/keys/tfhe_key_holder.h"
#include "session/note.h"
#include "wasm/scheme_client.h"

namespace latticino::wasm {
namespace {

constexpr int kMaxBits = 64;

std::string name_of(int bits) {
  if (bits == 0) return "bool";
  return (bits > 0 ? "u" : "m") + std::to_string(std::abs(bits));
}

// Bits of a type that the set can hold: 0 for "bool", whole blocks for integers, -p modulo 2^p.
int bits_of(const TfheParams& params, const std::string& type) {
  if (type == "bool") return 0;
  const int block = params.literal().message_bits;
  if (!params.booleans()) {
    if (type == name_of(-params.plain_bits())) return -params.plain_bits();
    for (int bits = block; bits <= kMaxBits; bits += block) {
      if (type == name_of(bits)) return bits;
    }
  }
  const std::string whole = "\"u" + std::to_string(block) + "\" to \"u64\" in steps of " +
                            std::to_string(block) + ", or \"m" +
                            std::to_string(params.plain_bits()) + "\"";
  throw ParameterError("encrypt", "the type '" + type.substr(0, 40) + "' under " + params.name(),
                       params.booleans() ? "\"bool\"" : "\"bool\", " + whole, "name such a type");
}

std::uint64_t most_of(int bits) {
  const int width = std::max(std::abs(bits), 1);
  return std::numeric_limits<std::uint64_t>::max() >> (kMaxBits - width);
}

struct Tfhe {
  using Params = TfheParams;
  using Context = tfhe::Context;
  using SecretKey = tfhe::SecretKey;
  using Holder = session::TfheKeyHolder;
  static constexpr const char* kName = "TFHE";
  static constexpr io::Scheme kFiles = io::Scheme::Tfhe;
  static constexpr auto read_secret = io::load_tfhe_secret_key;
};

class TfheClient final : public SchemeClient<Tfhe> {
 public:
  using SchemeClient::SchemeClient;

  std::string describe() const override {
    const TfheParams& p = params();
    return "{\"scheme\": \"TFHE\", \"name\": \"" + p.name() + "\", \"hash\": \"" + p.hash() +
           "\", \"messageBits\": " + std::to_string(p.literal().message_bits) + "}";
  }

  void save_server_keys(io::Sink& sink, std::vector<RequestedKey> wishes, bool with_public,
                        const Progress& progress) override {
    if (!wishes.empty()) {
      throw UnsupportedError("server_keys", "keys by label under TFHE", "none",
                             "leave them out: one set of keys serves every program");
    }
    const auto keys = own_.server_keys(progress, with_public);
    const io::BundlePart part{"keys", [&](io::Sink& s) { io::save_keys(s, *own_.context, *keys); }};
    io::save_bundle(sink, io::Scheme::Tfhe, params().hash(), own_.secret.id(), {&part, 1});
  }

  void encrypt(io::Sink& sink, const Integers& x) override {
    require_shape(x.shape, x.values.size());
    const int bits = bits_of(params(), x.type);
    const std::uint64_t most = most_of(bits);
    for (std::size_t i = 0; i < x.values.size(); ++i) {
      if (x.values[i] <= most) continue;
      throw ValueError("encrypt", "too large a value at index " + std::to_string(i),
                       "0 to " + std::to_string(most) + " for " + x.type, "use a wider type");
    }
    io::save_ciphertexts(sink, own_.encrypt(x.values, bits), tfhe_note(x.shape, x.type));
  }

  Values decrypt(Bytes file) override {
    io::MemorySource source(file);
    io::TfheCiphertexts loaded = io::load_tfhe_ciphertexts(source, own_.context);
    TfheNote note = read_tfhe_note(loaded.note);
    const int bits = bits_in_file(note.type);
    const int block = std::max(params().literal().message_bits, 1);
    const std::size_t size = size_of(note.shape);
    bool fits = loaded.batches.size() == static_cast<std::size_t>(std::max(bits / block, 1));
    for (const tfhe::Ciphertext& x : loaded.batches) {
      fits = fits && x.size() == size && x.largest <= most_of(std::min(bits, block)) &&
             (x.encoding == tfhe::Encoding::Full) == (bits < 0);
    }
    if (!fits) {
      throw FileError("load",
                      std::to_string(size) + " values of " + note.type + " for " +
                          std::to_string(loaded.batches.size()) + " batches",
                      "a shape that fits them", "use files of this library");
    }
    Values out{std::move(note.shape), std::move(note.type), {}, {}};
    std::vector<std::uint64_t> values =
        tfhe::decrypt_integers(own_.secret, {std::move(loaded.batches)});
    const crypto::ClearOnExit clear(values);
    out.integers.assign(values.begin(), values.end());
    return out;
  }

 private:
  int bits_in_file(const std::string& type) const {
    try {
      return bits_of(params(), type);
    } catch (const ParameterError&) {
      session::Note::refuse();
    }
  }
};

}  // namespace

std::unique_ptr<Client> make_tfhe_client(std::shared_ptr<const TfheParams> params) {
  return std::make_unique<TfheClient>(std::move(params), std::nullopt);
}

std::unique_ptr<Client> load_tfhe_client(std::shared_ptr<const TfheParams> params, Bytes file,
                                         Bytes passphrase) {
  return std::make_unique<TfheClient>(params, secret_of_file<Tfhe>(params, file, passphrase));
}

}  // namespace latticino::wasm
