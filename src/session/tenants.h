// The public keys of several clients on one context, for both schemes. A session has those of one
// client only.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "math/errors.h"

namespace latticino::session {

// `Keys` has a member id(). Thread-safe.
template <class Keys>
class Tenants {
 public:
  using Pointer = std::shared_ptr<Keys>;
  Tenants() = default;
  // The one client of a session. Its keys do not change.
  explicit Tenants(Pointer keys) : bound_(true), tenants_{{keys->id(), keys}}, last_(keys) {}

  bool bound() const { return bound_; }
  void use(const Pointer& keys) {
    require_free("use", "call bind(keys) of the context for another session");
    const std::lock_guard lock(mutex_);
    tenants_[keys->id()] = last_ = keys;
  }
  void forget(const Pointer& keys) {
    require_free("forget", "drop the session itself");
    const std::lock_guard lock(mutex_);
    if (const auto at = tenants_.find(keys->id()); at != tenants_.end() && at->second == keys) {
      tenants_.erase(at);
    }
    if (last_ == keys) last_ = nullptr;
  }
  // UnsupportedError in a session.
  void require_free(const char* operation, const char* remedy) const {
    if (!bound_) return;
    throw UnsupportedError(operation, "a session, which has its keys", "a context", remedy);
  }
  Pointer last() const {  // the keys that were used last; may be null
    const std::lock_guard lock(mutex_);
    return last_;
  }
  // The bundle for operands under that key. If there is none, it is the bundle that was used last,
  // so that the operation can say which key it has and which it needs. Null if there is no bundle.
  Pointer find(const std::string& key) const {
    const std::lock_guard lock(mutex_);
    const auto at = tenants_.find(key);
    return at != tenants_.end() ? at->second : last_;
  }
  // The same, but KeyError if there is no bundle.
  Pointer at(const std::string& key) const {
    if (Pointer found = find(key)) return found;
    throw KeyError("compute", "a context without evaluation keys", "the public keys of a client",
                   "use(keys) with what Client::server_keys gives");
  }
  // KeyError if objects under this key cannot belong to the context. A session takes only objects
  // under its own key.
  void admit(const char* operation, const std::string& key) const {
    if (!bound_ || key == last_->id()) return;
    throw KeyError(operation, "an object under key " + key,
                   "one under the session's key " + last_->id(),
                   "use the session of the client that it is from");
  }

 private:
  const bool bound_ = false;
  mutable std::mutex mutex_;
  std::map<std::string, Pointer> tenants_;  // by key id
  Pointer last_;
};

}  // namespace latticino::session
