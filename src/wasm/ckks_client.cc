#include <algorithm>
#include <bit>
#include <cmath>

#include "ckks/encoding/client.h"
#include "io/bundle_file.h"
#include "math/errors.h"
#include "session/claims/slot_noise.h"
#include "session/keys/ckks_key_holder.h"
#include "session/note.h"
#include "wasm/scheme_client.h"

namespace latticino::wasm {
namespace {

using ckks::Complex;
using session::Range;

// Clears rows of decrypted values, or of values to encrypt, at the end of a scope.
struct ClearRows {
  std::vector<std::vector<Complex>>& rows;
  ~ClearRows() {
    for (auto& row : rows) crypto::secure_clear(row.data(), row.size() * sizeof(Complex));
  }
};

std::vector<std::vector<Complex>> rows_of(const Numbers& x, std::size_t size, std::size_t slots) {
  std::vector<std::vector<Complex>> rows((size + slots - 1) / slots, std::vector<Complex>(slots));
  for (std::size_t i = 0; i < size; ++i) {
    const Complex z =
        x.complex ? Complex(x.values[2 * i], x.values[2 * i + 1]) : Complex(x.values[i], 0.0);
    if (!std::isfinite(z.real()) || !std::isfinite(z.imag())) {
      throw ValueError("encrypt", "NaN or infinity at index " + std::to_string(i), "finite numbers",
                       "clean the data first");
    }
    rows[i / slots][i % slots] = z;
  }
  return rows;
}

// The claim about the values. It never says more than the caller states.
Range claimed(const Numbers& x, const std::vector<std::vector<Complex>>& rows, std::size_t size) {
  const Range range = x.range.value_or(Range::assumed(!x.complex));
  std::size_t left = size;
  for (const std::vector<Complex>& row : rows) {
    const std::size_t here = std::min(left, row.size());
    left -= here;
    if (range.contains(Range::of({row.data(), here}))) continue;
    throw ValueError("encrypt", "values outside of the range (" + range.str() + ")",
                     "values within it", "state the range of the values, or correct it");
  }
  return range;
}

struct Ckks {
  using Params = latticino::Params;
  using Context = ckks::Context;
  using SecretKey = rlwe::SecretKey;
  using Holder = session::CkksKeyHolder;
  static constexpr const char* kName = "CKKS";
  static constexpr io::Scheme kFiles = io::Scheme::Ckks;
  static constexpr auto read_secret = io::load_secret_key;
};

class CkksClient final : public SchemeClient<Ckks> {
 public:
  using SchemeClient::SchemeClient;

  std::string describe() const override {
    const Params& p = params();
    return "{\"scheme\": \"CKKS\", \"name\": \"" + p.name() + "\", \"hash\": \"" + p.hash() +
           "\", \"slots\": " + std::to_string(p.max_slots()) +
           ", \"level\": " + std::to_string(p.default_level()) + "}";
  }

  void save_server_keys(io::Sink& sink, std::vector<RequestedKey> wishes, bool with_public,
                        const Progress& progress) override {
    const rlwe::Constants& constants = own_.context->constants();
    Queue& queue = own_.context->queue();
    const rlwe::KeyId& id = own_.secret.id();
    std::vector<io::KeyEntry> entries = entries_of(std::move(wishes));
    rlwe::KeyGenerator generator = own_.generator();
    const int total = static_cast<int>(entries.size());
    int done = 0;
    const auto make = [&](const io::KeyEntry& e) {
      rlwe::SwitchKey key = generator.make(e.label, e.level, e.seed);
      progress(++done, total);
      return key;
    };
    std::vector<io::BundlePart> parts;
    parts.push_back(
        {"keys", [&](io::Sink& s) { io::save_keys(s, constants, queue, id, entries, make); }});
    if (with_public) {
      parts.push_back({"public", [&](io::Sink& s) {
                         const bool only_length = dynamic_cast<io::LengthSink*>(&s) != nullptr;
                         const rlwe::PublicKey key =
                             only_length ? rlwe::PublicKey{id, params().hash(), {}, {}}
                                         : own_.public_key();
                         io::save_public_key(s, constants, queue, key);
                       }});
    }
    io::save_bundle(sink, io::Scheme::Ckks, params().hash(), id, parts);
  }

  void encrypt(io::Sink& sink, const Numbers& x) override {
    if (x.complex && x.values.size() % 2 != 0) {
      throw ShapeError("encrypt", "half a complex number", "pairs",
                       "pass real and imaginary parts");
    }
    const std::size_t size = x.values.size() / (x.complex ? 2 : 1);
    require_shape(x.shape, size);
    const int level = x.level < 0 ? params().default_level() : x.level;
    if (level > params().top_level()) {
      throw LevelError("encrypt", "level " + std::to_string(level),
                       "a level from 0 to " + std::to_string(params().top_level()), "leave it out");
    }
    const std::size_t slots =
        std::min(static_cast<std::size_t>(params().max_slots()), std::bit_ceil(size));
    std::vector<std::vector<Complex>> rows = rows_of(x, size, slots);
    const ClearRows clear{rows};
    const Range range = claimed(x, rows, size);
    const double scale = params().scale(level);
    const double error = session::fresh_error(params(), scale, static_cast<int>(slots), false);
    const auto encrypt = [&](std::span<const ckks::Plaintext> m) { return own_.encrypt(m); };
    io::save_ciphertexts(sink, session::encrypt_rows(own_.context, rows, level, scale, encrypt),
                         ckks_note(x.shape, error, range), io::kRangeVersion);
  }

  Values decrypt(Bytes file) override {
    io::MemorySource source(file);
    const io::Ciphertexts loaded = io::load_ciphertexts(source, own_.context);
    const std::vector<ckks::Ciphertext>& parts = loaded.ciphertexts;
    const auto slots = parts.empty() ? std::size_t{0} : static_cast<std::size_t>(parts[0].slots);
    for (const ckks::Ciphertext& part : parts) {
      own_.require_own(part.key, "decrypt");
      if (part.slots != parts[0].slots) session::Note::refuse();
    }
    const CkksNote note = read_ckks_note(loaded.note, slots, parts.size());
    std::vector<std::vector<Complex>> rows = ckks::decrypt(own_.secret, parts);
    const ClearRows clear{rows};
    Values out{note.shape, note.real ? "real" : "complex", {}, {}};
    const std::size_t size = size_of(note.shape);
    out.numbers.reserve(note.real ? size : 2 * size);
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t at = note.places.empty() ? i : note.places[i];
      const Complex z = rows[at / slots][at % slots];
      out.numbers.push_back(z.real());
      if (!note.real) out.numbers.push_back(z.imag());
    }
    return out;
  }

 private:
  // Sorted, with each label once, its highest level and a fresh seed.
  std::vector<io::KeyEntry> entries_of(std::vector<RequestedKey> wishes) {
    rlwe::KeyRequest request;
    for (const auto& [kind, level] : wishes) {
      const rlwe::KeyLabel label =
          level < 0 || level > params().top_level() ? kind : kind.at(params(), level);
      if (label.kind != rlwe::KeyKind::Relinearize && label.kind != rlwe::KeyKind::Galois) {
        throw UnsupportedError("server_keys", "the key " + label.str() + ", of bootstrapping",
                               "keys of products and rotations",
                               "make keys of bootstrapping with the native library: they take "
                               "gigabytes");
      }
      rlwe::key_shape(own_.context->constants(), label, level);  // KeyError for other keys
      int& highest = request.try_emplace(label, level).first->second;
      highest = std::max(highest, level);
    }
    std::vector<io::KeyEntry> entries;
    for (const auto& [label, level] : request)
      entries.push_back({label, level, own_.random.seed()});
    return entries;
  }
};

}  // namespace

std::unique_ptr<Client> make_ckks_client(std::shared_ptr<const Params> params) {
  return std::make_unique<CkksClient>(std::move(params), std::nullopt);
}

std::unique_ptr<Client> load_ckks_client(std::shared_ptr<const Params> params, Bytes file,
                                         Bytes passphrase) {
  return std::make_unique<CkksClient>(params, secret_of_file<Ckks>(params, file, passphrase));
}

}  // namespace latticino::wasm
