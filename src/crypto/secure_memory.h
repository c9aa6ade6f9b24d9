// Memory for secrets. It is cleared in a way that compilers may not remove, and locked where the
// system allows it.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

namespace latticino::crypto {

void secure_clear(void* p, std::size_t bytes) noexcept;

// Marks where secrets begin, and where branches may depend on a value that was made from them.
// These are the points that docs/security.md#constant-time lists, and no others. Both functions do
// nothing. They are weak symbols, so a program that checks the shipped code for secret branches and
// addresses can replace them (tests/secrets).
void mark_secret(const void* p, std::size_t bytes) noexcept;
void declassify(const void* p, std::size_t bytes) noexcept;

// Keeps pages out of swap and core dumps; best effort (limits may forbid it).
void lock_memory(void* p, std::size_t bytes) noexcept;
void unlock_memory(void* p, std::size_t bytes) noexcept;

// Whole pages of their own, so that unlocking never affects a neighbour's page. The child of a fork
// finds zeros there (Linux 4.14). Code that reads such pages must check that its own process wrote
// them (crypto/random_stream.h, require_same_process).
void* allocate_locked(std::size_t bytes);               // throws std::bad_alloc; contents zero
void free_locked(void* p, std::size_t bytes) noexcept;  // clears the memory first

template <class T>
struct LockedAllocator {
  using value_type = T;
  LockedAllocator() = default;
  template <class U>
  LockedAllocator(const LockedAllocator<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(allocate_locked(n * sizeof(T))); }
  void deallocate(T* p, std::size_t n) noexcept { free_locked(p, n * sizeof(T)); }
  bool operator==(const LockedAllocator&) const { return true; }
};
template <class T>
using LockedVector = std::vector<T, LockedAllocator<T>>;

// Clears blocks before they are freed, also those that a growing vector leaves behind.
template <class T, class Base = std::allocator<T>>
struct ClearingAllocator {
  using value_type = T;
  template <class U>
  struct rebind {
    using other =
        ClearingAllocator<U, typename std::allocator_traits<Base>::template rebind_alloc<U>>;
  };
  T* allocate(std::size_t n) { return Base().allocate(n); }
  void deallocate(T* p, std::size_t n) noexcept {
    secure_clear(p, n * sizeof(T));
    Base().deallocate(p, n);
  }
  bool operator==(const ClearingAllocator&) const { return true; }
};
template <class T>
using ClearingVector = std::vector<T, ClearingAllocator<T>>;

// Clears an ordinary vector of secrets at the end of a scope.
template <class T>
class ClearOnExit {
 public:
  explicit ClearOnExit(std::vector<T>& v) : v_(v) {}
  ~ClearOnExit() { secure_clear(v_.data(), v_.size() * sizeof(T)); }
  ClearOnExit(const ClearOnExit&) = delete;
  ClearOnExit& operator=(const ClearOnExit&) = delete;

 private:
  std::vector<T>& v_;
};

}  // namespace latticino::crypto
