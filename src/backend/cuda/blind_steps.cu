// Blind rotation step by step: all ciphertexts of a batch go through a step together (paper:
// Chameleon, Sec. 4: one pass over the key for a batch), in any ring. The accumulators are `out`;
// digits and products pass through memory between launches, five a step where a block transforms a
// limb.
#include <algorithm>
#include <vector>

#include "backend/cuda/blind_rotate.cuh"
#include "backend/cuda/ntt_block.h"

namespace latticino::cuda {
namespace {

constexpr int kStepThreads = 128;
constexpr std::size_t kScratchBytes = std::size_t{256} << 20;

// A part of the batch: ciphertexts [first, first + blocks of z).
struct StepArgs {
  RotateArgs rotate;
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

__global__ void __launch_bounds__(kStepThreads)
    rotate_begin(const __grid_constant__ StepArgs a, int primes) {
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
__global__ void __launch_bounds__(kStepThreads) rotate_digits(const __grid_constant__ StepArgs a) {
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

// A vector of four entries in Eval a thread.
__global__ void __launch_bounds__(kStepThreads)
    rotate_products(const __grid_constant__ StepArgs a, int primes) {
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

__global__ void __launch_bounds__(kStepThreads)
    rotate_add(const __grid_constant__ StepArgs a, int primes) {
  const std::uint32_t i = blockIdx.x * kStepThreads + threadIdx.x;
  const int component = blockIdx.y / primes, p = blockIdx.y % primes;
  const int log_n = a.rotate.ring.log_n;
  std::uint32_t& acc = Place(a, blockIdx.z).out(a.rotate, component, primes, p)[i];
  const std::size_t poly = std::size_t(blockIdx.z) * gridDim.y + blockIdx.y;
  acc = add_mod(acc, a.product[(poly << log_n) + i], a.rotate.ring.modulus[a.rotate.prime[p]].q);
}

// All polynomials at `data`, in place.
TransformPair array(const Ring& ring, const Basis& basis, std::uint32_t* data, std::uint32_t count,
                    Domain from, Domain to) {
  const PolyView first = PolyView::contiguous(data, ring, basis, from);
  return {first, first.in(to), {}, count};
}

}  // namespace

void launch_rotate_steps(Launcher& launcher, const BlindRotate& op, const RotateArgs& args) {
  const Ring& ring = *op.key.first.ring;
  const Basis basis = op.key.first.basis();
  const int primes = basis.size();
  const auto polys = static_cast<unsigned>(args.parts * primes);
  const auto rows = static_cast<std::uint32_t>(args.rows());
  const std::size_t limb = sizeof(std::uint32_t) << ring.log_n();
  const std::size_t each = limb * primes * (rows + args.parts);
  const auto part =
      static_cast<std::uint32_t>(std::clamp<std::size_t>(kScratchBytes / each, 1, args.total));
  const Scratch scratch = launcher.scratch(each * part);
  StepArgs a{args, 0, 0, scratch.as<std::uint32_t>(), nullptr};
  a.product = a.digits + std::size_t(part) * rows * primes * ring.n();
  const auto blocks = static_cast<unsigned>(ring.n()) / kStepThreads;
  const dim3 threads(kStepThreads);
  for (; a.first < args.total; a.first += part) {
    const unsigned count = std::min(part, args.total - a.first);
    const TransformPair forward =
        array(ring, basis, a.digits, count * rows, Domain::Coeff, Domain::Eval);
    const TransformPair inverse =
        array(ring, basis, a.product, count * args.parts, Domain::Eval, Domain::Coeff);
    launcher.launch(rotate_begin, {dim3(blocks, polys, count), threads}, a, primes);
    for (a.step = 0; a.step < args.steps; ++a.step) {
      const Shape digits{dim3(blocks, static_cast<unsigned>(args.parts), count), threads};
      launcher.launch(primes == 1 ? rotate_digits<1> : rotate_digits<2>, digits, a);
      transform_array(launcher, forward);
      launcher.launch(rotate_products, {dim3((blocks + 3) / 4, polys, count), threads}, a, primes);
      transform_array(launcher, inverse);
      launcher.launch(rotate_add, {dim3(blocks, polys, count), threads}, a, primes);
    }
  }
}

}  // namespace latticino::cuda
