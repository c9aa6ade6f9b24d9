// Python callables that sign and verify files (latticino/files/signing.py), in the form that
// io/signature.h needs.
#pragma once

#include <algorithm>
#include <optional>

#include "bindings.h"
#include "io/stream.h"
#include "math/errors.h"

namespace latticino::python {

template <std::size_t kSize>
std::array<std::uint8_t, kSize> exact_bytes(nb::handle value) {
  const auto bytes = nb::cast<nb::bytes>(value);
  if (bytes.size() != kSize) {
    throw ValueError("sign", std::to_string(bytes.size()) + " bytes", std::to_string(kSize),
                     "sign with Ed25519");
  }
  std::array<std::uint8_t, kSize> out;
  std::copy_n(static_cast<const std::uint8_t*>(bytes.data()), kSize, out.begin());
  return out;
}

// Both take the GIL before they call Python. They keep no reference to the callable for longer than
// the caller does.
inline io::Signer signer_of(nb::handle sign) {
  if (!sign.is_valid() || sign.is_none()) return {};
  return [sign](io::Message message) {
    const nb::gil_scoped_acquire lock;
    const auto made = nb::cast<nb::tuple>(sign(nb::bytes(message.data(), message.size())));
    return io::Signature{exact_bytes<32>(made[0]), exact_bytes<64>(made[1])};
  };
}

inline io::Verifier verifier_of(nb::handle verify) {
  if (!verify.is_valid() || verify.is_none()) return {};
  return [verify](io::Message message, const std::optional<io::Signature>& signature) {
    const nb::gil_scoped_acquire lock;
    const nb::bytes text(message.data(), message.size());
    if (!signature) {
      verify(text, nb::none(), nb::none());
      return;
    }
    verify(text, nb::bytes(signature->public_key.data(), signature->public_key.size()),
           nb::bytes(signature->bytes.data(), signature->bytes.size()));
  };
}

// Calls `progress`, if it is not None, with the number of further bytes.
inline io::ByteCount byte_count(nb::handle progress) {
  if (!progress.is_valid() || progress.is_none()) return {};
  return [progress](std::uint64_t bytes) {
    const nb::gil_scoped_acquire lock;
    progress(bytes);
  };
}

// A file that is written with a signature if `sign` is not None, and a file that is read with a
// check of it.
template <class Body>
void write_signed(const std::string& path, nb::handle sign, const Body& body,
                  nb::handle progress = {}) {
  io::write_file(path, [&](io::Sink& sink) {
    sink.signer = signer_of(sign);
    sink.progress = byte_count(progress);
    body(sink);
  });
}
class VerifiedFile : public io::FileSource {
 public:
  VerifiedFile(const std::string& path, nb::handle verify, nb::handle on_bytes = {})
      : FileSource(path) {
    verifier = verifier_of(verify);
    progress = byte_count(on_bytes);
  }
};

}  // namespace latticino::python
