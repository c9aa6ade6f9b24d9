#include <algorithm>

#include "backend/cpu/executor.h"
#include "crypto/expand.h"
#include "crypto/gaussian.h"

namespace latticino::cpu {
namespace {

constexpr std::size_t kWordBytes = 16;  // bytes of keystream per coefficient
constexpr std::size_t kBlockWords = 4;  // coefficients from one ChaCha20 block

}  // namespace

// This runs in constant time. No branch and no address depends on a word of the keystream, neither
// in the keystream, nor in the scan, nor in `reduce`. The keystream and the integers of a step are
// in the scratch memory of the thread. It is cleared when a secret block is released, such as that
// of the seed.
void run(Executor& executor, const SampleGaussian& op) {
  if (op.items.empty()) return;
  const Ring& ring = *op.items[0].out.ring;
  const RingTable& table = executor.table(ring);
  const std::size_t n = ring.n(), step = std::min(kBlockEntries, n), blocks = n / step;
  const std::size_t keystream_words = step * kWordBytes / sizeof(std::uint32_t);
  executor.reserve_scratch(keystream_words + step * sizeof(std::int64_t) / sizeof(std::uint32_t));
  executor.parallel(
      op.items.size() * blocks, step * op.items[0].out.limbs(),
      [&](std::size_t i, std::uint32_t* scratch) {
        const SampleGaussian::Item& item = op.items[i / blocks];
        const std::size_t at = i % blocks * step;
        const std::span words(reinterpret_cast<std::uint8_t*>(scratch), step * kWordBytes);
        const std::span integers(reinterpret_cast<std::int64_t*>(scratch + keystream_words), step);
        crypto::chacha20_keystream(
            std::span<const std::uint8_t, 32>(item.seed, 32),
            static_cast<std::uint32_t>(at / kBlockWords),
            {static_cast<std::uint32_t>(item.index), static_cast<std::uint32_t>(item.index >> 32),
             crypto::kErrorNonce},
            words);
        crypto::gaussian_from_words(op.table->entries(), words, integers);
        const Basis basis = item.out.basis();
        for (int k = 0; k < basis.size(); ++k) {
          executor.kernels().reduce(item.out.limb(basis.prime(k)) + at, integers.data(), step,
                                    table.primes[basis.prime(k)].modulus);
        }
      });
}

}  // namespace latticino::cpu
