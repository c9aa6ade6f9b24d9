// BlindRotate: chooses the form (rotate/forms.h), and how many ciphertexts share a block, or how
// many blocks share a ciphertext. Rotations that do not fit into the shared memory of a block go
// step by step.
#include <algorithm>
#include <optional>

#include "backend/cuda/kernels.h"
#include "backend/cuda/launch/dispatch.h"
#include "backend/cuda/rotate/blind_rotate.cuh"
#include "backend/cuda/rotate/cluster/cluster.h"
#include "backend/cuda/rotate/costs.h"
#include "backend/cuda/rotate/forms.h"

namespace latticino::cuda {
namespace {

// How one launch runs rotations of one shape. It has no threads if no kernel can hold a whole
// ciphertext.
struct Limits {
  int threads;  // threads per polynomial
  int most_threads;
  std::size_t twiddle_bytes, ciphertext_bytes;
};

Limits limits_of(int log_n, int primes, int parts, int levels) {
  Limits limits{};
  if (log_n < 10 || log_n > 12) return limits;
  dispatch<10, 12>(log_n, [&](auto log) {
    using Shape = BlindShape<decltype(log)::value>;
    limits = {Shape::kThreads, Shape::kMaxThreads,
              sizeof(std::uint32_t) * rotate_twiddle_words<Shape>(primes),
              sizeof(std::uint32_t) * rotate_ciphertext_words<Shape>(primes, parts, levels)};
  });
  return limits;
}

std::uint32_t most_a_block(const Properties& device, const Limits& limits, int units) {
  int most = limits.most_threads / (units * limits.threads);
  most = std::min<int>(most,
                       (device.shared_per_block - limits.twiddle_bytes) / limits.ciphertext_bytes);
  // Named barriers: one per ciphertext, and one per polynomial where two warps share it.
  return std::min(most, 15 / (1 + (limits.threads > 32 ? units : 0)));
}

void launch(Launcher& launcher, const RotateArgs& args, int log_n, int primes) {
  const int rows = args.keys == 1 ? args.parts * args.gadget.levels : 0;
  if (log_n == 10 && primes == 1 && rows == 6) {
    return launch_rotate<BlindShape<10>, 1, 6>(launcher, args);
  }
  if (log_n == 10 && primes == 1 && rows == 4) {
    return launch_rotate<BlindShape<10>, 1, 4>(launcher, args);
  }
  if (log_n == 11 && primes == 2 && rows == 2) {
    return launch_rotate<BlindShape<11>, 2, 2>(launcher, args);
  }
  launch_any_rotate(launcher, args, log_n, primes);
}

// The number of ciphertexts of a block, at most `most`. The last wave should have few blocks, and a
// block should have many ciphertexts to hide latency. The model is that a block of c
// ciphertexts takes c + `latency` units of time.
std::uint32_t per_block(const Properties& device, std::uint32_t most, std::uint32_t total,
                        std::uint32_t latency) {
  std::uint32_t best = 1, best_time = ~0u;
  for (std::uint32_t c = 1; c <= most; ++c) {
    const std::uint32_t blocks = waves(total, c);
    const std::uint32_t time = waves(blocks, device.sms) * (c + latency);
    if (time < best_time) best = c, best_time = time;
  }
  return best;
}

// One launch over the ciphertexts of `args`.
class Rotation {
 public:
  Rotation(Launcher& launcher, const BlindRotate& op)
      : launcher_(launcher), op_(op), ring_(*op.key.first.ring) {
    const Basis basis = op.key.first.basis();
    primes_ = basis.size();
    args.ring = ring_view(launcher, ring_);
    args.key = op.key.first.limb(basis.prime(0));
    args.gadget = op.gadget;
    args.parts = op.glwe_dimension + 1;
    args.group = op.group;
    args.keys = op.keys_per_step();
    args.ternary = op.ternary;
    std::uint64_t q = 1;
    for (int p = 0; p < primes_; ++p) {
      args.prime[p] = basis.prime(p);
      q *= ring_.prime(basis.prime(p));
    }
    args.modulus = q;
    args.bits = bit_length(q);
    if (primes_ == 2) {
      const latticino::Modulus m = make_modulus(ring_.prime(basis.prime(1)));
      args.inverse = make_shoup(inverse_mod(ring_.prime(basis.prime(0)) % m.q, m), m);
    }
    args.dimension = op.items[0].exponents.dimension;
    args.steps = args.dimension / static_cast<std::uint32_t>(op.group);
  }

  void launch() {
    if (op_.arithmetic == BlindRotateArithmetic::Fft64) {
      return launch_fourier_rotate(launcher_, op_, args);
    }
    const std::uint32_t each = gathered_each();
    std::optional<ClusterPlan> plan[kLogClusterBlocks + 1];
    for (int b = 0; b <= kLogClusterBlocks; ++b) {
      plan[b] = plan_cluster(launcher_, args, ring_, primes_, b);
    }
    const int form = chosen_form(each, plan);
    if (form == kStepForm) return launch_rotate_steps(launcher_, op_, args);
    if (form != kGatheredForm) {
      return launch_cluster(launcher_, args, *plan[form - cluster_form(0)]);
    }
    args.per_block = each;
    cuda::launch(launcher_, args, ring_.log_n(), primes_);
  }

  RotateArgs args{};

 private:
  int chosen_form(std::uint32_t each,
                  const std::optional<ClusterPlan> (&plan)[kLogClusterBlocks + 1]) {
    const RotateCosts& costs = rotate_costs(ring_.log_n(), primes_, args.keys);
    const auto sms = static_cast<std::uint32_t>(launcher_.properties().sms);
    RotationForms forms =
        RotationForms::exact(ring_.log_n(), each > 0, costs.all_gathered(args.total, each, sms),
                             costs.all_by_steps(args.total));
    for (int b = 0; b <= kLogClusterBlocks; ++b) {
      if (plan[b]) forms.add(cluster_form(b), costs.spread[b].all(plan[b]->clusters, args.total));
    }
    const TuningKey key{TunedKernel::BlindRotate,
                        ring_.log_n(),
                        {args.parts, primes_, 16 * args.gadget.levels + args.keys,
                         static_cast<int>(std::min(args.total, 1u << 30))}};
    return launcher_.tuning().pick(key, forms.own(), forms.can_run());
  }

  // The most ciphertexts that fit into one block; 0 if not even one fits.
  std::uint32_t gathered_each() const {
    const Properties& device = launcher_.properties();
    const Limits limits = limits_of(ring_.log_n(), primes_, args.parts, args.gadget.levels);
    if (limits.threads == 0 || args.parts * primes_ * limits.threads > limits.most_threads ||
        limits.twiddle_bytes + limits.ciphertext_bytes > device.shared_per_block) {
      return 0;
    }
    constexpr std::uint32_t kLatency = 2;  // a guess, not measured
    return per_block(device, most_a_block(device, limits, args.parts * primes_), args.total,
                     kLatency);
  }

  Launcher& launcher_;
  const BlindRotate& op_;
  const Ring& ring_;
  int primes_ = 1;
};

}  // namespace

void run(Launcher& launcher, const BlindRotate& op) {
  if (op.items.empty()) return;
  Rotation rotation(launcher, op);
  RotateArgs& args = rotation.args;
  const auto flush = [&] {
    rotation.launch();
    args.items = 0, args.total = 0;
  };
  const int first_prime = op.key.first.basis().prime(0);
  for (const BlindRotate::Item& item : op.items) {
    if (item.exponents.count == 0) continue;
    if (args.items == kRotateItems) flush();
    args.item[args.items++] = {item.exponents.data, item.table.limb(first_prime),
                               item.out.first.limb(first_prime), item.exponents.stride, args.total};
    args.total += item.exponents.count;
  }
  if (args.items != 0) flush();
}

}  // namespace latticino::cuda
