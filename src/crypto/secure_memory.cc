#include "crypto/secure_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace latticino::crypto {

#if !defined(__EMSCRIPTEN__)
namespace {

std::size_t whole_pages(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

}  // namespace
#endif

void secure_clear(void* p, std::size_t bytes) noexcept {
  if (bytes != 0) explicit_bzero(p, bytes);
}

[[gnu::weak, gnu::noinline]] void mark_secret(const void*, std::size_t) noexcept {
  asm volatile("");
}
[[gnu::weak, gnu::noinline]] void declassify(const void*, std::size_t) noexcept {
  asm volatile("");
}

#if defined(__EMSCRIPTEN__)

// WebAssembly has one linear memory: there are no pages to lock, and no process forks.
void lock_memory(void*, std::size_t) noexcept {}
void unlock_memory(void*, std::size_t) noexcept {}

void* allocate_locked(std::size_t bytes) {
  void* p = std::calloc(bytes == 0 ? 1 : bytes, 1);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

void free_locked(void* p, std::size_t bytes) noexcept {
  secure_clear(p, bytes);
  std::free(p);
}

#else

void lock_memory(void* p, std::size_t bytes) noexcept {
  static_cast<void>(mlock(p, bytes));
  static_cast<void>(madvise(p, bytes, MADV_DONTDUMP));
}

void unlock_memory(void* p, std::size_t bytes) noexcept { static_cast<void>(munlock(p, bytes)); }

void* allocate_locked(std::size_t bytes) {
  const std::size_t size = whole_pages(bytes);
  void* p = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  lock_memory(p, size);
#ifdef MADV_WIPEONFORK
  // A child of a fork finds zeros, so it has no copy of a key or of a random state.
  static_cast<void>(madvise(p, size, MADV_WIPEONFORK));
#endif
  return p;
}

void free_locked(void* p, std::size_t bytes) noexcept {
  const std::size_t size = whole_pages(bytes);
  secure_clear(p, size);
  unlock_memory(p, size);
  munmap(p, size);
}

#endif

}  // namespace latticino::crypto
