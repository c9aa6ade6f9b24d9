// The scope of a function that is being recorded. Arrays that are made in it are in the memory of
// the recording. Each replay overwrites this memory, so these arrays may only be used in the scope.
#pragma once

#include <memory>

namespace latticino::session {

class Scope {
 public:
  // The scope of the function that this thread is recording; null if there is none.
  static std::shared_ptr<const Scope> current();
  // ContextError for an array whose scope has ended.
  static void require_open(const Scope* scope);

  // The scope is open from its construction to its destruction.
  class Entered {
   public:
    Entered();
    ~Entered();
    Entered(const Entered&) = delete;
    Entered& operator=(const Entered&) = delete;

   private:
    std::shared_ptr<Scope> scope_, outer_;
  };

 private:
  bool open_ = false;
};

}  // namespace latticino::session
