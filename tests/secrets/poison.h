// Marks memory as holding a secret, for a checker that follows it: memcheck (a run under valgrind)
// or MemorySanitizer (a build with it) reports every branch and every address that depends on it.
#pragma once

#include <cstddef>

#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#define LATTICINO_MSAN 1
#endif
#endif
#if defined(LATTICINO_MSAN)
#include <sanitizer/allocator_interface.h>
#include <sanitizer/msan_interface.h>
#elif __has_include(<valgrind/memcheck.h>)
#define LATTICINO_MEMCHECK 1
#include <valgrind/memcheck.h>
#endif

namespace latticino::secrets {

// Null if secrets are not followed in this run.
inline const char* checker() {
#if defined(LATTICINO_MSAN)
  return "MemorySanitizer";
#elif defined(LATTICINO_MEMCHECK)
  return RUNNING_ON_VALGRIND ? "memcheck" : nullptr;
#else
  return nullptr;
#endif
}

inline void poison(const void* p, std::size_t bytes) {
#if defined(LATTICINO_MSAN)
  __msan_poison(p, bytes);
#elif defined(LATTICINO_MEMCHECK)
  VALGRIND_MAKE_MEM_UNDEFINED(p, bytes);
#endif
  static_cast<void>(p), static_cast<void>(bytes);
}

// MemorySanitizer does not see writes of explicit_bzero nor of the standard library: a block that
// held secrets would stay secret for its next user.
inline void give_defined_memory() {
#if defined(LATTICINO_MSAN)
  __sanitizer_install_malloc_and_free_hooks(
      [](const volatile void* p, std::size_t bytes) {
        __msan_unpoison(const_cast<const void*>(p), bytes);
      },
      [](const volatile void*) {});
#endif
}

inline void unpoison(const void* p, std::size_t bytes) {
#if defined(LATTICINO_MSAN)
  __msan_unpoison(p, bytes);
#elif defined(LATTICINO_MEMCHECK)
  VALGRIND_MAKE_MEM_DEFINED(p, bytes);
#endif
  static_cast<void>(p), static_cast<void>(bytes);
}

}  // namespace latticino::secrets
