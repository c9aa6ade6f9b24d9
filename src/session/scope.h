// The time during which a function is recorded. Arrays that are made in it lie in the memory of the
// recording. Each replay overwrites this memory, so these arrays are useful only during that time.
#pragma once

#include <memory>

namespace latticino::session {

class Scope {
 public:
  // The scope of the function that this thread records; null outside of one.
  static std::shared_ptr<const Scope> current();
  // ContextError for an array whose scope is over.
  static void require_open(const Scope* scope);

  // Open from its construction to its end.
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
