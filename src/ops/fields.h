// What a record tells about its fields. Each record has one list of what it reads and what it
// writes. The list is a member template fields(visitor), with lines such as these:
//   visitor.read(item.in, {.label = {"in of item", i}});
//   visitor.write(item.out, {.label = {"out of item", i}});
// Three things follow from the list. Views are checked: they exist, belong to one ring and do not
// overlap (ops/checker.h). The bytes that the record moves are counted (ops/cost.cc). A recording
// knows which memory it must keep (ops/views.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "poly/lwe_view.h"
#include "poly/poly_array.h"
#include "poly/poly_view.h"

namespace latticino {

// What a message calls a field, for example "out of item 3". It becomes words only when a check
// fails: thousands of records are checked, and words cost more than checks.
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

inline constexpr std::uint64_t kWholeField = ~std::uint64_t{0};

// How a record uses one of its fields.
struct Field {
  Label label;
  // The owner of outputs whose memory an input may share exactly; -1: none.
  int owner = -1;
  bool optional = false;  // a view that may have no limbs; then nothing is read or written
  // A polynomial that may belong to a ring of a quarter of the degree or less, with the same
  // primes.
  bool repeats = false;
  std::uint64_t bytes = kWholeField;    // bytes moved at least; by default each field once
  const PolyView* primes_of = nullptr;  // only limbs of this view's primes are moved
};

// Memory that is no polynomial and no ciphertext: integers, slots, seeds.
struct Memory {
  const void* address = nullptr;
  std::size_t bytes = 0;
  // The data of a view of the same item. In a dry run either both exist or neither does.
  const void* beside = nullptr;
};

// The bytes of `limbs` limbs of v's ring, of a whole view, of all polynomials or ciphertexts.
std::uint64_t limb_bytes(const PolyView& v, int limbs);
std::uint64_t bytes_of(const PolyView& v);
std::uint64_t bytes_of(const PolyArray& a);
std::uint64_t bytes_of(const LweView& v);
// One double, or 64-bit integer, for each coefficient of `polynomials` polynomials of v's ring.
std::size_t coefficient_bytes(const PolyView& v, std::size_t polynomials = 1);
// Pairs of doubles.
constexpr std::size_t slot_bytes(std::size_t slots) { return slots * 2 * sizeof(double); }

// Whether both views hold the limb of `prime` in the same memory. Then it is a square, and is read
// once.
bool same_limb(const PolyView& a, const PolyView& b, int prime);

// A visitor that ignores everything: the base of the others.
struct FieldVisitor {
  static constexpr bool kOwners = false;  // whether the visitor needs Field::owner
  template <class View>
  void read(const View&, const Field&) {}
  template <class View>
  void write(const View&, const Field&) {}
};

}  // namespace latticino
