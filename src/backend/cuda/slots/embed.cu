// Encoding: the inverse special FFT, rounding, and residues of every prime.
#include <bit>

#include "backend/cuda/device/reduce.cuh"
#include "backend/cuda/kernels.h"
#include "backend/cuda/slots/fft.cuh"

namespace latticino::cuda {
namespace {

constexpr int kItems = 48;

struct EmbedArgs {
  RingArgs ring;
  const double2* twiddles;
  std::uint32_t* fault;
  int log_slots, limbs_a_block;
  struct {
    const double2* in;
    double2* middle;  // output of the stages across rows; equal to `in` if there are none
    View out;
    int limbs;
    double factor, limit;
  } item[kItems];
};
static_assert(sizeof(EmbedArgs) <= 4096);

__global__ void __launch_bounds__(kThreads) embed_columns(const __grid_constant__ EmbedArgs a) {
  __shared__ double2 tile[1 << kLogTile];
  allow_next();
  wait_for_previous();
  const auto& item = a.item[blockIdx.z];
  column_tile<false>(tile, SlotShape(a.log_slots), blockIdx.x, a.twiddles, item.in, item.middle);
}

// (x * 2^-log_slots) * factor, half to even; 0 and a fault where it is not below the limit.
__device__ __forceinline__ std::int64_t rounded(double x, int log_slots, double factor,
                                                double limit, std::uint32_t* fault) {
  const double one_over_n = __longlong_as_double(static_cast<long long>(1023 - log_slots) << 52);
  const double y = __dmul_rn(__dmul_rn(x, one_over_n), factor);
  if (fabs(y) < limit) return __double2ll_rn(y);
  *static_cast<volatile std::uint32_t*>(fault) = 1;
  return 0;
}

// Loads a tile of whole rows, does their stages of the FFT, and leaves rounded coefficients in it,
// as pairs of 64-bit integers in place of doubles. The rows are those whose numbers, with their
// bits in reversed order, follow each other. So the coefficients of the tile form runs in memory.
__device__ __forceinline__ void row_tile(double2* tile, const SlotShape& shape, const EmbedArgs& a,
                                         const double2* in, double factor, double limit) {
  const int log_cols = shape.log_cols, first = blockIdx.x << shape.log_tile_rows();
#pragma unroll 4
  for (int e = threadIdx.x; e < 1 << shape.log_tile; e += kThreads) {
    const int row = reversed(first + (e >> log_cols), shape.log_rows);
    tile[bank_place(e)] = in[(row << log_cols) + (e & ((1 << log_cols) - 1))];
  }
  row_stages<false>(tile, shape, a.twiddles);
  for (int e = threadIdx.x; e < 1 << shape.log_tile; e += kThreads) {
    const double2 w = tile[e];
    tile[e] = {__longlong_as_double(rounded(w.x, a.log_slots, factor, limit, a.fault)),
               __longlong_as_double(rounded(w.y, a.log_slots, factor, limit, a.fault))};
  }
  __syncthreads();
}

// Coefficients of the tile, four words at a time: runs of (rows of the tile) * gap words, one for
// each column in reversed order, `rows` * gap apart; real parts, then imaginary ones N/2 further.
__global__ void __launch_bounds__(kThreads) embed_rows(const __grid_constant__ EmbedArgs a) {
  __shared__ double2 tile[1 << kLogTile];
  allow_next();
  const auto& item = a.item[blockIdx.z];
  const int first_limb = blockIdx.y * a.limbs_a_block;
  const int last_limb = min(first_limb + a.limbs_a_block, item.limbs);
  wait_for_previous();
  if (first_limb >= last_limb) return;
  const SlotShape shape(a.log_slots);
  row_tile(tile, shape, a, item.middle, item.factor, item.limit);
  const int log_n = a.ring.log_n, log_gap = log_n - 1 - a.log_slots;
  const int log_run = shape.log_tile_rows() + log_gap, log_words = shape.log_cols + log_run;
  for (int g = threadIdx.x; g < 2 << (log_words - 2); g += kThreads) {
    const int part = g >> (log_words - 2), word = (g << 2) & ((1 << log_words) - 1);
    Integers x;
#pragma unroll
    for (int j = 0; j < kGroup; ++j) {
      const int w = word + j, t = (w & ((1 << log_run) - 1)) >> log_gap;
      const int e = (t << shape.log_cols) + reversed(w >> log_run, shape.log_cols);
      const double2 v = tile[bank_place(e)];
      const bool holds = (w & ((1 << log_gap) - 1)) == 0;
      x.w[j] = holds ? __double_as_longlong(part == 0 ? v.x : v.y) : 0;
    }
    const int run = word >> log_run;
    const int at = (part << (log_n - 1)) + (run << (shape.log_rows + log_gap)) +
                   (static_cast<int>(blockIdx.x) << log_run) + (word & ((1 << log_run) - 1));
    reduce_into(a.ring, item.out, first_limb, last_limb, static_cast<std::uint32_t>(at / kGroup),
                x);
  }
}

// The limbs that one block writes: all of them, unless multiprocessors would be idle then.
int limbs_a_block(const Launcher& launcher, int tiles, int items, int limbs) {
  const int wanted = 2 * launcher.properties().sms;
  const int blocks = std::clamp((wanted + tiles * items - 1) / (tiles * items), 1, limbs);
  return (limbs + blocks - 1) / blocks;
}

void launch(Launcher& launcher, const Embed& op, std::size_t first, std::size_t count) {
  const Embed::Item& head = op.items[first];
  const Ring& ring = *head.out.ring;
  const int log_slots = std::countr_zero(static_cast<unsigned>(head.slots));
  const SlotShape shape(log_slots);
  const bool columns = shape.log_rows > 0;
  const Scratch middle =
      launcher.scratch(columns ? count * sizeof(double2) << log_slots : sizeof(double2));
  EmbedArgs args{};
  args.ring = {ring_view(launcher, ring).modulus, ring.log_n()};
  args.twiddles = slot_twiddles(launcher, *head.table);
  args.fault = launcher.fault();
  args.log_slots = log_slots;
  int limbs = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Embed::Item& item = op.items[first + i];
    auto& to = args.item[i];
    to.in = reinterpret_cast<const double2*>(item.in);
    to.middle = columns ? middle.as<double2>() + (i << log_slots)
                        : const_cast<double2*>(to.in);  // in shared memory, read only from here on
    to.out = View(item.out);
    to.limbs = item.out.limbs();
    to.factor = item.factor;
    to.limit = slots::coefficient_limit(item.bound);
    limbs = std::max(limbs, to.limbs);
  }
  const auto items = static_cast<unsigned>(count), tiles = static_cast<unsigned>(shape.tiles());
  args.limbs_a_block = limbs_a_block(launcher, shape.tiles(), static_cast<int>(count), limbs);
  const auto chunks = static_cast<unsigned>((limbs + args.limbs_a_block - 1) / args.limbs_a_block);
  if (columns) {
    launcher.launch(embed_columns, {dim3(tiles, 1, items), dim3(kThreads), 0, true}, args);
  }
  launcher.launch(embed_rows, {dim3(tiles, chunks, items), dim3(kThreads), 0, true}, args);
}

}  // namespace

SlotTables::SlotTables(Launcher& launcher, const SlotTransform& transform)
    : OwnedTable(launcher),
      block_(launcher.properties().device, sizeof(double2) * transform.max_slots()) {
  std::vector<double2> host(static_cast<std::size_t>(transform.max_slots()));
  for (int half = 1; half < transform.max_slots(); half *= 2) {
    const double *re = transform.tables().re(2 * half), *im = transform.tables().im(2 * half);
    for (int j = 0; j < half; ++j) host[half + j] = {re[j], im[j]};
  }
  check(cudaMemcpyAsync(block_.data(), host.data(), block_.bytes(), cudaMemcpyHostToDevice,
                        launcher.stream()),
        "cuda.slot_tables");
  launcher.synchronize();  // the copy must end before the host vector is destroyed
}

void run(Launcher& launcher, const Embed& op) {
  for (std::size_t first = 0, end = 0; first < op.items.size(); first = end) {
    const int slots = op.items[first].slots;
    const std::size_t most = slot_items(kItems, std::countr_zero(static_cast<unsigned>(slots)));
    while (end < op.items.size() && end - first < most && op.items[end].slots == slots) ++end;
    launch(launcher, op, first, end - first);
  }
}

}  // namespace latticino::cuda
