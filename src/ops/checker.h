// What check() knows about one record: its ring, and which memory it reads and writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "ops/operations.h"
#include "poly/ring.h"

namespace latticino {

class Checker {
 public:
  explicit Checker(const char* operation) : operation_(operation) {}

  // `owner` >= 0 on an input: it may be exactly the memory of outputs with that owner.
  void input(const PolyView& v, const std::string& label, int owner = -1);
  void output(const PolyView& v, const std::string& label, int owner = -1);
  // An input of this ring, or of one with the same primes and at most a quarter of the degree.
  void repeating(const PolyView& v, const std::string& label);
  // All polynomials of an array, and all ciphertexts of a batch with the words between them.
  void input(const PolyArray& a, const std::string& label);
  void output(const PolyArray& a, const std::string& label);
  void input(const LweView& v, const std::string& label, int owner = -1);
  void output(const LweView& v, const std::string& label, int owner = -1);
  // Memory that is no polynomial, beside a view `with` of the same item: both exist, or neither.
  void read_memory(const void* p, std::size_t bytes, const PolyView& with);
  void write_memory(const void* p, std::size_t bytes, const PolyView& with);
  void write_memory(const void* p, std::size_t bytes, const LweView& with);

  void domain(const PolyView& v, const std::string& label, std::initializer_list<Domain> allowed);
  void same_domain(const PolyView& x, const PolyView& y, const std::string& label);
  void same_basis(const PolyView& v, const Basis& basis, const std::string& label);
  void covers(const PolyView& v, const Basis& basis, const std::string& label);  // v has all
  void within(const PolyView& v, const Basis& basis, const std::string& label);  // v has no more
  void galois(std::uint32_t g);
  void residues(const std::vector<std::uint32_t>& values, const Basis& basis,
                const std::string& label);
  void require(bool holds, const std::string& had, const std::string& needs);
  void same_ring(const Ring* ring, const std::string& label);
  const Ring* ring() const { return ring_; }

  void finish();  // no output overlaps anything it must not

 private:
  struct Span {
    std::uintptr_t begin, end;
    std::uintptr_t origin;  // where prime 0 would lie: equal origins mean the same limbs
    int owner;
    std::string label;
  };
  void view(const PolyView& v, const std::string& label);
  void array(const PolyArray& a, const std::string& label, std::vector<Span>& to);
  void batch(const LweView& v, const std::string& label, int owner, std::vector<Span>& to);
  void memory(const void* data, const std::string& label);
  void numbers(const void* p, std::size_t bytes, const void* with, const char* label,
               std::vector<Span>& to);
  void segments(const PolyView& v, const std::string& label);
  void add_spans(const PolyView& v, const std::string& label, int owner, std::vector<Span>& to);
  [[noreturn]] void fail(const std::string& had, const std::string& needs) const;

  const char* operation_;
  const Ring* ring_ = nullptr;
  int with_data_ = -1;  // unknown, views without memory (dry), views with memory
  std::vector<Span> read_, written_;
};

}  // namespace latticino
