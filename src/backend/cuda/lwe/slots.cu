// Words of LWE ciphertexts as slots of doubles.
#include <algorithm>
#include <bit>

#include "backend/cuda/kernels.h"
#include "backend/cuda/lwe/lwe.cuh"

namespace latticino::cuda {
namespace {

constexpr int kSlotThreads = 256;
constexpr std::uint32_t kRows = 512;  // rows per launch

struct LweSlotsArgs {
  Words in;
  double2* out;
  std::uint32_t q, slots;
  std::uint32_t first_row, row_count;  // rows of this launch; row_count is a power of two
  int log_rows;                        // log2 of the rows of the matrix
  std::uint32_t columns, first;        // columns per block, and the first diagonal
  std::int32_t row[kRows];
};
static_assert(sizeof(LweSlotsArgs) <= 4096);

// A thread per slot; blockIdx.y is the diagonal.
__global__ void __launch_bounds__(kSlotThreads)
    lwe_diagonals(const __grid_constant__ LweSlotsArgs a) {
  const std::uint32_t w = blockIdx.x * kSlotThreads + threadIdx.x;
  const std::uint32_t local = w & (a.row_count - 1), block = w / a.row_count;
  if (block >= a.slots >> a.log_rows) return;
  const std::uint32_t r = a.first_row + local;
  const std::uint64_t j =
      (r + std::uint64_t{a.columns} * block + a.first + blockIdx.y) % a.in.dimension;
  const std::int32_t row = a.row[local];
  const double x = row < 0 ? 0.0 : static_cast<double>(centred(a.in.ciphertext(row)[j], a.q)) / a.q;
  a.out[std::size_t{blockIdx.y} * a.slots + (block << a.log_rows) + r] = make_double2(x, 0.0);
}

// A block per row.
__global__ void __launch_bounds__(kSlotThreads) lwe_bodies(const __grid_constant__ LweSlotsArgs a) {
  __shared__ unsigned long long sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  const std::int32_t row = a.row[blockIdx.x];
  double2* out = a.out + a.first_row + blockIdx.x;
  if (row < 0) {
    if (threadIdx.x == 0) *out = make_double2(0.0, 0.0);
    return;
  }
  const std::uint32_t* in = a.in.ciphertext(row);
  std::int64_t part = 0;
  for (std::uint32_t i = threadIdx.x; i < a.in.dimension; i += kSlotThreads) {
    part += centred(in[i], a.q);
  }
  atomicAdd(&sum, static_cast<unsigned long long>(part));
  __syncthreads();
  if (threadIdx.x != 0) return;
  const std::int64_t q = a.q, twice = 2 * q;
  std::int64_t x =
      (static_cast<std::int64_t>(sum) + 2 * static_cast<std::int64_t>(in[a.in.dimension])) % twice;
  if (x > q) x -= twice;
  if (x <= -q) x += twice;
  *out = make_double2(static_cast<double>(x) / static_cast<double>(twice), 0.0);
}

}  // namespace

void run(Launcher& launcher, const LweSlots& op) {
  for (const LweSlots::Item& item : op.items) {
    const auto rows = static_cast<std::uint32_t>(item.rows.size());
    LweSlotsArgs args{};
    args.in = Words(item.in);
    args.out = reinterpret_cast<double2*>(item.out);
    args.q = item.in.modulus;
    args.log_rows = std::countr_zero(rows);
    args.row_count = std::min(rows, kRows);
    for (args.first_row = 0; args.first_row < rows; args.first_row += kRows) {
      std::copy_n(item.rows.begin() + args.first_row, args.row_count, args.row);
      if (op.bodies) {
        launcher.launch(lwe_bodies, {dim3(args.row_count), dim3(kSlotThreads)}, args);
        continue;
      }
      args.slots = item.slots;
      args.first = item.first;
      args.columns =
          static_cast<std::uint32_t>(std::uint64_t{item.in.dimension} * rows / item.slots);
      const std::uint32_t words = item.slots / rows * args.row_count;
      const dim3 grid((words + kSlotThreads - 1) / kSlotThreads, item.count);
      launcher.launch(lwe_diagonals, {grid, dim3(kSlotThreads)}, args);
    }
  }
}

}  // namespace latticino::cuda
