// What check() knows about a record: its ring, and which memory it reads and writes.
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

// First visits the fields of a record: they exist, belong to one ring, and no output overlaps
// anything that it must not (finish()). Each record then checks how its own fields fit together
// (check.cc).
class Checker : public FieldVisitor {
 public:
  static constexpr bool kOwners = true;
  explicit Checker(const char* operation) : operation_(operation) {}

  void read(const PolyView& v, const Field& field);
  void write(const PolyView& v, const Field& field);
  // All polynomials of an array, and all ciphertexts of a batch with the words between them.
  void read(const PolyArray& a, const Field& field) { array(a, field.label, read_); }
  void write(const PolyArray& a, const Field& field) { array(a, field.label, written_); }
  void read(const LweView& v, const Field& field) { batch(v, field, read_); }
  void write(const LweView& v, const Field& field) { batch(v, field, written_); }
  void read(const Memory& m, const Field& field) { numbers(m, field.label, read_); }
  void write(const Memory& m, const Field& field) { numbers(m, field.label, written_); }

  void domain(const PolyView& v, const Label& label, std::initializer_list<Domain> allowed);
  void same_domain(const PolyView& x, const PolyView& y, const Label& label);
  void same_basis(const PolyView& v, const Basis& basis, const Label& label);
  // v has all of these primes.
  void covers(const PolyView& v, const Basis& basis, const Label& label);
  void within(const PolyView& v, const Basis& basis, const Label& label);  // v has no other primes
  void galois(std::uint32_t g);
  void residues(const std::vector<std::uint32_t>& values, const Basis& basis, const Label& label);
  // `had` and `needs` are words, a Label, or a function that returns words.
  template <class Had, class Needs>
  void require(bool holds, const Had& had, const Needs& needs) const {
    if (!holds) fail(words(had), words(needs));
  }
  void same_ring(const Ring* ring, const Label& label);
  const Ring* ring() const { return ring_; }

  void finish();  // checks that no output overlaps memory that it must not overlap

 private:
  struct Span {
    std::uintptr_t begin, end;
    std::uintptr_t origin;  // where prime 0 would lie: equal origins mean the same limbs
    int owner;
    Label label;
  };
  void view(const PolyView& v, const Field& field);
  void array(const PolyArray& a, const Label& label, std::vector<Span>& to);
  void batch(const LweView& v, const Field& field, std::vector<Span>& to);
  void memory(const void* data, const Label& label);
  void numbers(const Memory& m, const Label& label, std::vector<Span>& to);
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
