// Blind rotation in FP64 of one ciphertext as in rotate/fft/cluster.cuh, for N = 2^10, three digits
// and C = 16. A block then has 32 numbers of a row, four per lane, so two stages run in registers
// before numbers change lanes. That takes 56 cycles, and the exchange through shared memory 65; one
// stage by shuffles, with one number per lane, takes 80. A step has three parts:
//   Rows: warp v has digit v of both components. It computes the stages among numbers of the block,
//   sends the results to the blocks of the tuples, and computes the last stages of its own tuples.
//   Products: the last warp has loaded the key meanwhile. A lane first has a point, then four
//   numbers of a component. It also computes the first stages back, and sends the results.
//   Sums: there is a warp for each component and class.
// The threads of a block meet twice per step: before the products, and after the sums.
#pragma once

#include <cstdint>

#include "backend/cuda/rotate/fft/cluster.cuh"
#include "backend/cuda/rotate/fft/cluster_radix4_thread.cuh"

namespace latticino::cuda {

// Computes the stages of the warp's rows among numbers of the block, and sends the results to the
// blocks of the tuples.
template <class S>
__device__ __forceinline__ void send_rows(const Radix4Unit<S>& u, const FourDigits& digits,
                                          std::uint32_t from) {
  const auto* at = reinterpret_cast<const uint4*>(u.accumulator(0, 0, 0)) + from;
  const auto values = [&](int which, int im) {
    return at[(which * S::kParts * S::kClass + im * S::kSlice) / 4];
  };
  const uint4 own[2] = {values(0, 0), values(0, 1)}, turned[2] = {values(1, 0), values(1, 1)};
  Complex x[4] = {{digits.of(turned[0].x, own[0].x), digits.of(turned[1].x, own[1].x)},
                  {digits.of(turned[0].y, own[0].y), digits.of(turned[1].y, own[1].y)},
                  {digits.of(turned[0].z, own[0].z), digits.of(turned[1].z, own[1].z)},
                  {digits.of(turned[0].w, own[0].w), digits.of(turned[1].w, own[1].w)}};
  u.slice[0].forward(x);
  const auto later = [&](int r) {
    return S::slice_place(u.component, 8 * u.group + 2 * r + u.lane % 2);
  };
  exchange(
      x, u.exchanged(0), [&](int r) { return S::slice_place(u.component, u.low + 8 * r); }, later);
  u.slice[1].forward(x);
  double2* slot = u.exchanged(1);
#pragma unroll
  for (int r = 0; r < 4; ++r) slot[later(r)] = vector(x[r]);
  __syncwarp();
  Complex a[2], b[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const std::uint32_t l = 2 * (8 * i + u.lane / 4);
    a[i] = complex(slot[S::slice_place(u.q % 2, l)]);
    b[i] = complex(slot[S::slice_place(u.q % 2, l + 1)]);
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const Complex w = u.last[i];
    const auto result = [&](double sum, double x) {
      return fourier::fused_add(u.sign, sum, fourier::times(u.twice, x));
    };
    const double re =
        fourier::fused_add(-w.im, b[i].im, fourier::fused_add(w.re, b[i].re, a[i].re));
    const double im = fourier::fused_add(w.im, b[i].re, fourier::fused_add(w.re, b[i].im, a[i].im));
    u.push(u.digits() + (u.warp * S::kBlocks + u.rank) * 4 + u.q, u.digit_arrivals(),
           8 * i + u.lane / 4, u.words({result(re, a[i].re), result(im, a[i].im)}));
  }
}

// Computes the last stages of the warp's rows, from what other blocks have sent.
template <class S>
__device__ __forceinline__ void finish_rows(const Radix4Unit<S>& u, std::uint32_t step) {
  const std::uint32_t place = u.warp * S::kPair + 4 * u.element + u.q;
  u.digit_arrivals().wait(step & 1);
  Complex x[4];
#pragma unroll
  for (int r = 0; r < 4; ++r) x[r] = load_shared(u.digits() + place + 16 * r);
  if (u.first) u.digit_arrivals().expect(S::kDigitBytes);
  u.tuple[0].forward(x);
  const auto later = [&](int r) { return 4 * u.element + r; };
  exchange(
      x, u.exchanged(2), [&](int r) { return S::tuple_place(u.q, u.element + 4 * r); },
      [&](int r) { return S::tuple_place(u.q, later(r)); });
  u.tuple[1].forward(x);
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    u.row_points(u.lane / 16)[S::row_place(u.q % 2, u.warp, u.q / 2, later(r))] = vector(x[r]);
  }
}

// The key's numbers that a lane needs, for all rows and components.
template <class S>
struct Radix4Key {
  KeyRing<S, S::kRows * S::kParts, S::kSlice, S::kM> ring;
  Complex number[S::kRows * S::kParts];

  __device__ __forceinline__ explicit Radix4Key(const Radix4Unit<S>& u)
      : ring(u.keys() + u.lane, u.a.key + key_number<S>(S::kSlice * u.rank + u.lane),
             u.a.rotate.steps) {
    if (u.warp == S::kProductWarp) ring.begin();
  }
  // Loads the numbers of the next step.
  __device__ __forceinline__ void take() { ring.take(number); }
};

// Computes the products of all rows and the first stages back, and sends them to the blocks of the
// classes. `e_next` is the exponent of the next step.
template <class S>
__device__ __forceinline__ void send_sums(const Radix4Unit<S>& u, const Radix4Key<S>& key,
                                          std::uint32_t e_next) {
  const std::uint32_t tuple = u.lane / S::kBlocks, p = u.lane % S::kBlocks;
  Complex sum[S::kParts] = {};
#pragma unroll
  for (int row = 0; row < S::kRows; ++row) {
    const Complex x =
        complex(u.row_points(0)[S::row_place(row / S::kLevels, row % S::kLevels, tuple, p)]);
#pragma unroll
    for (int part = 0; part < S::kParts; ++part) {
      fourier::multiply_add(sum[part], x, key.number[row * S::kParts + part]);
    }
  }
  double2* slot = u.sums();
#pragma unroll
  for (int part = 0; part < S::kParts; ++part) {
    slot[S::sum_place(part + 2 * tuple, p)] = vector(sum[part]);
  }
  __syncwarp();
  Complex x[4];
#pragma unroll
  for (int r = 0; r < 4; ++r) x[r] = complex(slot[S::sum_place(u.q, 4 * u.element + r)]);
  u.tuple[1].inverse(x);
  exchange(
      x, u.exchanged(1), [&](int r) { return S::tuple_place(u.q, 4 * u.element + r); },
      [&](int r) { return S::tuple_place(u.q, u.element + 4 * r); });
  u.tuple[0].inverse(x);
  // Lanes below 16 send to the blocks that own the classes. The others send to the blocks that turn
  // them.
  const int which = u.lane < 16 ? 0 : 1;
  const double2* to =
      u.products(which) + S::product_place(2 * u.rank + u.q / 2, static_cast<int>(u.q % 2));
  const std::uint32_t block = u.element - (which != 0 ? e_next : 0);
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    u.push(to, u.product_arrivals(), (block + 4 * r) % S::kBlocks, u.words(x[r]));
  }
}

// Roots for a number of a class, and for the one two numbers away, in the first stage back.
template <class S>
struct SumRoots {
  SliceRoots<S> slice;
  LaneRoot partner;

  __device__ __forceinline__ explicit SumRoots(const Radix4Unit<S>& u) : slice(u.a.roots, u.lane) {
    partner.set(stage_root(u.a.roots, S::kLogSlice - 1, (u.lane ^ 2) / 2), u.lane % 2 != 0);
  }
};

// Transforms the own class back, and the class that the next step turns by `e_next`. Then adds them
// to the sums.
template <class S>
__device__ __forceinline__ void add_sums(const Radix4Unit<S>& u, const SumRoots<S>& roots,
                                         const typename S::Digits& form, std::uint32_t step,
                                         std::uint32_t e_next) {
  const SumWarp<S> at(u);
  typename S::Value values[2];
  const auto* from = u.accumulator(step, at.which, at.component);
  if (at.which != 0) {
    if (step > 0) {
      u.previous_arrivals(step).wait((step - 1) / 2 & 1);
      if (u.first) u.previous_arrivals(step).expect(S::kBeforeBytes);
    }
    from = reinterpret_cast<const typename S::Value*>(u.before(step, at.component));
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) values[r] = from[S::coefficient(S::kSlice * r + u.lane)];
  // This is known before the products arrive. It is held in registers, because ptxas would
  // otherwise compute it afterwards.
  const std::uint32_t shift = at.which == 0 ? 0 : (u.rank + e_next) >> S::kLogBlocks;
  std::uint32_t place[2];
  typename S::Value sign[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const std::uint32_t i = S::kSlice * r + u.lane - shift;
    place[r] = held(S::coefficient(i % S::kClass) +
                    ((~step & 1) * 4 + at.which * 2 + at.component) * S::kClass);
    sign[r] = static_cast<typename S::Value>(held(-(i >> (S::kLogSlice + 1) & 1)));
  }
  u.product_arrivals().wait(step & 1);
  // The first two stages back without shuffles: a lane computes its partner's number as well.
  Complex of[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    of[i] = load_shared(u.products(at.which) + S::product_place(u.lane ^ i, at.component));
  }
  if (u.first) u.product_arrivals().expect(S::kProductBytes);
  Complex x[1] = {lanes_inverse(lanes_inverse(of[0], of[1], roots.slice.w[4]),
                                lanes_inverse(of[2], of[3], roots.partner), roots.slice.w[3])};
  slice_inverse<S, 2>(x, roots.slice, u.lane);
  values[0] = form.sum(values[0], x[0].re);
  values[1] = form.sum(values[1], x[0].im);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    u.accumulator(0, 0, 0)[place[r]] = (values[r] ^ sign[r]) - sign[r];
  }
}

// Sends the values of the own class from the step before to the block where the step after this one
// turns it, by `e_next`.
template <class S>
__device__ __forceinline__ void send_class(const Radix4Unit<S>& u, std::uint32_t step,
                                           std::uint32_t e_next) {
  const auto* own = reinterpret_cast<const uint4*>(u.accumulator(step, 0, 0));
  u.push(u.before(step, 0) + u.lane, u.previous_arrivals(step), (u.rank - e_next) % S::kBlocks,
         own[u.lane]);
}

template <class S>
__global__ void __launch_bounds__(S::kThreads, 1)
    blind_rotate_fft_cluster_radix4(const __grid_constant__ FourierRotateArgs a) {
  const Radix4Unit<S> u(a, reinterpret_cast<unsigned char*>(dynamic_shared()));
  const FourierCiphertext<S, S::kParts, S::kPrimes> c(a.rotate, blockIdx.x / S::kBlocks);
  begin_rotation(u, c);
  sync_cluster();
  __syncthreads();
  const SumRoots<S> roots(u);
  const typename S::Digits form(a.rotate, a.rounding);
  const FourDigits digits(form, u.warp % S::kLevels);
  Radix4Key<S> key(u);
  // Places of the lane's first coefficients. Even and odd steps use different ones.
  std::uint32_t from = held(u.component * (S::kClass / 4) + u.low);
#pragma unroll 1
  for (std::uint32_t step = 0; step < a.rotate.steps; ++step) {
    const std::uint32_t next = u.exponents()[step + 1];
    if (u.warp < S::kProductWarp) {
      send_rows(u, digits, from);
      finish_rows(u, step);
    } else {
      if (step > 0) send_class(u, step, next);
      key.take();
    }
    __syncthreads();
    if (u.warp == S::kProductWarp) send_sums(u, key, next);
    add_sums(u, roots, form, step, next);
    from ^= S::kParts * S::kClass / 2;
    __syncthreads();
  }
  end_rotation(u, c);
}

}  // namespace latticino::cuda
