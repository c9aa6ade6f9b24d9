// A step of blind rotations over a whole batch (rotate/steps.cu), as kernels: digits, products and
// sums entry by entry. The first and the last of these can be one kernel with the transform next to
// them.
#pragma once

#include <cstdint>

#include "backend/cuda/ntt/block.cuh"
#include "backend/cuda/rotate/products.cuh"

namespace latticino::cuda {

constexpr int kStepThreads = 128;

// A part of the batch: ciphertexts [first, first + blocks of z).
struct StepArgs {
  RotateArgs rotate;
  RowView rows;
  std::uint32_t first, step;
  std::uint32_t* digits;   // [ciphertext][row][prime][N]
  std::uint32_t* product;  // [ciphertext][component][prime][N]
};
static_assert(sizeof(StepArgs) <= 4096);

// A ciphertext of the part.
struct Place {
  const RotateArgs::Item& item;
  std::uint32_t index;
  __device__ __forceinline__ Place(const StepArgs& a, std::uint32_t at)
      : item(a.rotate.item_of(a.first + at)), index(a.first + at - item.first) {}
  __device__ __forceinline__ const std::uint32_t* exponents(const StepArgs& a) const {
    return item.exponents + index * item.stride + a.step * a.rotate.group;
  }
  __device__ __forceinline__ std::uint32_t* out(const RotateArgs& a, int component, int primes,
                                                int p) const {
    const std::size_t poly = std::size_t(index) * a.parts + component;
    return item.out + ((poly * primes + p) << a.ring.log_n);
  }
};

__device__ __forceinline__ void begin_rotation(const StepArgs& a, int primes) {
  const std::uint32_t i = blockIdx.x * kStepThreads + threadIdx.x;
  const int component = blockIdx.y / primes, p = blockIdx.y % primes;
  const Place place(a, blockIdx.z);
  const std::uint32_t e =
      place.item.exponents[place.index * place.item.stride + a.rotate.dimension];
  const int log_n = a.rotate.ring.log_n;
  const std::uint32_t* table = place.item.table + (std::size_t(p) << log_n);
  place.out(a.rotate, component, primes, p)[i] =
      component == 0 ? turned(table, i, e, log_n, a.rotate.ring.modulus[a.rotate.prime[p]].q) : 0;
}

template <int PRIMES>
__device__ __forceinline__ void digits_of_step(const StepArgs& a) {
  const std::uint32_t i = blockIdx.x * kStepThreads + threadIdx.x;
  const int component = blockIdx.y, log_n = a.rotate.ring.log_n;
  const Place place(a, blockIdx.z);
  const std::uint32_t e = place.exponents(a)[0];
  std::uint32_t q[PRIMES], v[PRIMES];
#pragma unroll
  for (int p = 0; p < PRIMES; ++p) {
    q[p] = a.rotate.ring.modulus[a.rotate.prime[p]].q;
    const std::uint32_t* acc = place.out(a.rotate, component, PRIMES, p);
    v[p] = acc[i];
    if (a.rotate.keys == 1) v[p] = sub_mod(turned(acc, i, e, log_n, q[p]), v[p], q[p]);
  }
  const DigitForm<PRIMES> form(a.rotate.gadget, a.rotate.bits);
  const std::size_t row = std::size_t(blockIdx.z) * a.rotate.rows() + component * form.levels;
  for (int level = 0; level < form.levels; ++level) {
#pragma unroll
    for (int p = 0; p < PRIMES; ++p) {
      a.digits[(((row + level) * PRIMES + p) << log_n) + i] =
          form.digit(v, level, q, a.rotate.inverse, q[p]);
    }
  }
}

// Each thread has a vector of four entries in Eval.
__device__ __forceinline__ void products_of_step(const StepArgs& a, int primes) {
  const RotateArgs& r = a.rotate;
  const std::uint32_t at = blockIdx.x * kStepThreads + threadIdx.x;
  const int log_n = r.ring.log_n, rows = r.rows();
  const std::uint32_t vectors = 1u << (log_n - 2);
  if (at >= vectors) return;
  const int component = blockIdx.y / primes, p = blockIdx.y % primes;
  const Modulus m = load_modulus(r.ring.modulus + r.prime[p]);
  const auto* x = reinterpret_cast<const uint4*>(a.digits) +
                  (std::size_t(blockIdx.z) * rows * primes + p) * vectors + at;
  const auto sum = [&](int j) {
    const std::size_t first = (std::size_t(a.step) * r.keys + j) * rows * r.parts + component;
    const auto* key = reinterpret_cast<const uint4*>(r.key) + (first * primes + p) * vectors + at;
    ProductSums s;
    for (int row = 0; row < rows; ++row) {
      s.add(x[std::size_t(row) * primes * vectors],
            __ldg(key + std::size_t(row) * r.parts * primes * vectors));
      if (row % 2 != 0) s.fold(m.q);
    }
    if (rows % 2 != 0) s.fold(m.q);
    return s.reduced(m);
  };
  uint4 y;
  if (r.keys == 1) {
    y = sum(0);
  } else {
    const std::uint32_t* psi = r.ring.psi + (std::size_t(r.prime[p]) << log_n);
    const std::uint32_t* exponents = Place(a, blockIdx.z).exponents(a);
    const std::uint32_t entry = logical_index(Domain::Eval, 4 * at, log_n);
    ProductSums total;
    for (int j = 0; j < r.keys; ++j) {
      total.add(sum(j), selector(psi, selected_exponent(r, exponents, j), entry, log_n, m));
      total.fold(m.q);
    }
    y = total.reduced_montgomery(m);
  }
  reinterpret_cast<uint4*>(
      a.product)[(std::size_t(blockIdx.z) * gridDim.y + blockIdx.y) * vectors + at] = y;
}

__device__ __forceinline__ void add_to_accumulators(const StepArgs& a, int primes) {
  const std::uint32_t i = blockIdx.x * kStepThreads + threadIdx.x;
  const int component = blockIdx.y / primes, p = blockIdx.y % primes;
  const int log_n = a.rotate.ring.log_n;
  std::uint32_t& acc = Place(a, blockIdx.z).out(a.rotate, component, primes, p)[i];
  const std::size_t poly = std::size_t(blockIdx.z) * gridDim.y + blockIdx.y;
  acc = add_mod(acc, a.product[(poly << log_n) + i], a.rotate.ring.modulus[a.rotate.prime[p]].q);
}

// Coefficients of one digit of a ciphertext, as a block transforms them.
template <int PRIMES>
struct DigitSource {
  const StepArgs& a;
  const std::uint32_t* acc[PRIMES];
  std::uint32_t q[PRIMES], e, own;
  int level;
  DigitForm<PRIMES> form;

  __device__ __forceinline__ DigitSource(const StepArgs& a, std::uint32_t ciphertext, int row,
                                         int prime)
      : a(a), level(row % a.rotate.gadget.levels), form(a.rotate.gadget, a.rotate.bits) {
    const Place place(a, ciphertext);
    e = place.exponents(a)[0];
#pragma unroll
    for (int p = 0; p < PRIMES; ++p) {
      acc[p] = place.out(a.rotate, row / a.rotate.gadget.levels, PRIMES, p);
      q[p] = a.rotate.ring.modulus[a.rotate.prime[p]].q;
    }
    own = q[PRIMES - 1];
    if (prime == 0) own = q[0];
  }
  __device__ __forceinline__ std::uint32_t operator()(std::uint32_t i) const {
    std::uint32_t v[PRIMES];
#pragma unroll
    for (int p = 0; p < PRIMES; ++p) {
      v[p] = acc[p][i];
      if (a.rotate.keys == 1) {
        v[p] = sub_mod(turned(acc[p], i, e, a.rotate.ring.log_n, q[p]), v[p], q[p]);
      }
    }
    return form.digit(v, level, q, a.rotate.inverse, own);
  }
};

// Grid: (rows of all ciphertexts, primes).
template <class B, int PRIMES>
__device__ __forceinline__ void transform_digits(const StepArgs& a) {
  const std::uint32_t rows = a.rotate.rows(), poly = blockIdx.x;
  const int p = blockIdx.y, prime = p == 0 ? a.rotate.prime[0] : a.rotate.prime[1];
  const BlockConstants<B> constants(a.rotate.ring, a.rows, true, prime);
  const DigitSource<PRIMES> digit(a, poly / rows, static_cast<int>(poly % rows), p);
  const std::size_t limb = std::size_t{poly} * PRIMES + p;
  block_forward<B>(constants, digit, a.digits + (limb << B::kLogN), dynamic_shared());
}

// Grid: (components of all ciphertexts, primes).
template <class B>
__device__ __forceinline__ void transform_and_add(const StepArgs& a) {
  const std::uint32_t parts = a.rotate.parts, poly = blockIdx.x, primes = gridDim.y;
  const int p = blockIdx.y, prime = p == 0 ? a.rotate.prime[0] : a.rotate.prime[1];
  const BlockConstants<B> constants(a.rotate.ring, a.rows, false, prime);
  const int component = static_cast<int>(poly % parts);
  std::uint32_t* acc = Place(a, poly / parts).out(a.rotate, component, static_cast<int>(primes), p);
  const auto add = [&](std::uint32_t i, std::uint32_t x) {
    acc[i] = add_mod(acc[i], x, constants.m.q);
  };
  const std::size_t limb = std::size_t{poly} * primes + p;
  block_inverse<B>(constants, a.product + (limb << B::kLogN), add, dynamic_shared());
}

}  // namespace latticino::cuda
