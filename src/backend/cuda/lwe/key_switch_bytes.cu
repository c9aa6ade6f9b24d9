// LweKeySwitch of large batches on the 8-bit integer matrix units. A key word is four bytes. The
// digits times the bytes of one place are one product of matrices (ciphertexts by rows of the key,
// times rows by words). The four sums of a word are combined in one lane. The sums are exact, so
// their order does not matter.
#include <algorithm>

#include "backend/cuda/device/async_copy.cuh"
#include "backend/cuda/lwe/key_switch.cuh"

namespace latticino::cuda {
namespace {

constexpr int kMinCiphertexts = 32;  // half of a tile
constexpr int kTile = 64;            // ciphertexts per block
constexpr int kWarps = 4;
constexpr int kWords = 8;   // words per warp; each group of four lanes has its own ciphertext
constexpr int kRows = 128;  // rows of the key whose digits a block holds at a time
constexpr int kStride =
    kRows + 16;  // bytes for the digits of a ciphertext, so that lanes touch all banks
constexpr int kDigitThreads = 256;
constexpr int kProducts = kTile / 16;

struct ByteArgs {
  KeySwitchArgs base;
  std::int8_t* digits;         // [ciphertext][padded rows]
  std::uint32_t rows, padded;  // rows of the key, and rows padded to whole chunks
  std::uint32_t chunks;        // chunks per block
};

std::uint32_t rows_of(const KeySwitchArgs& a) {
  return a.in.dimension * static_cast<std::uint32_t>(a.gadget.levels);
}
std::uint32_t padded_rows(const KeySwitchArgs& a) {
  return (rows_of(a) + kRows - 1) / kRows * kRows;
}

// Digits of a mask element; behind the last one, zeros.
__global__ void __launch_bounds__(kDigitThreads) byte_digits(const __grid_constant__ ByteArgs a) {
  const std::uint32_t i = blockIdx.y * kDigitThreads + threadIdx.x;
  const KeySwitchArgs& b = a.base;
  std::int8_t* out = a.digits + std::size_t(blockIdx.x) * a.padded;
  if (i >= b.in.dimension) {
    const std::uint32_t at = a.rows + i - b.in.dimension;
    if (at < a.padded) out[at] = 0;
    return;
  }
  const int levels = b.gadget.levels;
  std::int64_t y =
      gadget_round(centred(b.in.ciphertext(blockIdx.x)[i], b.q.q), gadget_shift(b.gadget, b.bits));
  out += i * levels;
  for (int j = levels - 1; j > 0; --j) {
    out[j] = static_cast<std::int8_t>(gadget_take(y, b.gadget.log_base));
  }
  out[0] = static_cast<std::int8_t>(y);
}

// D += A B for 16 rows of A, signed bytes, 8 columns of B, unsigned ones, and k = 32.
__device__ __forceinline__ void add_byte_product(std::int32_t (&d)[4], const std::uint32_t (&a)[4],
                                                 std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 "
      "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Separates the words of four rows into planes of their bytes, with the first row in the lowest
// place.
__device__ __forceinline__ void to_planes(std::uint32_t (&plane)[4], const std::uint32_t (&w)[4]) {
  const std::uint32_t low0 = __byte_perm(w[0], w[1], 0x5140);
  const std::uint32_t low1 = __byte_perm(w[2], w[3], 0x5140);
  const std::uint32_t high0 = __byte_perm(w[0], w[1], 0x7362);
  const std::uint32_t high1 = __byte_perm(w[2], w[3], 0x7362);
  plane[0] = __byte_perm(low0, low1, 0x5410);
  plane[1] = __byte_perm(low0, low1, 0x7632);
  plane[2] = __byte_perm(high0, high1, 0x5410);
  plane[3] = __byte_perm(high0, high1, 0x7632);
}

// The rows of the key whose words a lane takes, out of 32: four neighbours, and the four that are
// 16 rows further.
struct KeyWords {
  std::uint32_t word[2][4];

  __device__ __forceinline__ void load(const ByteArgs& a, const std::uint32_t* column,
                                       std::uint32_t first) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        // Past the end any row will do, because its digit is zero.
        const std::uint32_t row = min(first + 16 * half + i, a.rows - 1);
        word[half][i] = __ldg(column + row * a.base.key.stride);
      }
    }
  }
};

__device__ __forceinline__ void copy_digits(std::int8_t (&to)[kTile][kStride], const ByteArgs& a,
                                            std::uint32_t chunk) {
  constexpr int kVectors = kRows / 16;
#pragma unroll
  for (int i = 0; i < kTile * kVectors / (32 * kWarps); ++i) {
    const std::uint32_t u = threadIdx.x + i * 32 * kWarps, tile = u / kVectors, v = u % kVectors;
    const std::uint32_t ciphertext = min(blockIdx.y * kTile + tile, a.base.count - 1);
    copy_async(reinterpret_cast<uint4*>(&to[tile][16 * v]),
               reinterpret_cast<const uint4*>(a.digits + std::size_t(ciphertext) * a.padded +
                                              std::size_t(chunk) * kRows) +
                   v);
  }
  end_group();
}

__global__ void __launch_bounds__(32 * kWarps)
    key_switch_bytes(const __grid_constant__ ByteArgs a) {
  __shared__ alignas(16) std::int8_t digits[2][kTile][kStride];
  const KeySwitchArgs& b = a.base;
  const int lane = threadIdx.x % 32, group = lane / 4, of_group = lane % 4;
  const std::uint32_t word = (blockIdx.x * kWarps + threadIdx.x / 32) * kWords;
  const std::uint32_t* column = b.key.data + min(word + group, b.key.dimension);
  const std::uint32_t begin = blockIdx.z * a.chunks;
  const std::uint32_t end = min(begin + a.chunks, a.padded / kRows);
  std::int32_t sums[kProducts][4][4] = {};  // [ciphertexts][plane]
  KeyWords next;
  next.load(a, column, begin * kRows + 4 * of_group);
  copy_digits(digits[0], a, begin);
  for (std::uint32_t chunk = begin; chunk < end; ++chunk) {
    const auto& own = digits[(chunk - begin) % 2];
    wait_for_copies();
    __syncthreads();  // the new digits have arrived, and all threads have read the earlier ones
    if (chunk + 1 < end) copy_digits(digits[(chunk + 1 - begin) % 2], a, chunk + 1);
#pragma unroll
    for (int k = 0; k < kRows / 32; ++k) {
      std::uint32_t plane[2][4];
      to_planes(plane[0], next.word[0]);
      to_planes(plane[1], next.word[1]);
      next.load(a, column, chunk * kRows + 32 * (k + 1) + 4 * of_group);
#pragma unroll
      for (int m = 0; m < kProducts; ++m) {
        std::uint32_t x[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          x[i] = *reinterpret_cast<const std::uint32_t*>(
              &own[16 * m + group + i % 2 * 8][32 * k + i / 2 * 16 + 4 * of_group]);
        }
#pragma unroll
        for (int p = 0; p < 4; ++p) add_byte_product(sums[m][p], x, plane[0][p], plane[1][p]);
      }
    }
  }
#pragma unroll
  for (int m = 0; m < kProducts; ++m) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const std::uint32_t ciphertext = blockIdx.y * kTile + 16 * m + group + i / 2 * 8;
      const std::uint32_t at = word + 2 * of_group + i % 2;
      if (ciphertext >= b.count || at > b.key.dimension) continue;
      std::int64_t sum = 0;
#pragma unroll
      for (int p = 0; p < 4; ++p) sum += static_cast<std::int64_t>(sums[m][p][i]) << 8 * p;
      auto* to = b.sum + std::size_t(ciphertext) * (b.key.dimension + 1) + at;
      atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(sum));
    }
  }
}

}  // namespace

bool key_switch_in_bytes(const KeySwitchArgs& a) {
  constexpr int kSign = 1, kByte = 8;
  return a.count >= kMinCiphertexts && a.gadget.log_base <= 7 &&
         bit_length(rows_of(a)) + a.gadget.log_base - 1 + kByte + kSign <= 32;
}

std::size_t key_switch_digit_bytes(const KeySwitchArgs& a) {
  return std::size_t{a.count} * padded_rows(a);
}

void launch_key_switch_bytes(Launcher& launcher, const KeySwitchArgs& args, std::int8_t* digits) {
  ByteArgs a{args, digits, rows_of(args), padded_rows(args), 0};
  const std::uint32_t padding = a.padded - a.rows;
  launcher.launch(
      byte_digits,
      {dim3(args.count, (args.in.dimension + padding + kDigitThreads - 1) / kDigitThreads),
       dim3(kDigitThreads)},
      a);
  // Enough blocks for all multiprocessors, and no more: each block adds to all of its sums.
  const std::uint32_t columns = (args.key.dimension + kWarps * kWords) / (kWarps * kWords);
  const std::uint32_t tiles = (args.count + kTile - 1) / kTile, chunks = a.padded / kRows;
  constexpr std::uint32_t kPerSm = 4;
  const std::uint32_t wanted =
      kPerSm * static_cast<std::uint32_t>(launcher.properties().sms) / (columns * tiles);
  const std::uint32_t splits = std::clamp(wanted, 1u, chunks);
  a.chunks = (chunks + splits - 1) / splits;
  launcher.launch(key_switch_bytes,
                  {dim3(columns, tiles, (chunks + a.chunks - 1) / a.chunks), dim3(32 * kWarps)}, a);
}

}  // namespace latticino::cuda
