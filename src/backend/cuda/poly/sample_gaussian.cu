// Errors from secret seeds. The scan of the table only takes arithmetic in registers, so one thread
// samples four coefficients once and writes them to all limbs.
#include <algorithm>

#include "backend/cuda/device/tables.h"
#include "backend/cuda/kernels.h"
#include "backend/cuda/poly/sample_gaussian.cuh"

namespace latticino::cuda {
namespace {

__global__ void __launch_bounds__(kSampleThreads)
    sample_gaussian(const __grid_constant__ SampleArgs a) {
  allow_next();
  const std::uint32_t g = blockIdx.x * kSampleThreads + threadIdx.x;
  wait_for_previous();  // seeds are read by the kernel, so it must wait before
  sample_group(a, static_cast<int>(blockIdx.z), g);
}

}  // namespace

void run(Launcher& launcher, const SampleGaussian& op) {
  for (std::size_t first = 0; first < op.items.size(); first += kSampleItems) {
    const int items =
        static_cast<int>(std::min<std::size_t>(kSampleItems, op.items.size() - first));
    const Ring& ring = *op.items[first].out.ring;
    SampleArgs args{};
    args.ring = {ring_view(launcher, ring).modulus, ring.log_n()};
    for (int i = 0; i < items; ++i) {
      const SampleGaussian::Item& item = op.items[first + i];
      auto& to = args.item[i];
      to.out = View(item.out);
      to.seed = reinterpret_cast<const std::uint32_t*>(item.seed);
      to.index[0] = static_cast<std::uint32_t>(item.index);
      to.index[1] = static_cast<std::uint32_t>(item.index >> 32);
    }
    std::ranges::copy(op.table->entries(), args.table);
    args.entries = static_cast<int>(op.table->entries().size());
    const unsigned blocks = static_cast<unsigned>(ring.n()) / (kGroup * kSampleThreads);
    launcher.launch(sample_gaussian,
                    {dim3(blocks, 1, static_cast<unsigned>(items)), dim3(kSampleThreads), 0, true},
                    args);
  }
}

}  // namespace latticino::cuda
