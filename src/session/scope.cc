#include "session/scope.h"

#include "math/errors.h"

namespace latticino::session {
namespace {

thread_local std::shared_ptr<Scope> now;

}  // namespace

std::shared_ptr<const Scope> Scope::current() { return now; }

void Scope::require_open(const Scope* scope) {
  if (scope == nullptr || scope->open_) return;
  throw ContextError("compute", "an array that was kept from inside a recorded function",
                     "results of the recorded program", "return it from the function");
}

Scope::Entered::Entered() : scope_(std::make_shared<Scope>()), outer_(now) {
  scope_->open_ = true;
  now = scope_;
}

Scope::Entered::~Entered() {
  scope_->open_ = false;
  now = outer_;
}

}  // namespace latticino::session
