// BlindRotate in FP64: arguments and the choice of the kernel.
#include "backend/cuda/rotate/fft/block.cuh"

#include <algorithm>

#include "backend/cuda/rotate/fft/cluster.h"
#include "backend/cuda/rotate/fft/pair.cuh"
#include "backend/cuda/rotate/forms.h"

namespace latticino::cuda {
namespace {

// A warp carries a component.
using PairShape = FourierKeyShape<11, 2, 2>;
bool in_pairs(int log_n, int parts, int primes, int levels) {
  return log_n == PairShape::kLogN && parts == 2 && primes == 2 && levels == 1;
}

// Before sm_90 there are no bulk copies.
FourierLimits limits_of(int log_n, int parts, int primes, int levels, int group, bool bulk) {
  if (group > 1) return fourier_group_limits(log_n, parts, primes, levels);
  if (in_pairs(log_n, parts, primes, levels)) return kFourierPairLimits<PairShape, 2>;
  FourierLimits limits;
  dispatch<10, 12>(log_n, [&](auto log) {
    dispatch<2, 3>(parts, [&](auto p) {
      dispatch<1, 2>(primes, [&](auto q) {
        constexpr int kParts = decltype(p)::value, kPrimes = decltype(q)::value;
        using S =
            FourierShape<decltype(log)::value, fourier_log_values(decltype(log)::value, kParts)>;
        limits = bulk ? fourier_limits<S, kParts, kPrimes>(levels)
                      : fourier_limits<S, kParts, kPrimes, KeyStream<S, kParts>>(levels);
      });
    });
  });
  return limits;
}

void launch_blind_rotate_fft_k1(Launcher& launcher, const FourierRotateArgs& args, int primes,
                                const Shape& shape) {
  const RotateArgs& a = args.rotate;
  if (in_pairs(a.ring.log_n, a.parts, primes, a.gadget.levels)) {
    return launcher.launch(blind_rotate_fft_pair<PairShape, 2>, shape, args);
  }
  dispatch<10, 12>(args.rotate.ring.log_n, [&](auto log) {
    using S = FourierShape<decltype(log)::value, fourier_log_values(decltype(log)::value, 2)>;
    launcher.launch(primes == 1 ? blind_rotate_fft<S, 2, 1> : blind_rotate_fft<S, 2, 2>, shape,
                    args);
  });
}

// The time of all blocks, relative to that of one ciphertext per block.
double gathered_time(const FourierRotateArgs& args, const FourierLimits& limits,
                     std::uint32_t sms) {
  const double waves = std::max(1., static_cast<double>(args.parts.groups) / sms);
  return waves * (args.rotate.per_block + limits.latency) / (1. + limits.latency);
}

// Milliseconds on an H200, measured with the sets that use these kernels (docs/lab). `spread`: of a
// wave of ciphertexts that are spread over 2^b blocks. `gathered`: with one ciphertext in each
// block; gathered_time() says how much longer several take.
struct ClusterTimes {
  WaveTimes spread[kLogFourierClusterBlocks + 1];
  double gathered;
};

const ClusterTimes& spread_times(int primes, int keys) {
  static constexpr ClusterTimes kOne{{{}, {}, {}, {{1.16, 1.65}}, {{0.83, 1.10}}}, 4.6};
  static constexpr ClusterTimes kTwo{{{}, {}, {}, {{1.69}}, {{1.17, 1.43, 1.72}}}, 6.2};
  static constexpr ClusterTimes kOneOfSeveral{{{}, {}, {}, {{0.555}}, {{0.43}}}, 10.3};
  static constexpr ClusterTimes kTwoOfSeveral{{{}, {}, {}, {{0.71}}, {{0.47}}}, 6.4};
  if (keys > 1) return primes == 1 ? kOneOfSeveral : kTwoOfSeveral;
  return primes == 1 ? kOne : kTwo;
}

static_assert(kLogFourierClusterBlocks == kLogMostClusterBlocks);

// None if ciphertexts are gathered. `gathered`: the time of that, relative to one ciphertext per
// block.
std::optional<FourierClusterPlan> spread(Launcher& launcher, const RotateArgs& args, int primes,
                                         double gathered) {
  std::optional<FourierClusterPlan> plan[kLogFourierClusterBlocks + 1];
  const ClusterTimes& times = spread_times(primes, args.keys);
  RotationForms forms(kGatheredForm, times.gathered * gathered);
  for (int b = 0; b <= kLogFourierClusterBlocks; ++b) {
    plan[b] = plan_fourier_cluster(launcher, args, primes, b);
    if (plan[b]) forms.add(cluster_form(b), times.spread[b].all(plan[b]->clusters, args.total));
  }
  // The key of a tuning entry. Exact rotations have 16 levels + keys here, with levels up to 62.
  // FP64 has values that these cannot have: no keys for one key per step, and levels from 64 on for
  // several keys.
  constexpr int kSeveralKeys = 16 * 64;
  const int keys = args.keys == 1 ? 0 : kSeveralKeys + args.keys;
  const TuningKey key{TunedKernel::BlindRotate,
                      args.ring.log_n,
                      {args.parts, primes, 16 * args.gadget.levels + keys,
                       static_cast<int>(std::min(args.total, 1u << 30))}};
  const int form = launcher.tuning().pick(key, forms.own(), forms.can_run());
  return form == kGatheredForm ? std::nullopt : plan[form - cluster_form(0)];
}

}  // namespace

void launch_fourier_rotate(Launcher& launcher, const BlindRotate& op, RotateArgs rotate) {
  const Ring& ring = *op.key.first.ring;
  const Basis basis = op.key.first.basis();
  const Properties& device = launcher.properties();
  const FourierLimits limits = limits_of(ring.log_n(), rotate.parts, basis.size(), op.gadget.levels,
                                         op.group, device.arch >= 90);
  const std::size_t least = limits.shared_bytes + limits.ciphertext_bytes;
  if (least > device.shared_per_block) {
    throw UnsupportedError("BlindRotate",
                           "FP64 where a block has " + std::to_string(device.shared_per_block) +
                               " bytes of shared memory",
                           std::to_string(least) + " bytes", "set arithmetic to Exact");
  }
  const std::size_t room =
      (device.shared_per_block - limits.shared_bytes) / limits.ciphertext_bytes;
  constexpr std::size_t kNamedBarriers = 15;
  const auto most = static_cast<std::uint32_t>(std::min(
      {room, static_cast<std::size_t>(limits.most_threads / limits.threads), kNamedBarriers}));
  const auto sms = static_cast<std::uint32_t>(device.sms);
  const auto shares = [](std::uint32_t all, std::uint32_t each) { return (all + each - 1) / each; };
  rotate.per_block = std::min(most, shares(rotate.total, sms));

  FourierRotateArgs args{};
  args.rotate = rotate;
  const std::uint32_t groups =
      std::max(std::min(rotate.total, sms), shares(rotate.total, rotate.per_block));
  args.parts = {groups, sms, rotate.steps};
  args.key = reinterpret_cast<const double2*>(op.fourier);
  const RingTables& tables = table_of<RingTables>(launcher, ring);
  args.roots = reinterpret_cast<const double2*>(tables.device_fourier_roots());
  std::copy_n(tables.fourier_roots().begin(), std::size(args.first), args.first);
  args.rounding = fourier::Rounding({ring.log_n(), op.glwe_dimension, op.group, op.ternary,
                                     op.gadget, basis.size(), rotate.modulus});
  for (int p = 0; p < basis.size(); ++p) {
    args.moduli[p] = make_modulus(ring.prime(basis.prime(p)));
  }
  if (const auto plan = spread(launcher, rotate, basis.size(), gathered_time(args, limits, sms))) {
    return launch_fourier_cluster(launcher, args, *plan);
  }
  const Shape shape{dim3(args.parts.blocks()), dim3(rotate.per_block * limits.threads),
                    limits.shared_bytes + rotate.per_block * limits.ciphertext_bytes};
  std::optional<Scratch> flags;
  if (args.parts.cuts != 0) {
    const std::size_t bytes = sizeof(std::uint32_t) * args.flag_words(shape.block.x);
    flags.emplace(launcher.scratch(bytes));
    args.flags = flags->as<std::uint32_t>();
    check(cudaMemsetAsync(args.flags, 0, bytes, launcher.stream()), "cuda.blind_rotate");
  }
  if (op.group > 1) return launch_blind_rotate_fft_group(launcher, args, basis.size(), shape);
  if (rotate.parts == 2) return launch_blind_rotate_fft_k1(launcher, args, basis.size(), shape);
  launch_blind_rotate_fft_k2(launcher, args, basis.size(), shape);
}

}  // namespace latticino::cuda
