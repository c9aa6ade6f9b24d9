// The functions that JavaScript calls (web/latticino.mjs) and those that it must provide. Numbers
// are 32-bit; addresses are in the memory of the module. A call that fails gives its error to
// lt_fail and returns 0.
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <typeinfo>

#include "math/errors.h"
#include "wasm/client.h"

#define LATTICINO_IMPORT(name) __attribute__((import_module("env"), import_name(#name)))
#define LATTICINO_EXPORT(name) __attribute__((export_name(#name)))

extern "C" {
// A piece of the file or of the values that a call returns.
void lt_write(const void* bytes, std::size_t count) LATTICINO_IMPORT(lt_write);
void lt_progress(int done, int total) LATTICINO_IMPORT(lt_progress);
void lt_fail(const char* kind, std::size_t kind_bytes, const char* text, std::size_t text_bytes)
    LATTICINO_IMPORT(lt_fail);
}

namespace latticino::wasm {
namespace {

// Gives large pieces to JavaScript at once.
class JsSink final : public io::Sink {
 public:
  ~JsSink() override = default;
  void write(std::span<const std::uint8_t> bytes) override {
    if (held_.size() + bytes.size() > kPiece) flush();
    if (bytes.size() >= kPiece) return lt_write(bytes.data(), bytes.size());
    if (held_.capacity() == 0) held_.reserve(kPiece);
    held_.insert(held_.end(), bytes.begin(), bytes.end());
  }
  void flush() {
    if (!held_.empty()) lt_write(held_.data(), held_.size());
    held_.clear();
  }

 private:
  static constexpr std::size_t kPiece = std::size_t{1} << 20;
  crypto::ClearingVector<std::uint8_t> held_;
};

// All clients of a page share one numbering.
std::map<int, std::unique_ptr<Client>>& clients() {
  static std::map<int, std::unique_ptr<Client>> all;
  return all;
}

int keep(std::unique_ptr<Client> client) {
  static int last = 0;
  clients()[++last] = std::move(client);
  return last;
}

Client& client_of(int id) {
  const auto at = clients().find(id);
  if (at != clients().end()) return *at->second;
  throw ContextError("client", "a client that was closed", "one in use", "make or load one");
}

void fail(std::string_view kind, std::string_view text) {
  lt_fail(kind.data(), kind.size(), text.data(), text.size());
}

template <class E>
bool report(const Error& error, const char* name) {
  if (dynamic_cast<const E*>(&error) == nullptr) return false;
  fail(name, error.what());
  return true;
}

void report(const Error& e) {
  const bool known =
      report<ParameterError>(e, "ParameterError") || report<LevelError>(e, "LevelError") ||
      report<ScaleError>(e, "ScaleError") || report<KeyError>(e, "KeyError") ||
      report<ContextError>(e, "ContextError") || report<ShapeError>(e, "ShapeError") ||
      report<ValueError>(e, "ValueError") || report<DeviceError>(e, "DeviceError") ||
      report<OutOfMemoryError>(e, "OutOfMemoryError") || report<FileError>(e, "FileError") ||
      report<UnsupportedError>(e, "UnsupportedError");
  if (!known) fail("LatticinoError", e.what());
}

// Returns the result of `body`, or 0 after an error. Exceptions never reach JavaScript.
template <class Body>
int guarded(const Body& body) noexcept {
  try {
    return body();
  } catch (const Error& error) {
    report(error);
  } catch (const std::bad_alloc&) {
    fail("OutOfMemoryError",
         "allocate: had the memory of this module; needs more of it; "
         "use smaller parameters or fewer values");
  } catch (const std::exception& error) {
    fail("LatticinoError", error.what());
  }
  return 0;
}

Shape shape_of(const double* lengths, std::size_t dimensions) {
  Shape out;
  for (std::size_t i = 0; i < dimensions; ++i) out.push_back(static_cast<std::size_t>(lengths[i]));
  return out;
}

std::string json(const Values& x) {
  std::string out = "{\"type\": \"" + x.type + "\", \"shape\": [";
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    out += (i == 0 ? "" : ", ") + std::to_string(x.shape[i]);
  }
  return out + "]}";
}

}  // namespace
}  // namespace latticino::wasm

using namespace latticino::wasm;

extern "C" {

LATTICINO_EXPORT(lt_allocate) void* lt_allocate(std::size_t bytes) {
  return std::malloc(bytes == 0 ? 1 : bytes);
}

// Clears the memory, because what JavaScript wrote there may be secret.
LATTICINO_EXPORT(lt_free) void lt_free(void* p, std::size_t bytes) {
  latticino::crypto::secure_clear(p, bytes);
  std::free(p);
}

LATTICINO_EXPORT(lt_make) int lt_make(const std::uint8_t* params, std::size_t bytes) {
  return guarded([&] { return keep(Client::make({params, bytes})); });
}

LATTICINO_EXPORT(lt_load)
int lt_load(const std::uint8_t* params, std::size_t bytes, const std::uint8_t* file,
            std::size_t file_bytes, const std::uint8_t* passphrase, std::size_t passphrase_bytes) {
  return guarded([&] {
    return keep(Client::load({params, bytes}, {file, file_bytes}, {passphrase, passphrase_bytes}));
  });
}

LATTICINO_EXPORT(lt_close) void lt_close(int client) { clients().erase(client); }

// The result is JSON.
LATTICINO_EXPORT(lt_describe) int lt_describe(int client) {
  return guarded([&] {
    const Client& c = client_of(client);
    std::string text = c.describe();
    text.insert(text.size() - 1, ", \"keyId\": \"" + c.key_id() + "\"");
    lt_write(text.data(), text.size());
    return 1;
  });
}

LATTICINO_EXPORT(lt_save_secret)
int lt_save_secret(int client, const std::uint8_t* passphrase, std::size_t bytes) {
  return guarded([&] {
    JsSink sink;
    client_of(client).save_secret(sink, {passphrase, bytes});
    sink.flush();
    return 1;
  });
}

// `wishes`: three words for each key, its kind, Galois element and level.
LATTICINO_EXPORT(lt_server_keys)
int lt_server_keys(int client, const std::uint32_t* wishes, std::size_t words, int with_public) {
  return guarded([&] {
    std::vector<RequestedKey> all;
    for (const std::uint32_t* wish = wishes; wish < wishes + words; wish += 3) {
      all.push_back(
          {{static_cast<latticino::rlwe::KeyKind>(wish[0]), wish[1]}, static_cast<int>(wish[2])});
    }
    JsSink sink;
    client_of(client).save_server_keys(sink, std::move(all), with_public != 0, lt_progress);
    sink.flush();
    return 1;
  });
}

// `range`: the ends of real and of imaginary parts; `ends` is 0 if there are none.
LATTICINO_EXPORT(lt_encrypt_numbers)
int lt_encrypt_numbers(int client, const double* values, std::size_t count, int complex,
                       const double* lengths, std::size_t dimensions, int level,
                       const double* range, std::size_t ends) {
  return guarded([&] {
    Numbers x{{values, count}, complex != 0, shape_of(lengths, dimensions), level, {}};
    if (ends == 4) {
      x.range =
          latticino::session::Range::declared({range[0], range[1]}, {range[2], range[3]}, 0, false);
    }
    JsSink sink;
    client_of(client).encrypt(sink, x);
    sink.flush();
    return 1;
  });
}

LATTICINO_EXPORT(lt_encrypt_integers)
int lt_encrypt_integers(int client, const std::uint64_t* values, std::size_t count,
                        const double* lengths, std::size_t dimensions, const char* type,
                        std::size_t type_bytes) {
  return guarded([&] {
    JsSink sink;
    client_of(client).encrypt(
        sink, Integers{{values, count}, shape_of(lengths, dimensions), {type, type_bytes}});
    sink.flush();
    return 1;
  });
}

// The result is JSON (type and shape), then the values: doubles, or 64-bit integers.
LATTICINO_EXPORT(lt_decrypt)
int lt_decrypt(int client, const std::uint8_t* file, std::size_t bytes) {
  return guarded([&] {
    const Values x = client_of(client).decrypt({file, bytes});
    const std::string head = json(x);
    lt_write(head.data(), head.size());
    lt_write(x.numbers.data(), x.numbers.size() * sizeof(double));
    lt_write(x.integers.data(), x.integers.size() * sizeof(std::uint64_t));
    return 1;
  });
}

}  // extern "C"
