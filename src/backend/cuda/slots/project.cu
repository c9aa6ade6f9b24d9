// Decoding: centred integers from residues, division, and the special FFT.
#include <algorithm>
#include <bit>
#include <cmath>

#include "backend/cuda/kernels.h"
#include "backend/cuda/slots/fft.cuh"
#include "math/modulus.h"

namespace latticino::cuda {
namespace {

constexpr int kItems = 32;
constexpr int kFew = 8;  // primes of the guess, at most
constexpr int kMaxPrimes = 256;
constexpr int kWarp = 32;
constexpr int kWarps = 4;  // warps per block of the reconstruction

__extension__ typedef __int128 Signed128;
__extension__ typedef unsigned __int128 Unsigned128;

// V: View, or WideView where a polynomial has more segments.
template <class V>
struct ProjectArgs {
  RingArgs ring;
  const double2* twiddles;
  int log_slots, limbs, few;
  std::uint32_t inverse[kFew];  // (q_0 .. q_(i-1))^-1 mod q_i, times R
  struct Item {
    V in;
    double2* out;
    double divisor;  // in [1/2, 1)
    int exponent;    // of the divisor
  } item[kItems];
};
static_assert(sizeof(ProjectArgs<WideView>) <= 4096);

// x w with w < q, both plain: w R^-1, then R^2.
__device__ __forceinline__ std::uint32_t mul_plain(std::uint32_t x, std::uint32_t w,
                                                   const Modulus& m) {
  return mul_mod(mul_mod(x, w, m), m.r2, m);
}

__device__ __forceinline__ std::uint32_t residue(std::uint32_t x, const Modulus& m) {
  return mul_mod(m.r, x, m);
}

__device__ __forceinline__ std::uint32_t residue(std::int32_t x, const Modulus& m) {
  return canonical(mul_signed(static_cast<std::int32_t>(m.r), x, m), m);
}

// +-(lead 2^power) / divisor, lead with its top bit set and, in its last bit, whether anything lies
// below: one rounding to double, one of the quotient.
__device__ __forceinline__ double quotient(std::uint64_t lead, int power, bool negative,
                                           double divisor, int exponent) {
  const double magnitude = ldexp(__ddiv_rn(__ull2double_rn(lead), divisor), power - exponent);
  return negative ? -magnitude : magnitude;
}

// The leading 64 bits of (high, low, anything below), high not 0.
__device__ __forceinline__ std::uint64_t leading(std::uint64_t high, std::uint64_t low, int shift,
                                                 bool below) {
  std::uint64_t lead = high << shift;
  if (shift > 0) lead |= low >> (64 - shift);
  return lead | ((low << shift) != 0 || below ? 1 : 0);
}

__device__ double divided(Unsigned128 x, bool negative, double divisor, int exponent) {
  const auto high = static_cast<std::uint64_t>(x >> 64), low = static_cast<std::uint64_t>(x);
  if (x == 0) return 0.0;
  const std::uint64_t top = high != 0 ? high : low;
  const int shift = __clzll(static_cast<long long>(top));
  const std::uint64_t lead = leading(top, high != 0 ? low : 0, shift, false);
  return quotient(lead, (high != 0 ? 64 : 0) - shift, negative, divisor, exponent);
}

// The integer with the first few residues, by balanced mixed radix (math/centred_crt.h).
template <class V>
__device__ __forceinline__ Signed128 guess(const ProjectArgs<V>& a, const V& in,
                                           std::uint32_t index) {
  std::int32_t digit[kFew];
  std::uint32_t prime[kFew];
#pragma unroll
  for (int i = 0; i < kFew; ++i) {
    if (i >= a.few) break;
    const int p = in.prime(i);
    const Modulus m = load_modulus(a.ring.modulus + p);
    prime[i] = m.q;
    std::uint32_t below = 0;
#pragma unroll
    for (int j = kFew - 1; j >= 0; --j) {
      if (j >= i) continue;
      below = add_mod(mul_plain(below, residue(prime[j], m), m), residue(digit[j], m), m.q);
    }
    const std::uint32_t rest = sub_mod(in.limb(p, a.ring.log_n)[index], below, m.q);
    digit[i] = centred(mul_mod(rest, a.inverse[i], m), m.q);
  }
  Signed128 x = 0;
#pragma unroll
  for (int i = kFew - 1; i >= 0; --i) {
    if (i < a.few) x = x * prime[i] + digit[i];
  }
  return x;
}

// Whether the other residues agree with the guess.
template <class V>
__device__ __forceinline__ bool agrees(const ProjectArgs<V>& a, const V& in, std::uint32_t index,
                                       Unsigned128 magnitude, bool negative) {
  bool equal = true;
#pragma unroll 4
  for (int l = a.few; l < a.limbs; ++l) {
    const int p = in.prime(l);
    const Modulus m = load_modulus(a.ring.modulus + p);
    std::uint32_t r = 0;
#pragma unroll
    for (int word = 3; word >= 0; --word) {
      r = add_mod(mul_mod(r, m.r2, m),
                  residue(static_cast<std::uint32_t>(magnitude >> (32 * word)), m), m.q);
    }
    equal = equal && (negative ? neg_mod(r, m.q) : r) == in.limb(p, a.ring.log_n)[index];
  }
  return equal;
}

// Memory of a warp that reconstructs an integer of any size.
struct Wide {
  std::int32_t digit[kMaxPrimes];
  // For each prime, the number that the digits so far stand for, modulo that prime.
  std::uint32_t below[kMaxPrimes];
  std::uint32_t weight[kMaxPrimes];  // for each prime, the weight of the next digit
  std::uint64_t word[kMaxPrimes / 2 + 1];
};

__device__ std::uint32_t inverse_of(std::uint32_t x, const Modulus& m) {
  std::uint32_t power = mul_mod(x, m.r2, m), out = m.r;  // times R
  for (std::uint32_t e = m.q - 2; e != 0; e >>= 1) {
    if (e & 1) out = mul_mod(out, power, m);
    power = mul_mod(power, power, m);
  }
  return mul_mod(out, 1, m);
}

// Computes all mixed-radix digits, one after another. The lanes add each digit to all other primes.
template <class V>
__device__ void wide_digits(const ProjectArgs<V>& a, const V& in, std::uint32_t index, Wide& wide) {
  const int lane = threadIdx.x % kWarp;
  for (int l = lane; l < a.limbs; l += kWarp) {
    wide.below[l] = 0;
    wide.weight[l] = 1;
  }
  __syncwarp();
  for (int i = 0; i < a.limbs; ++i) {
    if (lane == 0) {
      const int p = in.prime(i);
      const Modulus m = load_modulus(a.ring.modulus + p);
      const std::uint32_t rest = sub_mod(in.limb(p, a.ring.log_n)[index], wide.below[i], m.q);
      wide.digit[i] = centred(mul_plain(rest, inverse_of(wide.weight[i], m), m), m.q);
    }
    __syncwarp();
    const std::uint32_t q = a.ring.modulus[in.prime(i)].q;
    for (int l = i + 1 + lane; l < a.limbs; l += kWarp) {
      const Modulus m = load_modulus(a.ring.modulus + in.prime(l));
      const std::uint32_t d = residue(wide.digit[i], m);
      wide.below[l] = add_mod(wide.below[l], mul_plain(d, wide.weight[l], m), m.q);
      wide.weight[l] = mul_plain(wide.weight[l], residue(q, m), m);
    }
    __syncwarp();
  }
}

// The integer of coefficient `index`, of any size, divided. It is used if no guess from few primes
// is right, which is rare. It is slow, and the whole warp works on one integer.
template <class V>
__device__ __noinline__ double wide_divided(const ProjectArgs<V>& a, const V& in,
                                            std::uint32_t index, double divisor, int exponent,
                                            Wide& wide) {
  wide_digits(a, in, index, wide);
  int top = a.limbs;
  while (top > 0 && wide.digit[top - 1] == 0) --top;
  double out = 0;
  if (threadIdx.x % kWarp == 0 && top > 0) {
    // The highest digit gives the sign: what is below it adds up to less than half of its weight.
    const bool negative = wide.digit[top - 1] < 0;
    const int words = top / 2 + 1;  // 31 bits per prime
    for (int w = 0; w < words; ++w) wide.word[w] = 0;
    for (int i = top; i-- > 0;) {
      const std::uint32_t q = a.ring.modulus[in.prime(i)].q;
      // The partial value is at least 1 above the first digit: adding one never goes below 0.
      Signed128 carry = negative ? -wide.digit[i] : wide.digit[i];
      for (int w = 0; w < words; ++w) {
        const Signed128 sum = static_cast<Signed128>(wide.word[w]) * q + carry;
        wide.word[w] = static_cast<std::uint64_t>(sum);
        carry = sum >> 64;
      }
    }
    int high = words - 1;
    while (wide.word[high] == 0) --high;
    bool below = false;
    for (int w = 0; w < high - 1; ++w) below = below || wide.word[w] != 0;
    const int shift = __clzll(static_cast<long long>(wide.word[high]));
    const std::uint64_t lead =
        leading(wide.word[high], high > 0 ? wide.word[high - 1] : 0, shift, below);
    out = quotient(lead, 64 * high - shift, negative, divisor, exponent);
  }
  __syncwarp();
  return __shfl_sync(~0u, out, 0);
}

// Entry i of 2 * slots: the coefficients of real parts, then those of imaginary parts, at their
// reversed places. All lanes of a warp stay active: if the block has more threads than there are
// entries, the others only help.
template <class V>
__global__ void __launch_bounds__(kWarps* kWarp)
    project_coefficients(const __grid_constant__ ProjectArgs<V> a) {
  __shared__ Wide room[kWarps];
  allow_next();
  wait_for_previous();
  const auto& item = a.item[blockIdx.z];
  const int i = static_cast<int>(blockIdx.x) * kWarps * kWarp + static_cast<int>(threadIdx.x);
  const bool active = i < 2 << a.log_slots;
  const int part = active ? i >> a.log_slots : 0, k = i & ((1 << a.log_slots) - 1);
  const int log_gap = a.ring.log_n - 1 - a.log_slots;
  const auto index = static_cast<std::uint32_t>((part << (a.ring.log_n - 1)) + (k << log_gap));
  double value = 0;
  bool found = true;
  if (active) {
    const Signed128 x = guess(a, item.in, index);
    const bool negative = x < 0;
    const auto magnitude = static_cast<Unsigned128>(negative ? -x : x);
    found = agrees(a, item.in, index, magnitude, negative);
    value = divided(magnitude, negative, item.divisor, item.exponent);
  }
  const int lane = threadIdx.x % kWarp;
  for (unsigned left = __ballot_sync(~0u, !found); left != 0; left &= left - 1) {
    const int owner = __ffs(static_cast<int>(left)) - 1;
    const double exact = wide_divided(a, item.in, __shfl_sync(~0u, index, owner), item.divisor,
                                      item.exponent, room[threadIdx.x / kWarp]);
    if (lane == owner) value = exact;
  }
  if (!active) return;
  auto* out = reinterpret_cast<double*>(item.out + reversed(k, a.log_slots));
  out[part] = value;
}

template <class V>
__global__ void __launch_bounds__(kThreads) project_rows(const __grid_constant__ ProjectArgs<V> a) {
  __shared__ double2 tile[1 << kLogTile];
  allow_next();
  wait_for_previous();
  const SlotShape shape(a.log_slots);
  double2* data = a.item[blockIdx.z].out + (static_cast<std::size_t>(blockIdx.x) << shape.log_tile);
  for (int e = threadIdx.x; e < 1 << shape.log_tile; e += kThreads) tile[bank_place(e)] = data[e];
  row_stages<true>(tile, shape, a.twiddles);
  for (int e = threadIdx.x; e < 1 << shape.log_tile; e += kThreads) data[e] = tile[bank_place(e)];
}

template <class V>
__global__ void __launch_bounds__(kThreads)
    project_columns(const __grid_constant__ ProjectArgs<V> a) {
  __shared__ double2 tile[1 << kLogTile];
  allow_next();
  wait_for_previous();
  double2* data = a.item[blockIdx.z].out;
  column_tile<true>(tile, SlotShape(a.log_slots), blockIdx.x, a.twiddles, data, data);
}

// The first primes of a basis with a product below 2^120, and their inverses (CentredCrt).
template <class V>
void few_primes(ProjectArgs<V>& args, const Ring& ring, const Basis& basis) {
  double bits = 0;
  for (int i = 0; i < std::min(basis.size(), kFew); ++i) {
    const std::uint32_t q = ring.prime(basis.prime(i));
    bits += std::log2(q);
    if (bits >= 120) break;
    const latticino::Modulus m = make_modulus(q);
    std::uint32_t product = 1 % q;
    for (int j = 0; j < i; ++j) {
      product = latticino::mul_mod(product, ring.prime(basis.prime(j)) % q, m);
    }
    args.inverse[i] = reduce_u64(static_cast<std::uint64_t>(inverse_mod(product, m)) << 32, m);
    args.few = i + 1;
  }
}

template <class V>
void launch(Launcher& launcher, const Project& op, std::size_t first, std::size_t count) {
  const Project::Item& head = op.items[first];
  const Ring& ring = *head.in.ring;
  const Basis basis = head.in.basis();
  if (basis.size() > kMaxPrimes) {
    throw UnsupportedError("Project", std::to_string(basis.size()) + " primes",
                           "at most " + std::to_string(kMaxPrimes), "decode at a lower level");
  }
  ProjectArgs<V> args{};
  args.ring = {ring_view(launcher, ring).modulus, ring.log_n()};
  args.twiddles = slot_twiddles(launcher, *head.table);
  args.log_slots = std::countr_zero(static_cast<unsigned>(head.slots));
  args.limbs = basis.size();
  few_primes(args, ring, basis);
  for (std::size_t i = 0; i < count; ++i) {
    const Project::Item& item = op.items[first + i];
    auto& to = args.item[i];
    to.in = V(item.in);
    to.out = reinterpret_cast<double2*>(item.out);
    to.divisor = std::frexp(item.divisor, &to.exponent);
  }
  const SlotShape shape(args.log_slots);
  const auto items = static_cast<unsigned>(count), tiles = static_cast<unsigned>(shape.tiles());
  const auto blocks =
      static_cast<unsigned>((2 * head.slots + kWarps * kWarp - 1) / (kWarps * kWarp));
  launcher.launch(project_coefficients<V>, {dim3(blocks, 1, items), dim3(kWarps * kWarp), 0, true},
                  args);
  if (shape.log_slots > 0) {
    launcher.launch(project_rows<V>, {dim3(tiles, 1, items), dim3(kThreads), 0, true}, args);
  }
  if (shape.log_rows > 0) {
    launcher.launch(project_columns<V>, {dim3(tiles, 1, items), dim3(kThreads), 0, true}, args);
  }
}

}  // namespace

void run(Launcher& launcher, const Project& op) {
  for (std::size_t first = 0, end = 0; first < op.items.size(); first = end) {
    const Project::Item& head = op.items[first];
    const std::size_t most =
        slot_items(kItems, std::countr_zero(static_cast<unsigned>(head.slots)));
    while (end < op.items.size() && end - first < most && op.items[end].slots == head.slots &&
           op.items[end].in.basis() == head.in.basis()) {
      ++end;
    }
    const auto wide = [](const Project::Item& item) { return item.in.segments > kViewSegments; };
    if (std::any_of(op.items.begin() + first, op.items.begin() + end, wide)) {
      launch<WideView>(launcher, op, first, end - first);
    } else {
      launch<View>(launcher, op, first, end - first);
    }
  }
}

}  // namespace latticino::cuda
