// Values that depend only on their key, such as the checked parameter set of a preset's name. A
// process computes each of them once.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "crypto/random_stream.h"

namespace latticino::crypto {

// May be used by all threads. Those that ask for one key wait for the one that makes its value;
// those that ask for other keys do not wait.
//
// The child of a fork starts without any values, because another thread of the parent may have held
// a lock at the time of the fork. Objects of this class are never destroyed (`static auto& x = *new
// PerProcess<...>`), because destructors of other static objects may still use them.
template <class Key, class Value>
class PerProcess {
 public:
  // The most values that are kept. Before one more is made, all are dropped.
  explicit PerProcess(std::size_t most) : most_(most) {}
  PerProcess(const PerProcess&) = delete;
  PerProcess& operator=(const PerProcess&) = delete;
  ~PerProcess() = delete;

  // `make` must not ask this object for another key. If it throws, the next thread tries again.
  template <class Make>
  Value get(const Key& key, const Make& make) {
    const std::shared_ptr<Entry> entry = entry_of(key);
    const std::lock_guard lock(entry->mutex);
    if (!entry->value) {
      try {
        entry->value.emplace(make());
      } catch (...) {
        forget(key, entry);
        throw;
      }
    }
    return *entry->value;
  }

 private:
  struct Entry {
    std::mutex mutex;
    std::optional<Value> value;
  };
  struct State {
    State(std::uint64_t generation, State* left) : process(generation), before(left) {}
    const std::uint64_t process;
    State* const before;  // those of the parent process are neither read nor freed
    std::mutex mutex;
    std::map<Key, std::shared_ptr<Entry>> entries;
  };

  std::shared_ptr<Entry> entry_of(const Key& key) {
    State& state = state_of_process();
    const std::lock_guard lock(state.mutex);
    const auto found = state.entries.find(key);
    if (found != state.entries.end()) return found->second;
    if (state.entries.size() >= most_) state.entries.clear();
    return state.entries.emplace(key, std::make_shared<Entry>()).first->second;
  }

  // Keys for which no value could be made are not kept. Otherwise many wrong names would fill the
  // memory.
  void forget(const Key& key, const std::shared_ptr<Entry>& entry) {
    State& state = state_of_process();
    const std::lock_guard lock(state.mutex);
    const auto found = state.entries.find(key);
    if (found != state.entries.end() && found->second == entry) state.entries.erase(found);
  }

  State& state_of_process() {
    const std::uint64_t process = fork_generation();
    State* state = state_.load();
    while (state == nullptr || state->process != process) {
      auto fresh = std::make_unique<State>(process, state);
      if (state_.compare_exchange_strong(state, fresh.get())) return *fresh.release();
    }
    return *state;
  }

  std::size_t most_;
  std::atomic<State*> state_ = nullptr;
};

}  // namespace latticino::crypto
