// Blind rotation in one kernel. A group of threads carries a ciphertext through all steps. Its
// accumulators stay in shared memory, and the key is read step by step. A ciphertext has k + 1
// components modulo one or two primes. T threads (rotate/ntt.cuh) own each of these polynomials:
// they decompose it and transform its digits, and later they compute, transform and add the same
// component of the product.
#pragma once

#include <cstdint>

#include "backend/cuda/rotate/ntt.cuh"
#include "backend/cuda/rotate/products.cuh"
#include "ops/operations.h"

namespace latticino::cuda {

// Words of shared memory for one ciphertext.
template <class S>
LATTICINO_HOST_DEVICE constexpr std::size_t rotate_twiddle_words(int primes) {
  return std::size_t{2} * primes * S::kN;
}
template <class S>
LATTICINO_HOST_DEVICE constexpr std::size_t rotate_ciphertext_words(int primes, int parts,
                                                                    int levels) {
  return std::size_t(parts) * primes * (1 + levels) * S::kN;
}

// One polynomial of one ciphertext and the threads that own it.
template <class S, int PRIMES>
struct Unit {
  int t, component, p;
  int group_barrier, own_barrier, group_threads;
  Modulus m;
  std::uint32_t q[PRIMES];
  std::uint32_t* acc;     // [component][prime][N]
  std::uint32_t* digits;  // [row][prime][N], slots
  BlindTwiddles<S> forward, inverse;
  BlindEnd end;

  __device__ __forceinline__ void sync_group() const { sync_threads(group_barrier, group_threads); }
  __device__ __forceinline__ std::uint32_t* local_accumulator() const {
    return acc + (component * PRIMES + p) * S::kN;
  }
  __device__ __forceinline__ std::uint32_t* slot(int row) const {
    return digits + (row * PRIMES + p) * S::kN;
  }
};

// Writes all digits of the unit's component to their slots, in Eval: those of (X^-e - 1) acc, or of
// acc itself (`plain` false).
template <class S, int PRIMES>
__device__ __forceinline__ void decompose(const Unit<S, PRIMES>& u, const RotateArgs& a,
                                          std::uint32_t e, bool plain) {
  const DigitForm<PRIMES> form(a.gadget, a.bits);
  const std::uint32_t* acc = u.acc + u.component * PRIMES * S::kN;
#pragma unroll 1
  for (int level = 0; level < form.levels; ++level) {
    Columns<S> x;
#pragma unroll
    for (int c = 0; c < S::kColumns; ++c) {
#pragma unroll
      for (int r = 0; r < S::kRows; ++r) {
        const std::uint32_t i = u.t + S::kThreads * c + S::kCols * r;
        std::uint32_t v[PRIMES];
#pragma unroll
        for (int p = 0; p < PRIMES; ++p) {
          const std::uint32_t* y = acc + p * S::kN;
          v[p] = plain ? sub_mod(turned(y, i, e, S::kLogN, u.q[p]), y[i], u.q[p]) : y[i];
        }
        x[c][r] = form.digit(v, level, u.q, a.inverse, u.m.q);
      }
    }
    blind_forward<S>(x, u.slot(u.component * form.levels + level), u.forward, u.t, u.own_barrier,
                     u.m);
  }
}

// Place of the unit's i-th vector in Eval limbs, where neighbouring threads have neighbouring
// vectors, and in slots.
template <class S>
struct KeyVector {
  std::uint32_t at, row, group;
  __device__ __forceinline__ KeyVector(int t, int i)
      : at(i * S::kThreads + t),
        row(at / S::kRowVectors),
        group(S::eval_group(at % S::kRowVectors)) {}
};

// sum_rows digit * key row at one vector. ROWS 0: any number.
template <class S, int PRIMES, int ROWS>
__device__ __forceinline__ ProductSums row_products(const Unit<S, PRIMES>& u, const uint4* key,
                                                    std::size_t row_stride, int rows,
                                                    const KeyVector<S>& at) {
  const std::uint32_t slot = S::slot(at.row, at.group);
  ProductSums sum;
  const auto step = [&](int row) {
    sum.add(reinterpret_cast<const uint4*>(u.slot(row))[slot],
            __ldg(key + row * row_stride + at.at));
    if (row % 2 != 0) sum.fold(u.m.q);
  };
  if constexpr (ROWS != 0) {
#pragma unroll
    for (int row = 0; row < ROWS; ++row) step(row);
  } else {
#pragma unroll 2
    for (int row = 0; row < rows; ++row) step(row);
  }
  if ((ROWS != 0 ? ROWS : rows) % 2 != 0) sum.fold(u.m.q);
  return sum;
}

template <class S, int PRIMES>
__device__ __forceinline__ const uint4* step_key(const Unit<S, PRIMES>& u, const RotateArgs& a,
                                                 std::size_t index, int rows) {
  const std::size_t poly = index * rows * a.parts + u.component;
  return reinterpret_cast<const uint4*>(a.key + (poly * PRIMES + u.p) * S::kN);
}

// One vector of the sum sum_j (X^-E_j - 1) (K_j [*] acc).
template <class S, int PRIMES>
__device__ __forceinline__ uint4 selected_products(const Unit<S, PRIMES>& u, const RotateArgs& a,
                                                   const std::uint32_t* exponents,
                                                   std::uint32_t step, int rows,
                                                   std::size_t row_stride, const KeyVector<S>& at) {
  const std::uint32_t* psi = a.ring.psi + (std::size_t(a.prime[u.p]) << S::kLogN);
  ProductSums total;
  for (int j = 0; j < a.keys; ++j) {
    const uint4* key = step_key(u, a, std::size_t(step) * a.keys + j, rows);
    const uint4 x = row_products<S, PRIMES, 0>(u, key, row_stride, rows, at).reduced(u.m);
    total.add(x, selector(psi, selected_exponent(a, exponents, j), at.row * S::kCols + 4 * at.group,
                          S::kLogN, u.m));
    total.fold(u.m.q);
  }
  return total.reduced_montgomery(u.m);
}

// Computes the unit's component of what the step adds, in Eval, as vectors of type KeyVector.
template <class S, int PRIMES, int ROWS>
__device__ __forceinline__ void products(uint4 (&y)[S::kVectors], const Unit<S, PRIMES>& u,
                                         const RotateArgs& a, const std::uint32_t* exponents,
                                         std::uint32_t step) {
  const int rows = ROWS != 0 ? ROWS : a.rows();
  const std::size_t row_stride = std::size_t(a.parts) * PRIMES * (S::kN / 4);
#pragma unroll
  for (int i = 0; i < S::kVectors; ++i) {
    const KeyVector<S> at(u.t, i);
    if constexpr (ROWS == 0) {
      if (a.keys != 1) {
        y[i] = selected_products(u, a, exponents, step, rows, row_stride, at);
        continue;
      }
    }
    const uint4* key = step_key(u, a, step, rows);
    y[i] = row_products<S, PRIMES, ROWS>(u, key, row_stride, rows, at).reduced(u.m);
  }
}

template <class S, int PRIMES, int ROWS>
__device__ __forceinline__ void rotate_step(const Unit<S, PRIMES>& u, const RotateArgs& a,
                                            const std::uint32_t* exponents, std::uint32_t step) {
  const bool plain = ROWS != 0 || a.keys == 1;
  decompose(u, a, exponents[0], plain);
  u.sync_group();
  uint4 y[S::kVectors];
  products<S, PRIMES, ROWS>(y, u, a, exponents, step);
  u.sync_group();  // all digits have been read, so the slots are free
  std::uint32_t* slot = u.slot(u.component * a.gadget.levels);
#pragma unroll
  for (int i = 0; i < S::kVectors; ++i) {
    const KeyVector<S> at(u.t, i);
    reinterpret_cast<uint4*>(slot)[S::slot(at.row, at.group)] = y[i];
  }
  sync_unit<S>(u.own_barrier);
  Columns<S> x;
  blind_inverse<S>(x, slot, u.inverse, u.end, u.t, u.own_barrier, u.m);
  std::uint32_t* acc = u.local_accumulator();
#pragma unroll
  for (int c = 0; c < S::kColumns; ++c) {
#pragma unroll
    for (int r = 0; r < S::kRows; ++r) {
      std::uint32_t& v = acc[u.t + S::kThreads * c + S::kCols * r];
      v = add_mod(v, x[c][r], u.m.q);
    }
  }
  if constexpr (PRIMES == 1) {
    sync_unit<S>(u.own_barrier);
  } else {
    u.sync_group();
  }
}

template <class S, int PRIMES>
__device__ __forceinline__ Unit<S, PRIMES> make_unit(const RotateArgs& a, std::uint32_t* shared) {
  const int units = a.parts * PRIMES, group_threads = units * S::kThreads;
  const int group = threadIdx.x / group_threads, unit = threadIdx.x % group_threads / S::kThreads;
  Unit<S, PRIMES> u;
  u.t = threadIdx.x % S::kThreads;
  u.component = unit / PRIMES;
  u.p = unit % PRIMES;
  u.group_barrier = 1 + group;
  u.own_barrier = 1 + a.per_block + group * units + unit;
  u.group_threads = group_threads;
  u.m = load_modulus(a.ring.modulus + a.prime[u.p]);
#pragma unroll
  for (int p = 0; p < PRIMES; ++p) u.q[p] = a.ring.modulus[a.prime[p]].q;
  u.forward.words = shared + 2 * u.p * S::kN;
  u.inverse.words = u.forward.words + S::kN;
  const InverseDegrees& inverse = a.ring.inverse[a.prime[u.p]];
  // rows^-1 cols^-1 as a Montgomery word: two factors R are lost, and two are gained.
  const std::uint32_t scale = mul_mod(mul_mod(inverse.rows.w, inverse.cols.w, u.m), u.m.r2, u.m);
  u.end.scale = mul_mod(scale, u.m.r2, u.m);
  const std::uint32_t* psi_inv = a.ring.psi_inv + (std::size_t(a.prime[u.p]) << S::kLogN);
  u.end.last = mul_mod(__ldg(psi_inv + 1), u.end.scale, u.m);
  u.acc = shared + rotate_twiddle_words<S>(PRIMES) +
          group * rotate_ciphertext_words<S>(PRIMES, a.parts, a.gadget.levels);
  u.digits = u.acc + a.parts * PRIMES * S::kN;
  return u;
}

template <class S, int PRIMES, int ROWS>
__global__ void __launch_bounds__(S::kMaxThreads)
    blind_rotate(const __grid_constant__ RotateArgs a) {
  extern __shared__ uint4 rotate_shared[];
  auto* shared = reinterpret_cast<std::uint32_t*>(rotate_shared);
#pragma unroll
  for (int p = 0; p < PRIMES; ++p) {
    const std::size_t table = std::size_t(a.prime[p]) << S::kLogN;
    BlindTwiddles<S>::fill(shared + 2 * p * S::kN, a.ring.psi + table, threadIdx.x, blockDim.x);
    BlindTwiddles<S>::fill(shared + (2 * p + 1) * S::kN, a.ring.psi_inv + table, threadIdx.x,
                           blockDim.x);
  }
  __syncthreads();
  const Unit<S, PRIMES> u = make_unit<S, PRIMES>(a, shared);
  const std::uint32_t index = blockIdx.x * a.per_block + u.group_barrier - 1;
  if (index >= a.total) return;
  const RotateArgs::Item& item = a.item_of(index);
  const std::uint32_t* exponents = item.exponents + (index - item.first) * item.stride;

  const std::uint32_t e = exponents[a.dimension];
  for (int i = u.t; i < S::kN; i += S::kThreads) {
    u.local_accumulator()[i] =
        u.component == 0 ? turned(item.table + u.p * S::kN, i, e, S::kLogN, u.m.q) : 0;
  }
  u.sync_group();
#pragma unroll 1
  for (std::uint32_t step = 0; step < a.steps; ++step) {
    rotate_step<S, PRIMES, ROWS>(u, a, exponents, step);
    exponents += a.group;
  }
  std::uint32_t* out =
      item.out + ((std::size_t(index - item.first) * a.parts + u.component) * PRIMES + u.p) * S::kN;
  for (int i = u.t; i < S::kN; i += S::kThreads) out[i] = u.local_accumulator()[i];
}

// Any gadget, group and secret (rotate/blind_rotate_any.cu).
void launch_any_rotate(Launcher& launcher, const RotateArgs& args, int log_n, int primes);
// In FP64 (rotate/fft/block.cu).
void launch_fourier_rotate(Launcher& launcher, const BlindRotate& op, RotateArgs args);
// Step by step over the whole batch, any N (rotate/steps.cu).
void launch_rotate_steps(Launcher& launcher, const BlindRotate& op, const RotateArgs& args);

template <class S, int PRIMES, int ROWS>
void launch_rotate(Launcher& launcher, const RotateArgs& args) {
  const std::size_t words =
      rotate_twiddle_words<S>(PRIMES) +
      args.per_block * rotate_ciphertext_words<S>(PRIMES, args.parts, args.gadget.levels);
  launcher.launch(
      blind_rotate<S, PRIMES, ROWS>,
      {dim3((args.total + args.per_block - 1) / args.per_block),
       dim3(args.per_block * args.parts * PRIMES * S::kThreads), sizeof(std::uint32_t) * words},
      args);
}

}  // namespace latticino::cuda
