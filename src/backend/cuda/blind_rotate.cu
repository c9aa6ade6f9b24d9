// BlindRotate: chooses the kernel and how many ciphertexts share a block. Rotations that do not fit
// a block's shared memory go step by step.
#include <algorithm>

#include "backend/cuda/blind_rotate.cuh"
#include "backend/cuda/dispatch.h"
#include "backend/cuda/kernels.h"

namespace latticino::cuda {
namespace {

// What a launch may hold of one shape; no threads where no kernel takes it whole.
struct Limits {
  int threads;  // of a polynomial
  int most_threads;
  std::size_t twiddle_bytes, ciphertext_bytes;
};

Limits limits_of(int log_n, int primes, int parts, int levels) {
  Limits limits{};
  if (log_n < 10 || log_n > 12) return limits;
  dispatch<10, 12>(log_n, [&](auto log) {
    using Shape = BlindShape<decltype(log)::value>;
    limits = {Shape::kThreads, Shape::kMostThreads,
              sizeof(std::uint32_t) * rotate_twiddle_words<Shape>(primes),
              sizeof(std::uint32_t) * rotate_ciphertext_words<Shape>(primes, parts, levels)};
  });
  return limits;
}

std::uint32_t most_a_block(const Properties& device, const Limits& limits, int units) {
  int most = limits.most_threads / (units * limits.threads);
  most = std::min<int>(most,
                       (device.shared_per_block - limits.twiddle_bytes) / limits.ciphertext_bytes);
  // Named barriers: one a ciphertext, and one a polynomial where two warps share it.
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

}  // namespace

std::uint32_t per_block(const Properties& device, std::uint32_t most, std::uint32_t total,
                        std::uint32_t latency) {
  std::uint32_t best = 1, best_time = ~0u;
  for (std::uint32_t c = 1; c <= most; ++c) {
    const std::uint32_t blocks = (total + c - 1) / c;
    const std::uint32_t waves = (blocks + device.sms - 1) / device.sms;
    const std::uint32_t time = waves * (c + latency);
    if (time < best_time) best = c, best_time = time;
  }
  return best;
}

void run(Launcher& launcher, const BlindRotate& op) {
  if (op.items.empty()) return;
  const Ring& ring = *op.key.first.ring;
  const Basis basis = op.key.first.basis();
  RotateArgs args{};
  args.ring = ring_view(launcher, ring);
  args.key = op.key.first.limb(basis.prime(0));
  args.gadget = op.gadget;
  args.parts = op.glwe_dimension + 1;
  args.group = op.group;
  args.keys = op.keys_per_step();
  args.ternary = op.ternary;
  std::uint64_t q = 1;
  const int primes = basis.size();
  for (int p = 0; p < primes; ++p) {
    args.prime[p] = basis.prime(p);
    q *= ring.prime(basis.prime(p));
  }
  args.modulus = q;
  args.bits = bit_length(q);
  if (primes == 2) {
    const latticino::Modulus m = make_modulus(ring.prime(basis.prime(1)));
    args.inverse = make_shoup(inverse_mod(ring.prime(basis.prime(0)) % m.q, m), m);
  }
  args.dimension = op.items[0].exponents.dimension;
  args.steps = args.dimension / static_cast<std::uint32_t>(op.group);

  const Properties& device = launcher.properties();
  const Limits limits = limits_of(ring.log_n(), primes, args.parts, op.gadget.levels);
  const bool whole = limits.threads != 0 &&
                     args.parts * primes * limits.threads <= limits.most_threads &&
                     limits.twiddle_bytes + limits.ciphertext_bytes <= device.shared_per_block;
  const auto flush = [&] {
    if (op.arithmetic == BlindRotateArithmetic::Fft64) {
      launch_fourier_rotate(launcher, op, args);
    } else if (whole) {
      const std::uint32_t most = most_a_block(device, limits, args.parts * primes);
      constexpr std::uint32_t kLatency = 2;  // a guess
      args.per_block = per_block(device, most, args.total, kLatency);
      launch(launcher, args, ring.log_n(), primes);
    } else {
      launch_rotate_steps(launcher, op, args);
    }
    args.items = 0, args.total = 0;
  };
  for (const BlindRotate::Item& item : op.items) {
    if (item.exponents.count == 0) continue;
    if (args.items == kRotateItems) flush();
    args.item[args.items++] = {item.exponents.data, item.table.limb(basis.prime(0)),
                               item.out.first.limb(basis.prime(0)), item.exponents.stride,
                               args.total};
    args.total += item.exponents.count;
  }
  if (args.items != 0) flush();
}

}  // namespace latticino::cuda
