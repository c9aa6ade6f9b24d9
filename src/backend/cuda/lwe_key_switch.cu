// LweKeySwitch: a product of the digits of all masks with the rows of the key. Threads own columns
// of the key and meet every ciphertext of their tile with each word they load; blocks split the
// rows, and their exact 64-bit sums meet in memory.
#include <algorithm>
#include <string>

#include "backend/cuda/kernels.h"
#include "backend/cuda/lwe.cuh"
#include "math/errors.h"

namespace latticino::cuda {
namespace {

constexpr int kColumns = 256;  // threads of a block
constexpr int kTile = 8;       // ciphertexts of a block
constexpr int kRows = 256;     // digits of a ciphertext held at a time

struct KeySwitchArgs {
  Words key, in, out;
  LweModulus q;
  Gadget gadget;
  int bits;
  std::uint32_t count;
  std::uint32_t elements;  // of the mask, a block's share
  long long* sum;          // [ciphertext][out.dimension + 1]
};

// Digits of mask elements [first, first + elements) of the block's ciphertexts: [row][ciphertext].
__device__ __forceinline__ void load_digits(std::int32_t (&digit)[kRows][kTile],
                                            const KeySwitchArgs& a, std::uint32_t first,
                                            std::uint32_t elements) {
  const int levels = a.gadget.levels, shift = gadget_shift(a.gadget, a.bits);
  for (std::uint32_t u = threadIdx.x; u < elements * kTile; u += kColumns) {
    const std::uint32_t tile = u % kTile, i = u / kTile;
    const std::uint32_t ciphertext = blockIdx.y * kTile + tile;
    std::int64_t y = 0;
    if (ciphertext < a.count) {
      y = gadget_round(centred(a.in.ciphertext(ciphertext)[first + i], a.q.q), shift);
    }
    for (int j = levels - 1; j > 0; --j) {
      digit[i * levels + j][tile] = gadget_take(y, a.gadget.log_base);
    }
    digit[i * levels][tile] = static_cast<std::int32_t>(y);
  }
}

__global__ void __launch_bounds__(kColumns)
    key_switch_rows(const __grid_constant__ KeySwitchArgs a) {
  __shared__ std::int32_t digit[kRows][kTile];
  const std::uint32_t column = blockIdx.x * kColumns + threadIdx.x;
  const std::uint32_t begin = blockIdx.z * a.elements;
  const std::uint32_t end = min(begin + a.elements, a.in.dimension);
  const std::uint32_t step = kRows / a.gadget.levels;
  const std::uint32_t* key = a.key.data + min(column, a.key.dimension);
  long long sum[kTile] = {};
  for (std::uint32_t first = begin; first < end; first += step) {
    const std::uint32_t elements = min(step, end - first), rows = elements * a.gadget.levels;
    __syncthreads();
    load_digits(digit, a, first, elements);
    __syncthreads();
    const std::uint32_t* row =
        key + static_cast<std::size_t>(first) * a.gadget.levels * a.key.stride;
#pragma unroll 4
    for (std::uint32_t r = 0; r < rows; ++r) {
      const auto k = static_cast<std::int32_t>(__ldg(row + r * a.key.stride));
      const int4* d = reinterpret_cast<const int4*>(digit[r]);
#pragma unroll
      for (int v = 0; v < kTile / 4; ++v) {
        const int4 x = d[v];
        sum[4 * v] += static_cast<std::int64_t>(x.x) * k;
        sum[4 * v + 1] += static_cast<std::int64_t>(x.y) * k;
        sum[4 * v + 2] += static_cast<std::int64_t>(x.z) * k;
        sum[4 * v + 3] += static_cast<std::int64_t>(x.w) * k;
      }
    }
  }
  if (column > a.key.dimension) return;
#pragma unroll
  for (int t = 0; t < kTile; ++t) {
    const std::uint32_t ciphertext = blockIdx.y * kTile + t;
    if (ciphertext >= a.count) continue;
    long long* at = a.sum + static_cast<std::size_t>(ciphertext) * (a.key.dimension + 1) + column;
    atomicAdd(reinterpret_cast<unsigned long long*>(at), static_cast<unsigned long long>(sum[t]));
  }
}

__global__ void __launch_bounds__(kColumns)
    key_switch_finish(const __grid_constant__ KeySwitchArgs a) {
  const std::uint32_t i = blockIdx.y * kColumns + threadIdx.x, dimension = a.out.dimension;
  if (i > dimension) return;
  const std::uint32_t sum =
      reduce_s64(a.sum[static_cast<std::size_t>(blockIdx.x) * (dimension + 1) + i], a.q);
  a.out.ciphertext(blockIdx.x)[i] =
      i == dimension ? add_mod(sum, a.in.ciphertext(blockIdx.x)[a.in.dimension], a.q.q) : sum;
}

void key_switch(Launcher& launcher, const LweKeySwitch& op, const LweView& in, const LweView& out) {
  KeySwitchArgs args{};
  args.key = Words(op.key);
  args.in = Words(in);
  args.out = Words(out);
  args.q = make_modulus(op.key.modulus);
  args.gadget = op.gadget;
  args.bits = bit_length(op.key.modulus);
  args.count = in.count;
  const std::size_t words = std::size_t{out.dimension} + 1;
  const std::size_t bytes = sizeof(long long) * words * in.count;
  const Scratch scratch = launcher.scratch(bytes);
  args.sum = scratch.as<long long>();
  check(cudaMemsetAsync(args.sum, 0, bytes, launcher.stream()), "cuda.lwe_key_switch");

  // Four blocks a multiprocessor, but no fewer rows than are held at a time.
  const auto columns = static_cast<unsigned>((words + kColumns - 1) / kColumns);
  const unsigned tiles = (in.count + kTile - 1) / kTile;
  const unsigned step = kRows / static_cast<unsigned>(op.gadget.levels);
  const unsigned most = (in.dimension + step - 1) / step;
  const unsigned wanted = 4 * static_cast<unsigned>(launcher.properties().sms) / (columns * tiles);
  const unsigned splits = std::clamp(wanted, 1u, most);
  args.elements = (in.dimension + splits - 1) / splits;
  launcher.launch(key_switch_rows, {dim3(columns, tiles, splits), dim3(kColumns)}, args);
  launcher.launch(key_switch_finish, {dim3(in.count, columns), dim3(kColumns)}, args);
}

}  // namespace

void run(Launcher& launcher, const LweKeySwitch& op) {
  const int log_sum = op.gadget.log_base + 30 + bit_length(op.key.count);
  if (log_sum > 63) {
    throw UnsupportedError("cuda.lwe_key_switch", "sums of " + std::to_string(log_sum) + " bits",
                           "digits whose sum fits 63 bits", "use a smaller base");
  }
  // Sums of one launch stay below 64 MB of scratch, and grids within their limits.
  for (const LweKeySwitch::Item& item : op.items) {
    const std::uint32_t most =
        std::max<std::uint32_t>(kTile, (8u << 20) / (item.out.dimension + 1) / kTile * kTile);
    for (std::uint32_t first = 0; first < item.in.count; first += most) {
      const std::uint32_t count = std::min(most, item.in.count - first);
      key_switch(launcher, op, item.in.part(first, count), item.out.part(first, count));
    }
  }
}

}  // namespace latticino::cuda
