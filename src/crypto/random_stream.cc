#include "crypto/random_stream.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>

#include "crypto/expand.h"
#include "crypto/secure_memory.h"
#include "math/errors.h"

namespace latticino::crypto {
namespace {

std::atomic<std::uint32_t> forks{0}, found{0};

std::uint32_t counted_forks() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { ++forks; });
  static_cast<void>(registered);
  return forks.load();
}

// The process id also catches children made by a bare clone, which runs no handlers.
std::uint64_t asked_of_system() {
  return static_cast<std::uint64_t>(counted_forks() + found.load()) << 32 |
         static_cast<std::uint32_t>(getpid());
}

using Mark = std::atomic<std::uint64_t>;

// A word that is zero in every child, however the child was made. Null if the system cannot do
// this.
Mark* make_mark() {
#ifdef MADV_WIPEONFORK
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* p = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  // Some systems (QEMU's user mode) accept any advice and ignore it, even advice that does not
  // exist. Such systems are found out here.
  const bool checks = madvise(p, page, -1) != 0;
  if (checks && madvise(p, page, MADV_WIPEONFORK) == 0) return new (p) Mark(0);
  munmap(p, page);
#endif
  return nullptr;
}

Mark* mark() {
  static Mark* const kMark = make_mark();
  return kMark;
}

}  // namespace

void system_entropy(std::span<std::uint8_t> out) {
  constexpr std::size_t kMaxAtOnce = 256;  // the most bytes that one call of getentropy gives
  while (!out.empty()) {
    const std::size_t bytes = std::min(out.size(), kMaxAtOnce);
    if (getentropy(out.data(), bytes) != 0) {
      throw DeviceError("crypto.system_entropy", std::strerror(errno),
                        "random bytes from the operating system",
                        "allow the getrandom system call");
    }
    out = out.subspan(bytes);
  }
}

// Operations call this very often, so a process makes the system call only once.
std::uint64_t fork_generation() {
  Mark* const word = mark();
  if (word == nullptr) return asked_of_system();
  std::uint64_t known = word->load(std::memory_order_acquire);
  if (known != 0) return known;
  const std::uint64_t asked = asked_of_system();
  ++found;  // so that a later child with the same process id differs
  return word->compare_exchange_strong(known, asked) ? asked : known;
}

std::uint64_t counted_generation() {
  return mark() != nullptr ? fork_generation() : counted_forks();
}

void require_same_process(const char* operation, std::uint64_t made_in) {
  if (made_in == fork_generation()) return;
  throw KeyError(operation, "a secret key of the process that forked this one",
                 "a key of this process: memory of secrets is wiped when a process forks",
                 "load the key in the child, or start it with spawn instead of fork");
}

RandomStream::RandomStream(std::span<const std::uint8_t, 32> master, std::uint32_t label) {
  chacha20_keystream(master, 0, {label, 0, 0}, key_);
}

RandomStream::~RandomStream() {
  secure_clear(key_.data(), key_.size());
  secure_clear(buffer_.data(), buffer_.size());
}

// Block 0 gives the next key, the blocks from 1 on the output.
void RandomStream::rekey(std::span<std::uint8_t> out) {
  std::array<std::uint8_t, 32> next;
  chacha20_keystream(key_, 0, {}, next);
  chacha20_keystream(key_, 1, {}, out);
  key_ = next;
  secure_clear(next.data(), next.size());
}

void RandomStream::fill(std::span<std::uint8_t> out) {
  // Below the 2^32 blocks that one key may give.
  constexpr std::size_t kMaxAtOnce = std::size_t{1} << 30;
  while (!out.empty()) {
    if (out.size() >= buffer_.size()) {
      const std::size_t bytes = std::min(out.size(), kMaxAtOnce);
      rekey(out.first(bytes));
      out = out.subspan(bytes);
      continue;
    }
    if (used_ == buffer_.size()) {
      rekey(buffer_);
      used_ = 0;
    }
    const std::size_t bytes = std::min(out.size(), buffer_.size() - used_);
    std::memcpy(out.data(), buffer_.data() + used_, bytes);
    secure_clear(buffer_.data() + used_, bytes);
    used_ += bytes;
    out = out.subspan(bytes);
  }
}

}  // namespace latticino::crypto
