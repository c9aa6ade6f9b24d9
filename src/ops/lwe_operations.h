// The records of TFHE, one family: LWE ciphertexts, and blind rotation of GLWE ciphertexts. The
// rules of operations.h hold. Everything is integer arithmetic, or floating point in a fixed order
// of operations, so that every backend gives the same words.
#pragma once

#include <cstdint>
#include <vector>

#include "math/gadget.h"
#include "ops/fields.h"
#include "poly/lwe_view.h"
#include "poly/poly_array.h"

namespace latticino {

// out = sum_t factor_t x_t + (0, constant), ciphertext by ciphertext: all of one modulus and
// dimension; an x has as many ciphertexts as out, or one that is used for all. out may be exactly
// an x of its item.
struct LweLinear {
  struct Term {
    LweView x;
    std::int32_t factor = 1;
  };
  struct Item {
    std::vector<Term> terms;
    LweView out;
    std::uint32_t constant = 0;
  };
  std::vector<Item> items;

  template <class Visitor>
  void fields(Visitor& v) const {
    for (std::size_t i = 0; i < items.size(); ++i) {
      const int owner = static_cast<int>(i);
      for (const Term& term : items[i].terms) {
        v.read(term.x, {.label = {"x of item", i}, .owner = owner});
      }
      v.write(items[i].out, {.label = {"out of item", i}, .owner = owner});
    }
  }
};

// Modulo one prime q, from in.dimension to out.dimension:
//   out = (0, b) + sum_i sum_j d_ij key[i * levels + j]
// with d_i0 .. the digits (math/gadget.h, bits = bit length of q) of the centred mask a_i. Row
// i * levels + j of the key encrypts s_i 2^gadget_exponent(j) under the new secret.
struct LweKeySwitch {
  struct Item {
    LweView in, out;
  };
  LweView key;
  Gadget gadget;
  std::vector<Item> items;

  template <class Visitor>
  void fields(Visitor& v) const {
    v.read(key, {.label = "key"});  // counts once for a batch, however often a backend reads it
    for (std::size_t i = 0; i < items.size(); ++i) {
      v.read(items[i].in, {.label = {"in of item", i}});
      v.write(items[i].out, {.label = {"out of item", i}});
    }
  }
};

// Words modulo q to exponents modulo 2N = out.modulus, a power of two. With M = 2N / 2^log_many:
//   e_i = 2^log_many (floor((2 M a_i + q) / 2q) mod M), r_i = M a_i - q round(a_i M / q)
//   e_b = 2^log_many (floor((2 M b + q + (centred ? sum_i r_i : 0)) / 2q) mod M)
// round being that of e_i before its reduction modulo M. `centred` adds half of the sum of the
// rounding errors to b: the mean of what they do to the phase under a binary key. With log_many > 0
// neighbouring positions of a table hold 2^log_many tables. out may be exactly in.
struct ModSwitch {
  struct Item {
    LweView in, out;
  };
  bool centred = false;
  int log_many = 0;
  std::vector<Item> items;

  template <class Visitor>
  void fields(Visitor& v) const {
    for (std::size_t i = 0; i < items.size(); ++i) {
      const int owner = static_cast<int>(i);
      v.read(items[i].in, {.label = {"in of item", i}, .owner = owner});
      v.write(items[i].out, {.label = {"out of item", i}, .owner = owner});
    }
  }
};

// LWE ciphertexts of coefficients of GLWE ciphertexts (b, a_1 .. a_k), Coeff: ciphertext i,
// coefficient j of the list goes to out[i * coefficients.size() + j], of dimension k N, modulo the
// first prime q0 of `in`. Over two primes the value is divided by the second, rounding to nearest:
// (x - centred(x mod q1)) / q1. Of secrets in X^step only the coefficients of X^(i step) are not
// zero: out has the k N / step words that meet these, i = 0, 1, .. of each polynomial.
struct SampleExtract {
  struct Item {
    PolyArray in;  // (k + 1) polynomials for each ciphertext
    std::vector<std::uint32_t> coefficients;
    LweView out;
  };
  int glwe_dimension = 1;
  std::vector<Item> items;
  std::uint32_t step = 1;  // must be a power of two

  template <class Visitor>
  void fields(Visitor& v) const {
    for (std::size_t i = 0; i < items.size(); ++i) {
      v.read(items[i].in, {.label = {"in of item", i}});
      v.write(items[i].out, {.label = {"out of item", i}});
    }
  }
};

// Words of LWE ciphertexts as complex slots for Embed: pairs of doubles (x, 0). Row r of a matrix
// of R = rows.size() rows, a power of two, is ciphertext rows[r] of `in`, or 0 where that is -1;
// c() is the centred representative, n = in.dimension. With `bodies`, R slots: what is left of the
// phases of a binary key s once it is taken as s - 1/2,
//   x_r = ((2 b + sum_i c(a_i)) modulo 2q, in (-q, q]) / 2q.
// Otherwise diagonals first .. first + count - 1 of the masks, one after another, `slots` slots
// each: slots / R blocks of R, of D = n R / slots columns per row,
//   x_i = c(a_j) / q of row i mod R,  j = (i mod R + D floor(i / R) + diagonal) mod n,
// so that diagonals 0 .. D - 1 have every word once. Quotients are rounded once.
struct LweSlots {
  struct Item {
    LweView in;
    std::vector<std::int32_t> rows;
    double* out = nullptr;
    std::uint32_t slots = 0, first = 0, count = 0;  // of diagonals
  };
  bool bodies = false;
  std::vector<Item> items;

  template <class Visitor>
  void fields(Visitor& v) const {
    for (std::size_t i = 0; i < items.size(); ++i) {
      const Item& item = items[i];
      const std::uint64_t all = bodies ? item.rows.size() : std::uint64_t{item.slots} * item.count;
      const std::uint64_t words = bodies ? all * (item.in.dimension + 1) : all;
      v.read(item.in, {.label = {"in of item", i}, .bytes = words * sizeof(std::uint32_t)});
      v.write(Memory{item.out, slot_bytes(all), item.in.data}, {.label = {"out of item", i}});
    }
  }
};

// Which arithmetic multiplies polynomials. Exact: modulo the ring's primes. Fft64: complex
// transforms in FP64 (math/fourier.h): over one prime the same words, because sums are integers
// that rounding recovers; over two primes with a rounding error (params/tfhe/noise.h,
// fourier_variance).
enum class BlindRotateArithmetic : std::uint8_t { Exact, Fft64 };

// Polynomials of a BlindRotate key (Coeff, centred; one or two primes) as its arithmetic Fft64
// takes them: transforms divided by N/2, N doubles a polynomial, in an order of the backend's own
// within a K_tj. Items are whole K_tj, of rows() (k + 1) polynomials each.
struct FourierKey {
  struct Item {
    PolyArray in;
    double* out = nullptr;  // backend memory, N doubles for each polynomial
  };
  int glwe_dimension = 1, levels = 1;
  std::vector<Item> items;

  int rows() const { return (glwe_dimension + 1) * levels; }
  int polynomials_of_key() const { return rows() * (glwe_dimension + 1); }

  template <class Visitor>
  void fields(Visitor& v) const {
    for (std::size_t i = 0; i < items.size(); ++i) {
      const Item& item = items[i];
      v.read(item.in, {.label = {"in of item", i}});
      v.write(Memory{item.out, coefficient_bytes(item.in.first, item.in.count), item.in.first.data},
              {.label = {"out of item", i}});
    }
  }
};

// acc = (table, 0 .. 0) X^-e_b; then for each step t of `group` mask elements
//   binary, group 1:  acc += K_t [*] ((X^-e_t - 1) acc)
//   otherwise:        acc += sum_j (X^-E_tj - 1) (K_tj [*] acc),
// the sum over keys_per_step() keys. In a group key j encrypts the selector "exactly the secret
// bits of the set j + 1 are 1" (bit i of j + 1: element group t + i) and E_tj is the sum of their
// exponents. Of a ternary secret key 0 encrypts [s = 1] with E = e, key 1 [s = -1] with E = -e. So
// acc ends as table X^-(e_b + sum e_i s_i), encrypted. [*] is the external product: component c of
// (b, a_1 .. a_k), centred (over two primes: math/gadget.h, centred_pair), has digits d_ci, bits =
// bit length of the primes' product, and
//   K [*] x = sum_c sum_i d_ci row(c * levels + i).
// Key polynomials, Eval: (t, j, row, component) in that order, components innermost. Row
// c * levels + i encrypts selector 2^gadget_exponent(i) times component c of (1, s_1 .. s_k).
//
// Fft64 (binary, k <= 2, N = 2^10 .. 2^12) reads `fourier`, all key polynomials through FourierKey,
// instead of `key`. The sum over rows and keys (math/fourier_selector.h), each coefficient, is
// rounded to an integer, half to even, over one prime; over two primes acc and its digits are those
// of doubles (math/fourier.h, Rounding), and acc is rounded at the end.
struct BlindRotate {
  struct Item {
    LweView exponents;  // its modulus is 2N
    PolyView table;     // polynomials in Coeff
    PolyArray out;      // in Coeff, (k + 1) for each ciphertext
  };
  PolyArray key;
  Gadget gadget;
  int glwe_dimension = 1;
  int group = 1;
  bool ternary = false;  // then group is 1
  BlindRotateArithmetic arithmetic = BlindRotateArithmetic::Exact;
  std::vector<Item> items;
  const double* fourier = nullptr;

  int keys_per_step() const { return ternary ? 2 : (1 << group) - 1; }
  int rows() const { return (glwe_dimension + 1) * gadget.levels; }
  // Number of a polynomial of the key.
  std::uint32_t key_index(std::uint32_t step, int key_of_step, int row, int component) const {
    const auto rows32 = static_cast<std::uint32_t>(rows());
    return ((step * keys_per_step() + key_of_step) * rows32 + row) * (glwe_dimension + 1) +
           component;
  }

  template <class Visitor>
  void fields(Visitor& v) const {
    const bool fft = arithmetic == BlindRotateArithmetic::Fft64;
    v.read(key, {.label = "key", .bytes = fft ? 0 : kWholeField});
    if (fft) {
      v.read(Memory{fourier, coefficient_bytes(key.first, key.count), key.first.data},
             {.label = "fourier"});
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
      v.read(items[i].exponents, {.label = {"exponents of item", i}});
      v.read(items[i].table, {.label = {"table of item", i}});
      v.write(items[i].out, {.label = {"out of item", i}});
    }
  }
};

// The records above (operations.h has all).
#define LATTICINO_LWE_RECORDS(each)                                                     \
  each(LweLinear) each(LweKeySwitch) each(ModSwitch) each(SampleExtract) each(LweSlots) \
      each(FourierKey) each(BlindRotate)

}  // namespace latticino
