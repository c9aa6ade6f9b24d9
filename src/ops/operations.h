// The operation records: everything a backend can be asked to compute on polynomials. Each is a
// plain struct that carries a batch; scheme code submits them to a Queue (runtime/queue.h), which
// checks them once for every backend. Outputs must not overlap inputs or each other unless a record
// says "may alias". All views of one record belong to one Ring. Vectors of constants have one
// canonical residue for each prime of the view they act on, in the order of its basis. fields()
// lists what a record reads and writes (ops/fields.h). A record states kLimbsApart if it writes
// each limb of its items' `out` by itself, so that items over parts of the limbs give the same
// integers. Write records with the names of their members, `Linear::Item{.terms = .., .out = ..}`:
// several members have one type.
#pragma once

#include <array>
#include <cstdint>
#include <variant>
#include <vector>

#include "ops/conversion.h"
#include "ops/fields.h"
#include "ops/lwe_operations.h"
#include "ops/slot_transform.h"
#include "poly/poly_view.h"

namespace latticino {

namespace crypto {
class GaussianTable;
}

// Moves polynomials between domains: out = the same polynomial in out.domain. Every pair of domains
// is allowed; in and out have equal bases and may alias exactly (same limbs). With `times` (Eval,
// covers the basis) it is the product in * times that moves, from Eval to Half, where the key
// switch of a product begins; then nothing aliases.
struct Transform {
  struct Item {
    PolyView in, out;
    PolyView times = {};
  };
  std::vector<Item> items;

  template <class Visitor>
  void fields(Visitor& v) const {
    for (std::size_t i = 0; i < items.size(); ++i) {
      const Item& item = items[i];
      const int owner = item.times.segments > 0 ? -1 : static_cast<int>(i);
      v.read(item.in, {.label = {"in of item", i}, .owner = owner});
      v.read(item.times, {.label = {"times of item", i}, .optional = true});
      v.write(item.out, {.label = {"out of item", i}, .owner = owner});
    }
  }
};

// Base conversion in Coeff, or in Half (column tile: inverse column stages, convert, forward column
// stages: one pass). in.basis() == table->from(), out.basis() == table->to(); in and
// out have the same domain, Coeff or Half. Tables may differ between items (digits of a ModUp).
struct Convert {
  struct Item {
    const BaseConversion* table = nullptr;
    PolyView in, out;
  };
  std::vector<Item> items;

  template <class Visitor>
  void fields(Visitor& v) const {
    for (std::size_t i = 0; i < items.size(); ++i) {
      v.read(items[i].in, {.label = {"in of item", i}});
      v.write(items[i].out, {.label = {"out of item", i}});
    }
  }
};

// Inner product of the digits of one polynomial with evaluation keys (one pass over rows), for any
// number of keys over the same digits (hoisting):
//   r_h = sum_j digit_j * key_j[h] + add_factor * add[h],   h = 0, 1
//   out_h = automorphism(r_h, galois)
// A digit is `own` (its own primes, Eval, straight from the input) and `converted` (all other
// primes, Half or Eval). Results go to `eval[h]` (Eval) and `half[h]` (Half): disjoint views that
// together cover the digits' primes; either may be empty (segments == 0). Key views are Eval and
// contain at least those primes. `add` (Eval, optional) covers some of the primes (those of the
// ciphertext); add_factor is [P]_q for them (PseudoModUp). galois must be 1 where half is used.
// With a `product` of two ciphertexts (a0, a1) and (b0, b1), Eval, the digits are those of a1 b1:
// `own` views are limbs of a1, and are multiplied by b1 as they are read. Instead of `add`,
//   r_h = sum_j digit_j * key_j[h] + add_factor * (a0 b0, a0 b1 + a1 b0)_h
// modulo all primes of `own` views, which every view of the product covers. Such a group has one
// target.
struct KeyInner {
  struct Digit {
    PolyView own = {}, converted = {};
  };
  struct Target {
    std::vector<std::array<PolyView, 2>> key;  // one pair (b, a) for each digit
    std::array<PolyView, 2> eval = {}, half = {};
    std::array<PolyView, 2> add = {};
    std::uint32_t galois = 1;
  };
  struct Product {
    std::array<PolyView, 2> a, b;
    bool empty() const { return a[0].segments == 0; }
  };
  struct Group {
    std::vector<Digit> digits;
    std::vector<Target> targets;
    Product product = {};
  };
  std::vector<Group> groups;
  std::vector<std::uint32_t> add_factor =
      {};  // indexed by the Ring's prime; empty if no target has an addend

  template <class Visitor>
  void fields(Visitor& v) const {
    for (const Group& group : groups) {
      std::uint64_t own = 0;  // bytes
      bool square = false;
      for (const Digit& digit : group.digits) {
        v.read(digit.own, {.label = "own", .optional = true});
        v.read(digit.converted, {.label = "converted", .optional = true});
        own += bytes_of(digit.own);
        if (digit.own.segments == 0) continue;
        square = same_limb(group.product.a[1], group.product.b[1], digit.own.segment[0].prime);
      }
      // a1 was read as digits, and so was b1 if the product is a square
      if (!group.product.empty()) {
        v.read(group.product.a[0], {.label = "product", .bytes = own});
        v.read(group.product.a[1], {.label = "product", .bytes = 0});
        v.read(group.product.b[0], {.label = "product", .bytes = square ? 0 : own});
        v.read(group.product.b[1], {.label = "product", .bytes = square ? 0 : own});
      }
      for (const Target& target : group.targets) {
        // Keys have more primes than the digits at low levels. Only the digits' primes are read.
        for (const std::array<PolyView, 2>& pair : target.key) {
          for (int h = 0; h < 2; ++h) {
            const int limbs = target.eval[h].limbs() + target.half[h].limbs();
            v.read(pair[h], {.label = "key", .bytes = limb_bytes(pair[h], limbs)});
          }
        }
        for (int h = 0; h < 2; ++h) {
          v.read(target.add[h], {.label = "add", .optional = true});
          v.write(target.eval[h], {.label = "eval", .optional = true});
          v.write(target.half[h], {.label = "half", .optional = true});
        }
      }
    }
  }
};

// Last step of ModDown and rescale:
//   out = automorphism(x * factor - y + add, galois), or with times
//   out = automorphism(x * times * factor - y + add, galois)
// y is Half or Eval and has out's basis (the conversion that made it has divided it already); x
// (Eval) covers a subset of it (primes that enter in a rational rescale have no x); add (Eval) is
// optional and covers a subset; times (Eval) covers x: where a key switch has one digit, x is its
// own limbs and times the key, so that their product is never written. out may alias x or add when
// galois == 1, never y or times.
struct ModDownFinish {
  struct Item {
    PolyView x = {}, y, add = {}, out;
    std::uint32_t galois = 1;
    PolyView times = {};
  };
  std::vector<Item> items;
  std::vector<std::uint32_t> factor;

  template <class Visitor>
  void fields(Visitor& v) const {
    for (std::size_t i = 0; i < items.size(); ++i) {
      const Item& item = items[i];
      const int owner = item.galois == 1 ? static_cast<int>(i) : -1;
      v.read(item.x, {.label = {"x of item", i}, .owner = owner, .optional = true});
      v.read(item.y, {.label = {"y of item", i}});
      v.read(item.add, {.label = {"add of item", i}, .owner = owner, .optional = true});
      v.read(item.times, {.label = {"times of item", i}, .optional = true});
      v.write(item.out, {.label = {"out of item", i}, .owner = static_cast<int>(i)});
    }
  }
};

// out = sum_k c_k * x_k (+ constant), any domain but one in each item; limbs of out define the
// basis, every x covers it. A coefficient is one residue per limb of out, or a small integer when
// `residues` is empty. For Eval views `upper` (if not empty) holds the residues for the upper half
// of the indices: with lower = a + b*I and upper = a - b*I, I = psi^(N/2), this multiplies by the
// complex scalar a + i b (X^(N/2) acts as i on every slot). out may alias any x.
// Instead of vectors, coefficients and the constant may lie in backend memory (`stored`, Eval): for
// L limbs of out L residues for the lower half and then L for the upper half. They are read when
// the record runs, so that each replay of a recording may find others. Where an item is a part of a
// longer one (backend/splitting.h), L is `stored_limbs`, that of the longer one.
struct Linear {
  struct Term {
    PolyView x;
    std::int32_t small = 1;
    std::vector<std::uint32_t> residues = {}, upper = {};
    const std::uint32_t* stored = nullptr;
  };
  struct Item {
    std::vector<Term> terms;
    PolyView out;
    std::vector<std::uint32_t> constant = {}, constant_upper = {};  // added to all entries (Eval)
    const std::uint32_t* constant_stored = nullptr;
    int stored_limbs = 0;  // 0: as many as `out` has
    int stored_stride() const { return stored_limbs > 0 ? stored_limbs : out.limbs(); }
  };
  std::vector<Item> items;

  template <class Visitor>
  void fields(Visitor& v) const {
    for (std::size_t i = 0; i < items.size(); ++i) {
      const Item& item = items[i];
      const int owner = static_cast<int>(i);
      for (const Term& term : item.terms) {
        const std::uint64_t bytes = bytes_of(item.out);
        v.read(term.x, {.label = {"x of item", i}, .owner = owner, .bytes = bytes});
      }
      v.write(item.out, {.label = {"out of item", i}, .owner = owner});
      for (const Term& term : item.terms) stored(v, item, term.stored, {"stored of item", i});
      stored(v, item, item.constant_stored, {"stored constant of item", i});
    }
  }

 private:
  template <class Visitor>
  static void stored(Visitor& v, const Item& item, const std::uint32_t* words, Label label) {
    if (words == nullptr) return;
    const auto count = static_cast<std::size_t>(item.stored_stride()) + item.out.limbs();
    v.read(Memory{words, sizeof(std::uint32_t) * count, item.out.data}, {.label = label});
  }
};

// Tensor product, summed over pairs, and a linear combination: (d0, d1, d2) =
//   factor sum_k (a0 b0, a0 b1 + a1 b0, a1 b1) + sum_t c_t (x0, x1, 0) + (constant, 0, 0).
// Eval. An a may be the same views as its b (squaring). Inputs cover out's basis; factor is 1 or 2;
// constants and their upper halves as in Linear.
struct Tensor {
  struct Pair {
    std::array<PolyView, 2> a, b;
  };
  struct Term {
    std::array<PolyView, 2> x;
    std::vector<std::uint32_t> residues, upper = {};
  };
  struct Item {
    std::vector<Pair> pairs;
    std::array<PolyView, 3> out;
    int factor = 1;
    std::vector<Term> terms = {};
    std::vector<std::uint32_t> constant = {}, constant_upper = {};
  };
  std::vector<Item> items;

  template <class Visitor>
  void fields(Visitor& v) const {
    for (const Item& item : items) {
      const std::uint64_t bytes = bytes_of(item.out[0]);
      for (const Pair& pair : item.pairs) {
        const bool square = same_limb(pair.a[0], pair.b[0], item.out[0].segment[0].prime);
        for (const PolyView& a : pair.a) v.read(a, {.label = "a", .bytes = bytes});
        for (const PolyView& b : pair.b) v.read(b, {.label = "b", .bytes = square ? 0 : bytes});
      }
      for (const Term& term : item.terms) {
        for (const PolyView& x : term.x) v.read(x, {.label = "x", .bytes = bytes});
      }
      for (const PolyView& out : item.out) v.write(out, {.label = "out"});
    }
  }
};

// Sums of products with shared operands (plaintext products, BSGS inner sums): for each output
//   out = sum_k inputs[k.input] * k.factor (+ out if accumulate)
// component by component (`parts` 1, 2 or 3 polynomials per input, one factor polynomial for all
// parts). Eval. A factor may have some of out's primes only; its input has those at least, and the
// term is zero modulo the others. A factor in X^(2^s), s >= 2, may belong to a Ring of degree N/2^s
// with the same primes: entry i of the product takes its entry i >> s. out may alias its own
// inputs[k.input] if all their factors are whole.
struct Dot {
  struct Term {
    int input = 0;
    PolyView factor;
  };
  struct Output {
    std::vector<Term> terms;
    std::array<PolyView, 3> out;
    bool accumulate = false;
  };
  int parts = 2;
  std::vector<std::array<PolyView, 3>> inputs;
  std::vector<Output> outputs;

  // For each input, the only output that reads it, if that output uses whole factors: it may
  // overlap the input. Otherwise a negative number.
  std::vector<int> sole_readers() const;

  template <class Visitor>
  void fields(Visitor& v) const {
    const std::vector<int> reader =
        Visitor::kOwners ? sole_readers() : std::vector<int>(inputs.size(), -1);
    const PolyView* first = outputs.empty() ? nullptr : &outputs[0].out[0];
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      for (int p = 0; p < parts && p < 3; ++p) {
        const int owner = reader[i] < 0 ? -1 : reader[i] * 3 + p;
        v.read(inputs[i][p], {.label = {"input", i}, .owner = owner, .primes_of = first});
      }
    }
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      const Output& output = outputs[o];
      for (const Term& term : output.terms) {
        v.read(term.factor,
               {.label = {"factor of out", o}, .repeats = true, .primes_of = &output.out[0]});
      }
      for (int p = 0; p < parts && p < 3; ++p) {
        const std::uint64_t bytes = bytes_of(output.out[p]) * (output.accumulate ? 2 : 1);
        v.write(output.out[p],
                {.label = {"out", o}, .owner = static_cast<int>(o) * 3 + p, .bytes = bytes});
      }
    }
  }
};

// out = sum_k X -> X^galois_k applied to x_k. Eval or Coeff (one domain an item). No aliasing.
struct Automorphism {
  struct Term {
    PolyView x;
    std::uint32_t galois = 1;  // odd, < 2N
  };
  struct Item {
    std::vector<Term> terms;
    PolyView out;
  };
  std::vector<Item> items;

  template <class Visitor>
  void fields(Visitor& v) const {
    for (const Item& item : items) {
      const std::uint64_t bytes = bytes_of(item.out);
      for (const Term& term : item.terms) v.read(term.x, {.label = "x", .bytes = bytes});
      v.write(item.out, {.label = "out"});
    }
  }
};

// Exact centred lift: in (Coeff, one or two primes, modulus Q0) -> the representative in
// (-Q0/2, Q0/2), reduced into every prime of out (Coeff). The first step of bootstrapping.
struct ModRaise {
  static constexpr bool kLimbsApart = true;
  struct Item {
    PolyView in, out;
  };
  std::vector<Item> items;

  template <class Visitor>
  void fields(Visitor& v) const {
    for (const Item& item : items) {
      v.read(item.in, {.label = "in"});
      v.write(item.out, {.label = "out"});
    }
  }
};

// Signed 64-bit integers (backend memory, N of them, Coeff order) reduced into every prime of out.
struct FromIntegers {
  static constexpr bool kLimbsApart = true;
  struct Item {
    const std::int64_t* in = nullptr;
    PolyView out;
  };
  std::vector<Item> items;

  template <class Visitor>
  void fields(Visitor& v) const {
    for (const Item& item : items) {
      v.write(item.out, {.label = "out"});
      v.read(Memory{item.in, coefficient_bytes(item.out), item.out.data}, {.label = "in"});
    }
  }
};

// Complex slots (backend memory: `slots` pairs of doubles) -> integer coefficients -> residues.
// With w the inverse special FFT of `in` (ops/slot_transform.h fixes every rounding), gap = N/(2
// slots):
//   coefficient k gap       = round((w_rev(k).re * (1/slots)) * factor),   k < slots
//   coefficient N/2 + k gap = round((w_rev(k).im * (1/slots)) * factor)
// half to even, all others 0, in Coeff. What is not below `bound` (0 or more than 2^62: 2^62) in
// size, NaN included, is a fault: written as 0, and reported as a ScaleError (backend.h says when).
struct Embed {
  static constexpr bool kLimbsApart = true;
  struct Item {
    const SlotTransform* table = nullptr;
    const double* in = nullptr;
    int slots = 0;
    double factor = 1, bound = 0;
    PolyView out;
  };
  std::vector<Item> items;

  template <class Visitor>
  void fields(Visitor& v) const {
    for (const Item& item : items) {
      v.write(item.out, {.label = "out"});
      v.read(Memory{item.in, slot_bytes(item.slots), item.out.data}, {.label = "in"});
    }
  }
};

// The inverse of Embed. `in` is in Coeff, modulo any primes, whose product is Q.
// 1. Each coefficient i becomes the integer x_i in (-Q/2, Q/2) that it stands for.
// 2. x_i is rounded to a double and divided: c_i = x_i / divisor.
// 3. Pairs of these make complex numbers: w_rev(k) = c_(k gap) + i c_(N/2 + k gap).
// 4. `out` is the special FFT of w.
// It branches on the values.
struct Project {
  struct Item {
    const SlotTransform* table = nullptr;
    PolyView in;
    double divisor = 1;
    int slots = 0;
    double* out = nullptr;  // `slots` pairs of doubles
  };
  std::vector<Item> items;

  template <class Visitor>
  void fields(Visitor& v) const {
    for (const Item& item : items) {
      // Only the 2 * slots coefficients that slots come from are read.
      const std::uint64_t words = std::uint64_t(item.in.limbs()) * 2 * item.slots;
      v.read(item.in, {.label = "in", .bytes = words * sizeof(std::uint32_t)});
      v.write(Memory{item.out, slot_bytes(item.slots), item.in.data}, {.label = "out"});
    }
  }
};

// Uniform residues expanded from a public 256-bit seed: the wire format's expander (crypto/expand.h
// states it exactly). `stream` separates objects under one seed; limb p of the output depends only
// on (seed, stream, prime index in the Ring). Written in out's domain as they come.
struct ExpandUniform {
  static constexpr bool kLimbsApart = true;
  struct Item {
    std::array<std::uint8_t, 32> seed{};
    std::uint64_t stream = 0;
    PolyView out;
  };
  std::vector<Item> items;

  template <class Visitor>
  void fields(Visitor& v) const {
    for (const Item& item : items) v.write(item.out, {.label = "out"});
  }
};

// Error polynomials from a secret 256-bit seed: discrete Gaussian integers, reduced into every
// prime of out (Coeff). Coefficient i is gaussian_from_word (crypto/gaussian.h) of `table` and the
// 128-bit little-endian word i of the ChaCha20 keystream with key = seed, 96-bit nonce = index (64
// bits, little endian) || kErrorNonce (crypto/expand.h), block counter from 0: four coefficients
// per block. Constant time in seed and values. Seeds lie in backend memory, in a secret block
// (runtime/queue.h). So neither the record nor what a backend makes of it (launch parameters, the
// queue of a driver) holds a secret that nobody would clear. No two items may have the same seed
// and index, because equal errors reveal the difference of two messages.
inline constexpr int kMaxSampleEntries = 56;  // the table for sigma = 4 has so many
struct SampleGaussian {
  static constexpr bool kLimbsApart = true;
  struct Item {
    const std::uint8_t* seed = nullptr;  // 32 bytes
    std::uint64_t index = 0;
    PolyView out;
  };
  const crypto::GaussianTable* table = nullptr;
  std::vector<Item> items;

  template <class Visitor>
  void fields(Visitor& v) const {
    for (std::size_t i = 0; i < items.size(); ++i) {
      v.write(items[i].out, {.label = {"out of item", i}});
      v.read(Memory{items[i].seed, 32, items[i].out.data}, {.label = "seed", .bytes = 0});
    }
  }
};

// Copies limbs (equal bases and domains), or clears out where x has no segments.
struct Copy {
  struct Item {
    PolyView x = {}, out;
  };
  std::vector<Item> items;

  template <class Visitor>
  void fields(Visitor& v) const {
    for (const Item& item : items) {
      v.read(item.x, {.label = "x", .optional = true});
      v.write(item.out, {.label = "out"});
    }
  }
};

// All records. Code that lists every record takes them from here.
// clang-format off
#define LATTICINO_RECORDS(each)                                                            \
  each(Transform) each(Convert) each(KeyInner) each(ModDownFinish) each(Linear)            \
  each(Tensor) each(Dot) each(Automorphism) each(ModRaise) each(FromIntegers) each(Embed)  \
  each(Project) each(ExpandUniform) each(SampleGaussian) each(Copy)                        \
  LATTICINO_LWE_RECORDS(each)
// clang-format on

template <class, class... Records>
using OneOf = std::variant<Records...>;
#define LATTICINO_OR(Record) , Record
using Operation = OneOf<void LATTICINO_RECORDS(LATTICINO_OR)>;
#undef LATTICINO_OR

const char* name(const Operation& op);

// Throws ShapeError / ParameterError naming the record and the offending view. Looks at shapes
// only, so it holds for dry runs as well. Shared by every backend.
void check(const Operation& op);

// Bytes a backend must at least move (each input read once, each output written once).
std::uint64_t bytes_moved(const Operation& op);

}  // namespace latticino
