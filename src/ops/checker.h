// What check() knows about one record: its ring, and which memory it reads and writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

#include "ops/operations.h"
#include "poly/ring.h"

namespace latticino {

// What a message calls a view, "out of item 3". Put into words only when a check fails: records are
// checked by the thousand, and words cost more than checks.
class Label {
 public:
  Label(const char* what) : what_(what) {}
  Label(const char* what, std::size_t number) : what_(what), number_(number), numbered_(true) {}
  std::string str() const { return what_ + (numbered_ ? " " + std::to_string(number_) : ""); }
  friend std::string operator+(const Label& x, const std::string& y) { return x.str() + y; }

 private:
  const char* what_;
  std::size_t number_ = 0;
  bool numbered_ = false;
};

class Checker {
 public:
  explicit Checker(const char* operation) : operation_(operation) {}

  // `owner` >= 0 on an input: it may be exactly the memory of outputs with that owner.
  void input(const PolyView& v, const Label& label, int owner = -1);
  void output(const PolyView& v, const Label& label, int owner = -1);
  // An input of this ring, or of one with the same primes and at most a quarter of the degree.
  void repeating(const PolyView& v, const Label& label);
  // All polynomials of an array, and all ciphertexts of a batch with the words between them.
  void input(const PolyArray& a, const Label& label);
  void output(const PolyArray& a, const Label& label);
  void input(const LweView& v, const Label& label, int owner = -1);
  void output(const LweView& v, const Label& label, int owner = -1);
  // Memory that is no polynomial, beside a view `with` of the same item: both exist, or neither.
  void read_memory(const void* p, std::size_t bytes, const PolyView& with);
  void write_memory(const void* p, std::size_t bytes, const PolyView& with);
  void write_memory(const void* p, std::size_t bytes, const LweView& with);

  void domain(const PolyView& v, const Label& label, std::initializer_list<Domain> allowed);
  void same_domain(const PolyView& x, const PolyView& y, const Label& label);
  void same_basis(const PolyView& v, const Basis& basis, const Label& label);
  void covers(const PolyView& v, const Basis& basis, const Label& label);  // v has all
  void within(const PolyView& v, const Basis& basis, const Label& label);  // v has no more
  void galois(std::uint32_t g);
  void residues(const std::vector<std::uint32_t>& values, const Basis& basis, const Label& label);
  // `had` and `needs`: words, a Label, or a function that makes them.
  template <class Had, class Needs>
  void require(bool holds, const Had& had, const Needs& needs) const {
    if (!holds) fail(words(had), words(needs));
  }
  void same_ring(const Ring* ring, const Label& label);
  const Ring* ring() const { return ring_; }

  void finish();  // no output overlaps anything it must not

 private:
  struct Span {
    std::uintptr_t begin, end;
    std::uintptr_t origin;  // where prime 0 would lie: equal origins mean the same limbs
    int owner;
    Label label;
  };
  void view(const PolyView& v, const Label& label);
  void array(const PolyArray& a, const Label& label, std::vector<Span>& to);
  void batch(const LweView& v, const Label& label, int owner, std::vector<Span>& to);
  void memory(const void* data, const Label& label);
  void numbers(const void* p, std::size_t bytes, const void* with, const Label& label,
               std::vector<Span>& to);
  void segments(const PolyView& v, const Label& label);
  void add_spans(const PolyView& v, const Label& label, int owner, std::vector<Span>& to);
  static std::string words(const char* x) { return x; }
  static std::string words(const std::string& x) { return x; }
  static std::string words(const Label& x) { return x.str(); }
  template <class F>
  requires std::is_invocable_v<F>
  static std::string words(const F& f) { return f(); }
  [[noreturn]] void fail(const std::string& had, const std::string& needs) const;

  const char* operation_;
  const Ring* ring_ = nullptr;
  int with_data_ = -1;  // unknown, views without memory (dry), views with memory
  std::vector<Span> read_, written_;
};

}  // namespace latticino
