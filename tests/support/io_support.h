// A context with one saved object of every kind.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ckks/context.h"
#include "crypto/sha256.h"
#include "io/container.h"
#include "io/files.h"
#include "session/keys/ckks_key_holder.h"
#include "support/rlwe_support.h"

namespace latticino::test {

using Bytes = std::vector<std::uint8_t>;

inline Bytes saved(const std::function<void(io::Sink&)>& body) {
  io::MemorySink sink;
  body(sink);
  return {sink.bytes().begin(), sink.bytes().end()};
}

constexpr std::size_t kMetadataLengthAt = 72, kCheckAt = 88;  // in the header (io/container.h)

inline std::uint64_t get64(const Bytes& b, std::size_t at) {
  std::uint64_t x = 0;
  for (int i = 7; i >= 0; --i) x = x << 8 | b[at + i];
  return x;
}

// Corrects every check. Lengths that make no sense stay as they are.
inline void repair(Bytes& b) {
  if (b.size() < io::kHeaderBytes + 2 * io::kDigestBytes) return;
  const auto put = [&](std::size_t at, std::size_t count, std::span<const std::uint8_t> digest) {
    std::copy_n(digest.begin(), count, b.begin() + at);
  };
  put(kCheckAt, 8, crypto::sha256(std::span(b).first(kCheckAt)));
  const std::uint64_t metadata = get64(b, kMetadataLengthAt);
  if (metadata > b.size() - io::kHeaderBytes - 2 * io::kDigestBytes) return;
  const std::size_t end = io::kHeaderBytes + metadata;
  put(end, io::kDigestBytes, crypto::sha256(std::span(b).first(end)));
  put(b.size() - io::kDigestBytes, io::kDigestBytes,
      crypto::sha256(std::span(b).first(b.size() - io::kDigestBytes)));
}

struct FileWorld : session::CkksKeyHolder {
  explicit FileWorld(std::shared_ptr<const Params> p, std::uint8_t seed = 1)
      : CkksKeyHolder(ckks::Context::create(std::move(p),
                                            std::make_unique<Queue>(make_cpu_backend({false, 1}))),
                      fixed_random(seed)),
        params(context->shared_params()) {}

  const rlwe::Constants& constants() const { return context->constants(); }
  Queue& queue() const { return context->queue(); }

  std::vector<std::int64_t> message() {
    std::vector<std::int64_t> m(params->n());
    for (auto& x : m) x = static_cast<std::int64_t>(random.next64()) >> 34;
    return m;
  }

  ckks::Ciphertext encrypt(const std::vector<std::int64_t>& m, int level) {
    const ckks::Plaintext x{context,
                            rlwe::secret_poly(queue(), context->ring(), params->basis(level), m),
                            level, 1.0, params->max_slots()};
    return CkksKeyHolder::encrypt({&x, 1}).front();
  }

  std::shared_ptr<const Params> params;
};

}  // namespace latticino::test
