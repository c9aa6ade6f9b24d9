// Secret random bytes: ChaCha20 with fast key erasure, seeded by the operating system.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace latticino::crypto {

// Fills `out` from the operating system (getentropy; in WebAssembly from crypto.getRandomValues).
// Throws DeviceError if it refuses.
void system_entropy(std::span<std::uint8_t> out);

// Changes in the child of every fork: random state inherited from the parent must not be used.
std::uint64_t fork_generation();
// The same, for checks that are made thousands of times per operation. If the system does not wipe
// pages in children (MADV_WIPEONFORK), it only counts forks. It then misses a bare clone, which
// runs no handlers of pthread_atfork.
std::uint64_t counted_generation();

// Secrets in locked memory are wiped in the child of a fork. This throws KeyError if the object was
// made when fork_generation() was `made_in`, and the process has forked since.
void require_same_process(const char* operation, std::uint64_t made_in);

// A keystream that replaces its key by its own first 32 bytes at every refill, so that a state read
// out later does not give away earlier output. Consumed bytes are cleared.
class RandomStream {
 public:
  RandomStream() = default;
  // Key = the first 32 keystream bytes of `master` under the nonce `label` (domain separation).
  RandomStream(std::span<const std::uint8_t, 32> master, std::uint32_t label);
  ~RandomStream();
  RandomStream(const RandomStream&) = default;
  RandomStream& operator=(const RandomStream&) = default;

  void fill(std::span<std::uint8_t> out);

 private:
  void rekey(std::span<std::uint8_t> out);

  std::array<std::uint8_t, 32> key_{};
  std::array<std::uint8_t, 1024> buffer_{};
  std::size_t used_ = 1024;
};

}  // namespace latticino::crypto
