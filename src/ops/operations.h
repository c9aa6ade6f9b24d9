// The operation records: everything a backend can be asked to compute on polynomials. Each is a
// plain struct that carries a batch; scheme code submits them to a Queue (runtime/queue.h), which
// checks them once for every backend. Outputs must not overlap inputs or each other unless a record
// says "may alias". All views of one record belong to one Ring. Vectors of constants have one
// canonical residue for each prime of the view they act on, in the order of its basis.
#pragma once

#include <array>
#include <cstdint>
#include <variant>
#include <vector>

#include "ops/conversion.h"
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
    PolyView own, converted;
  };
  struct Target {
    std::vector<std::array<PolyView, 2>> key;  // one pair (b, a) a digit
    std::array<PolyView, 2> eval, half;
    std::array<PolyView, 2> add;
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
  std::vector<std::uint32_t> add_factor;  // indexed by the Ring's prime; empty when nothing adds
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
    PolyView x, y, add, out;
    std::uint32_t galois = 1;
    PolyView times = {};
  };
  std::vector<Item> items;
  std::vector<std::uint32_t> factor;
};

// out = sum_k c_k * x_k (+ constant), any domain but one in each item; limbs of out define the
// basis, every x covers it. A coefficient is one residue a limb of out, or a small integer when
// `residues` is empty. For Eval views `upper` (if not empty) holds the residues for the upper half
// of the indices: with lower = a + b*I and upper = a - b*I, I = psi^(N/2), this multiplies by the
// complex scalar a + i b (X^(N/2) acts as i on every slot). out may alias any x.
struct Linear {
  struct Term {
    PolyView x;
    std::int32_t small = 1;
    std::vector<std::uint32_t> residues, upper;
  };
  struct Item {
    std::vector<Term> terms;
    PolyView out;
    std::vector<std::uint32_t> constant, constant_upper;  // added to every entry (Eval only)
  };
  std::vector<Item> items;
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
    std::vector<std::uint32_t> residues, upper;
  };
  struct Item {
    std::vector<Pair> pairs;
    std::array<PolyView, 3> out;
    int factor = 1;
    std::vector<Term> terms = {};
    std::vector<std::uint32_t> constant = {}, constant_upper = {};
  };
  std::vector<Item> items;
};

// Sums of products with shared operands (plaintext products, BSGS inner sums): for each output
//   out = sum_k inputs[k.input] * k.factor (+ out if accumulate)
// component by component (`parts` 1, 2 or 3 polynomials an input, one factor polynomial for all
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
};

// Exact centred lift: in (Coeff, one or two primes, modulus Q0) -> the representative in
// (-Q0/2, Q0/2), reduced into every prime of out (Coeff). Opens bootstrapping.
struct ModRaise {
  struct Item {
    PolyView in, out;
  };
  std::vector<Item> items;
};

// Signed 64-bit integers (backend memory, N of them, Coeff order) reduced into every prime of out.
struct FromIntegers {
  struct Item {
    const std::int64_t* in = nullptr;
    PolyView out;
  };
  std::vector<Item> items;
};

// Complex slots (backend memory: `slots` pairs of doubles) -> integer coefficients -> residues.
// With w the inverse special FFT of `in` (ops/slot_transform.h fixes every rounding), gap = N/(2
// slots):
//   coefficient k gap       = round((w_rev(k).re * (1/slots)) * factor),   k < slots
//   coefficient N/2 + k gap = round((w_rev(k).im * (1/slots)) * factor)
// half to even, all others 0, in Coeff. What is not below `bound` (0 or more than 2^62: 2^62) in
// size, NaN included, is a fault: written as 0, and reported as a ScaleError (backend.h says when).
struct Embed {
  struct Item {
    const SlotTransform* table = nullptr;
    const double* in = nullptr;
    int slots = 0;
    double factor = 1, bound = 0;
    PolyView out;
  };
  std::vector<Item> items;
};

// The way back: with x_i the integer in (-Q/2, Q/2) that coefficient i of `in` (Coeff, any primes,
// product Q) stands for and c_i = x_i / divisor (x_i rounded to double, then the quotient), out is
// the special FFT of w_rev(k) = c_(k gap) + i c_(N/2 + k gap). Branches on the values.
struct Project {
  struct Item {
    const SlotTransform* table = nullptr;
    PolyView in;
    double divisor = 1;
    int slots = 0;
    double* out = nullptr;  // `slots` pairs of doubles
  };
  std::vector<Item> items;
};

// Uniform residues expanded from a public 256-bit seed: the wire format's expander (crypto/expand.h
// states it exactly). `stream` separates objects under one seed; limb p of the output depends only
// on (seed, stream, prime index in the Ring). Written in out's domain as they come.
struct ExpandUniform {
  struct Item {
    std::array<std::uint8_t, 32> seed{};
    std::uint64_t stream = 0;
    PolyView out;
  };
  std::vector<Item> items;
};

// Error polynomials from a secret 256-bit seed: discrete Gaussian integers, reduced into every
// prime of out (Coeff). Coefficient i is gaussian_from_word (crypto/gaussian.h) of `table` and the
// 128-bit little-endian word i of the ChaCha20 keystream with key = seed, 96-bit nonce = index (64
// bits, little endian) || kErrorNonce (crypto/expand.h), block counter from 0: four coefficients a
// block. Constant time in seed and values. Seeds lie in backend memory, in a secret block
// (runtime/queue.h): neither the record nor what a backend makes of it (launch parameters, a
// driver's queue) holds a secret that nobody would clear. No two items may have one seed and index:
// equal errors give away the difference of two messages.
inline constexpr int kMaxSampleEntries = 56;  // of the table: what sigma = 4 has
struct SampleGaussian {
  struct Item {
    const std::uint8_t* seed = nullptr;  // 32 bytes
    std::uint64_t index = 0;
    PolyView out;
  };
  const crypto::GaussianTable* table = nullptr;
  std::vector<Item> items;
};

// Copies limbs (equal bases and domains), or clears out where x has no segments.
struct Copy {
  struct Item {
    PolyView x, out;
  };
  std::vector<Item> items;
};

using Operation = std::variant<Transform, Convert, KeyInner, ModDownFinish, Linear, Tensor, Dot,
                               Automorphism, ModRaise, FromIntegers, Embed, Project, ExpandUniform,
                               SampleGaussian, Copy, LweLinear, LweKeySwitch, ModSwitch,
                               SampleExtract, LweSlots, FourierKey, BlindRotate>;

const char* name(const Operation& op);

// Throws ShapeError / ParameterError naming the record and the offending view. Looks at shapes
// only, so it holds for dry runs as well. Shared by every backend.
void check(const Operation& op);

// Bytes a backend must at least move (each input read once, each output written once).
std::uint64_t bytes_moved(const Operation& op);

}  // namespace latticino
