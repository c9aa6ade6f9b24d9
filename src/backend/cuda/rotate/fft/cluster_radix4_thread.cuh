// The shape of rotate/fft/cluster_radix4.cuh, and what its threads have in common: digits, stages
// of four numbers per lane, and exchanges between lanes.
#pragma once

#include <cstdint>

#include "backend/cuda/rotate/fft/cluster_thread.cuh"

namespace latticino::cuda {

struct FourierRadix4Shape : FourierClusterShape<10, 4, 1, 3> {
  static constexpr int kThreads = 128, kProductWarp = kLevels;
  static_assert(kThreads == 32 * kSumWarps && kProductWarp < kSumWarps && kV == 1 && kTuples == 2);

  // Places of numbers. Eight neighbouring lanes touch all banks. The place of coefficient i of a
  // class: the coefficients whose digits one lane takes lie side by side.
  LATTICINO_HOST_DEVICE static constexpr std::uint32_t coefficient(std::uint32_t i) {
    return (i & kSlice) | (i & 7) << 2 | (i >> 3 & 3);
  }
  // The place of number l of a component's row, between stages.
  LATTICINO_HOST_DEVICE static constexpr std::uint32_t slice_place(std::uint32_t component,
                                                                   std::uint32_t l) {
    return component * kSlice + (l ^ l >> 3 << 1 ^ component);
  }
  // The place of element p of a tuple, between stages; q: component + 2 tuple.
  LATTICINO_HOST_DEVICE static constexpr std::uint32_t tuple_place(std::uint32_t q,
                                                                   std::uint32_t p) {
    return q + 4 * (p ^ p >> 2);
  }
  // The place of a product.
  LATTICINO_HOST_DEVICE static constexpr std::uint32_t sum_place(std::uint32_t q, std::uint32_t p) {
    return q * kBlocks + (p ^ q);
  }
  // The place of a row's number at point p of a tuple.
  LATTICINO_HOST_DEVICE static constexpr std::uint32_t row_place(std::uint32_t component,
                                                                 std::uint32_t level,
                                                                 std::uint32_t tuple,
                                                                 std::uint32_t p) {
    return (component * kLevels + level) * kSlice + tuple * kBlocks + (p ^ tuple ^ component << 1);
  }

  // Shared memory: as that of the base, but for
  //   numbers between stages: [which exchange of the step][warp][half of its lanes][number];
  //   rows: [half of the lanes][row_place], of which those of the lower half are read;
  //   keys: [step of the ring][row][component][point].
  static constexpr std::uint32_t kPair = kParts * kSlice;  // numbers per warp
  static constexpr std::size_t kExchanged = 16 * kCounts;
  static constexpr std::size_t kRowPoints =
      kExchanged + sizeof(double2) * 3 * 2 * (kLevels + 1) * kPair;
  static constexpr std::size_t kDigits = kRowPoints + sizeof(double2) * 2 * kRows * kSlice;
  static constexpr std::size_t kProducts = kDigits + kDigitBytes;
  static constexpr std::size_t kKeys = kProducts + kProductBytes;
  static constexpr std::size_t kAccumulators =
      kKeys + sizeof(double2) * kKeySteps * kRows * kParts * kSlice;
  static constexpr std::size_t kBeforeBytes = kClassBytes;
  LATTICINO_HOST_DEVICE static constexpr std::uint32_t before_place(std::uint32_t i) {
    return coefficient(i);
  }
  static constexpr std::size_t kBefore = kAccumulators + 4 * kClassBytes;
  static constexpr std::size_t kExponents = kBefore + 2 * kBeforeBytes;
  LATTICINO_HOST_DEVICE static constexpr std::size_t bytes(std::uint32_t steps) {
    return kExponents + sizeof(std::uint32_t) * (steps + 2);
  }
};

// Two stages of four numbers: those two apart, then neighbours, of which the second pair has i
// times the root of the first.
struct FourRoots {
  Complex apart, near;

  __device__ __forceinline__ void forward(Complex (&x)[4]) const {
    fourier::butterfly(x[0], x[2], apart);
    fourier::butterfly(x[1], x[3], apart);
    fourier::butterfly(x[0], x[1], near);
    fourier::butterfly(x[2], x[3], fourier::times_i(near));
  }
  __device__ __forceinline__ void inverse(Complex (&x)[4]) const {
    fourier::inverse_butterfly(x[0], x[1], near);
    fourier::inverse_butterfly(x[2], x[3], fourier::times_i(near));
    fourier::inverse_butterfly(x[0], x[2], apart);
    fourier::inverse_butterfly(x[1], x[3], apart);
  }
};

// The digits of a level: bits of a word, masked where they are and then scaled.
struct FourDigits {
  std::uint32_t q, half, add, mask;
  double scale, offset;

  template <class Form>
  __device__ __forceinline__ FourDigits(const Form& form, int level) {
    const int place = form.shift + (form.levels - 1 - level) * form.log_base;
    q = static_cast<std::uint32_t>(form.q), half = q / 2, add = form.add - half;
    mask = (level == 0 ? ~0u : (1u << form.log_base) - 1) << place;
    scale = __hiloint2double((1023 - place) << 20, 0);  // 2^-place
    offset = -(0x1p52 * scale + (1u << (form.log_base - 1)));
  }
  // form.digit(form.pack(turned, own), level): the difference is centred by the least of two
  // unsigned numbers, twice, as 2.5 q may be 2^32 or more.
  __device__ __forceinline__ double of(std::uint32_t turned, std::uint32_t own) const {
    const std::uint32_t d = turned - own, least = min(d + q, d) + half;
    const std::uint32_t word = (min(least - q, least) + add) & mask;
    return fourier::fused_add(__hiloint2double(0x43300000, static_cast<int>(word)), scale, offset);
  }
};

// A thread of a rotation. The two rows of a warp have 64 numbers, four for each lane below 16.
// Lanes 16 and up do the same work in places of their own, because leaving them out would take
// longer.
template <class S>
struct Radix4Unit : FourierClusterUnit<S> {
  // For the digits: number low + 8 r, then 8 group + 2 r + low % 2.
  std::uint32_t component, low, group;
  std::uint32_t q, element;  // for the tuples: element + 4 r, then 4 element + r of tuple q / 2
  FourRoots slice[2], tuple[2];
  Complex last[2];     // roots of the last stage before blocks lane / 4 and lane / 4 + 8
  double twice, sign;  // a result is x + w y, or twice x minus that

  __device__ __forceinline__ Radix4Unit(const FourierRotateArgs& a, unsigned char* shared)
      : FourierClusterUnit<S>(a, shared),
        component(this->lane >> 3 & 1),
        low(this->lane & 7),
        group(this->lane >> 1 & 3),
        q(this->lane & 3),
        element(this->lane >> 2 & 3) {
    const auto root = [&](int stage, std::uint32_t k) { return stage_root(a.roots, stage, k); };
    slice[0] = {root(0, 0), root(1, 0)};
    slice[1] = {root(2, group), root(3, 2 * group)};
    last[0] = root(4, this->lane / 4), last[1] = root(4, this->lane / 4 + 8);
    const std::uint32_t l = 2 * this->rank + q / 2;
    tuple[0] = {root(5, l), root(6, 2 * l)};
    tuple[1] = {root(7, 4 * l + element), root(8, 8 * l + 2 * element)};
    twice = q / 2 != 0 ? 2 : 0;
    sign = q / 2 != 0 ? -1 : 1;
  }
  __device__ __forceinline__ double2* exchanged(int which) const {
    return reinterpret_cast<double2*>(this->shared + S::kExchanged) +
           ((which * (S::kLevels + 1) + this->warp) * 2 + this->lane / 16) * S::kPair;
  }
  // Products of all lanes.
  __device__ __forceinline__ double2* sums() const {
    return reinterpret_cast<double2*>(this->shared + S::kExchanged) +
           (2 * (S::kLevels + 1) + this->warp) * 2 * S::kPair;
  }
  __device__ __forceinline__ double2* row_points(std::uint32_t half) const {
    return reinterpret_cast<double2*>(this->shared + S::kRowPoints) + half * S::kRows * S::kSlice;
  }
};

// Loads what other blocks sent. If the address passes through registers as a generic one, ptxas
// makes a generic load, which takes longer.
__device__ __forceinline__ Complex load_shared(const double2* from) {
#if defined(__CUDA_ARCH__)
  Complex x;
  asm volatile("ld.shared.v2.f64 {%0, %1}, [%2];"
               : "=d"(x.re), "=d"(x.im)
               : "r"(shared_address(from))
               : "memory");
  return x;
#else
  return complex(*from);
#endif
}

// Exchanges numbers of a warp between lanes: a lane writes register r to from(r), and reads it from
// to(r).
template <class From, class To>
__device__ __forceinline__ void exchange(Complex (&x)[4], double2* slot, const From& from,
                                         const To& to) {
#pragma unroll
  for (int r = 0; r < 4; ++r) slot[from(r)] = vector(x[r]);
  __syncwarp();
#pragma unroll
  for (int r = 0; r < 4; ++r) x[r] = complex(slot[to(r)]);
}

}  // namespace latticino::cuda
