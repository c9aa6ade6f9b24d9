#include "backend/cuda/ntt/block.h"

#include <algorithm>

#include "backend/cuda/launch/dispatch.h"
#include "backend/cuda/ntt/block.cuh"

namespace latticino::cuda {
namespace {

template <class B, bool FORWARD>
__global__ void __launch_bounds__(B::kThreads, B::kMinBlocks)
    transform_block(const __grid_constant__ TransformArgs a) {
  transform_limbs<B, FORWARD>(a);
}

template <class B>
void launch(Launcher& launcher, const TransformArgs& args, unsigned limbs, bool forward) {
  const auto sms = static_cast<unsigned>(launcher.properties().sms);
  const unsigned polys =
      B::kKept ? even_blocks(args.count, limbs, sms * B::kMinBlocks) : args.count;
  const Shape shape{dim3(polys, limbs), dim3(B::kThreads), block_bytes(B::kLogN), true};
  launcher.launch(forward ? transform_block<B, true> : transform_block<B, false>, shape, args);
}

}  // namespace

void launch_blocks(TransformBatch& batch, const std::vector<TransformPair>& pairs, bool forward,
                   int form) {
  batch.each_launch(pairs, [&](const TransformArgs& args, unsigned limbs) {
    if (form == kKeptBlock) {
      return dispatch<kFirstBlockDegree, kLastKeptDegree>(args.ring.log_n, [&](auto log_n) {
        launch<BlockShape<decltype(log_n)::value, true>>(batch.launcher(), args, limbs, forward);
      });
    }
    dispatch<kFirstBlockDegree, kLastBlockDegree>(args.ring.log_n, [&](auto log_n) {
      launch<BlockShape<decltype(log_n)::value, false>>(batch.launcher(), args, limbs, forward);
    });
  });
}

}  // namespace latticino::cuda
