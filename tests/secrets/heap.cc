// operator new gives defined bytes here, so that what is undefined when a block goes back was made
// from a secret. Ciphertexts are made from secrets too: flows.cc and the library say where they
// become public. Blocks of devices (backend/cpu/host_pool.cc) are not operator new's.
// MemorySanitizer has an operator new of its own: this is memcheck's part.
#include "secrets/heap.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

#include "secrets/poison.h"

namespace latticino::secrets {
namespace {

std::atomic<long> g_left{0};

// Objects are copied with gaps that nobody writes: between their members, or a member that is not
// there. Numbers of a vector differ from those: they are at the beginning of word after word, or,
// with zeros in between, of very many. Shorter vectors of secrets are not seen; flows use longer
// ones.
constexpr std::size_t kWord = 8, kRun = 8, kMany = 64;

bool undefined(const unsigned char* p) {
#if defined(LATTICINO_MEMCHECK)
  unsigned char bits = 0;
  return VALGRIND_GET_VBITS(p, &bits, 1) == 1 && bits != 0;
#else
  static_cast<void>(p);
  return false;
#endif
}

bool holds_secret(const void* p, std::size_t bytes) {
  const auto* at = static_cast<const unsigned char*>(p);
  std::size_t run = 0, all = 0;
  for (std::size_t i = 0; i < bytes; i += kWord) {
    const bool here = undefined(at + i);
    run = here ? run + 1 : 0;
    all += here;
    if (run == kRun || all == kMany) return true;
  }
  return false;
}

}  // namespace

// Called before a block is released.
void look(void* p) {
  if (p == nullptr || checker() == nullptr || !holds_secret(p, malloc_usable_size(p))) return;
  ++g_left;
#if defined(LATTICINO_MEMCHECK)
  VALGRIND_PRINTF_BACKTRACE("%zu bytes of the heap go back with secrets in them\n",
                            malloc_usable_size(p));
#endif
}

long blocks_left_with_secrets() { return g_left; }

}  // namespace latticino::secrets

#if defined(LATTICINO_MEMCHECK)
void* operator new(std::size_t bytes) {
  void* p = std::malloc(std::max<std::size_t>(bytes, 1));
  if (p == nullptr) throw std::bad_alloc();
  latticino::secrets::unpoison(p, malloc_usable_size(p));
  return p;
}
void operator delete(void* p) noexcept {
  latticino::secrets::look(p);
  std::free(p);
}
void operator delete(void* p, std::size_t) noexcept { operator delete(p); }
#endif
