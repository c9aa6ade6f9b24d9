// LweKeySwitch: a product of the digits of all masks with the rows of the key. Large batches use
// the matrix units (lwe/key_switch_bytes.cu). Here each thread owns columns of the key, and uses
// each word that it loads for every ciphertext of its tile. Blocks share the rows, and their exact
// 64-bit sums are added in memory.
#include <algorithm>
#include <string>

#include "backend/cuda/launch/dispatch.h"
#include "backend/cuda/lwe/key_switch.cuh"
#include "math/errors.h"

namespace latticino::cuda {
namespace {

constexpr int kColumns = 256;    // threads per block
constexpr int kLogMostTile = 3;  // log2 of the ciphertexts of a block, at most
constexpr int kMaxTile = 1 << kLogMostTile;
constexpr int kRows = 256;    // digits of a ciphertext held at a time
constexpr int kMinRows = 16;  // fewest rows per block

// Writes the digits of mask elements [first, first + elements) of the block's ciphertexts, as
// [row][ciphertext].
template <int TILE>
__device__ __forceinline__ void load_digits(std::int32_t (&digit)[kRows][TILE],
                                            const KeySwitchArgs& a, std::uint32_t first,
                                            std::uint32_t elements) {
  const int levels = a.gadget.levels, shift = gadget_shift(a.gadget, a.bits);
  for (std::uint32_t u = threadIdx.x; u < elements * TILE; u += kColumns) {
    const std::uint32_t tile = u % TILE, i = u / TILE;
    const std::uint32_t ciphertext = blockIdx.y * TILE + tile;
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

template <int TILE>
__global__ void __launch_bounds__(kColumns)
    key_switch_rows(const __grid_constant__ KeySwitchArgs a) {
  __shared__ alignas(16) std::int32_t digit[kRows][TILE];
  const std::uint32_t column = blockIdx.x * kColumns + threadIdx.x;
  const std::uint32_t begin = blockIdx.z * a.elements;
  const std::uint32_t end = min(begin + a.elements, a.in.dimension);
  const std::uint32_t step = kRows / a.gadget.levels;
  const std::uint32_t* key = a.key.data + min(column, a.key.dimension);
  long long sum[TILE] = {};
  for (std::uint32_t first = begin; first < end; first += step) {
    const std::uint32_t elements = min(step, end - first), rows = elements * a.gadget.levels;
    __syncthreads();
    load_digits(digit, a, first, elements);
    __syncthreads();
    const std::uint32_t* row =
        key + static_cast<std::size_t>(first) * a.gadget.levels * a.key.stride;
    // Loads in flight. With fewer ciphertexts, more registers are free for loads.
#pragma unroll(TILE == kMaxTile ? 4 : 8)
    for (std::uint32_t r = 0; r < rows; ++r) {
      const auto k = static_cast<std::int32_t>(__ldg(row + r * a.key.stride));
#pragma unroll
      for (int t = 0; t < TILE; ++t) sum[t] += static_cast<std::int64_t>(digit[r][t]) * k;
    }
  }
  if (column > a.key.dimension) return;
#pragma unroll
  for (int t = 0; t < TILE; ++t) {
    const std::uint32_t ciphertext = blockIdx.y * TILE + t;
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

void launch_key_switch_rows(Launcher& launcher, KeySwitchArgs& args, unsigned columns) {
  // Enough blocks to keep the memory busy, but each with several rows, because every block adds to
  // all sums.
  const std::uint32_t count = args.count, dimension = args.in.dimension;
  const int log_tile = count >= kMaxTile ? kLogMostTile : bit_length(count - 1);
  const unsigned per_sm = log_tile == kLogMostTile ? 4 : 8;
  const unsigned least = log_tile == kLogMostTile ? kRows : kMinRows;
  const unsigned tiles = (count + (1u << log_tile) - 1) >> log_tile;
  const unsigned step = std::max(1u, least / static_cast<unsigned>(args.gadget.levels));
  const unsigned most = (dimension + step - 1) / step;
  const unsigned wanted =
      per_sm * static_cast<unsigned>(launcher.properties().sms) / (columns * tiles);
  const unsigned splits = std::clamp(wanted, 1u, most);
  args.elements = (dimension + splits - 1) / splits;
  dispatch<0, kLogMostTile>(log_tile, [&](auto log) {
    launcher.launch(key_switch_rows<1 << decltype(log)::value>,
                    {dim3(columns, tiles, splits), dim3(kColumns)}, args);
  });
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
  const auto columns = static_cast<unsigned>((words + kColumns - 1) / kColumns);
  if (key_switch_in_bytes(args)) {
    const Scratch digits = launcher.scratch(key_switch_digit_bytes(args));
    launch_key_switch_bytes(launcher, args, digits.as<std::int8_t>());
  } else {
    launch_key_switch_rows(launcher, args, columns);
  }
  launcher.launch(key_switch_finish, {dim3(in.count, columns), dim3(kColumns)}, args);
}

}  // namespace

void run(Launcher& launcher, const LweKeySwitch& op) {
  const int log_sum = op.gadget.log_base + 30 + bit_length(op.key.count);
  if (log_sum > 63) {
    throw UnsupportedError("cuda.lwe_key_switch", "sums of " + std::to_string(log_sum) + " bits",
                           "digits whose sum fits 63 bits", "use a smaller base");
  }
  // Sums of one launch take less than 64 MB of scratch, and grids stay within their limits. On the
  // matrix units, a ciphertext also needs one byte of digits per row of the key.
  for (const LweKeySwitch::Item& item : op.items) {
    const std::uint32_t most = std::max<std::uint32_t>(
        kMaxTile, (8u << 20) / (item.out.dimension + 1) / kMaxTile * kMaxTile);
    for (std::uint32_t first = 0; first < item.in.count; first += most) {
      const std::uint32_t count = std::min(most, item.in.count - first);
      key_switch(launcher, op, item.in.part(first, count), item.out.part(first, count));
    }
  }
}

}  // namespace latticino::cuda
