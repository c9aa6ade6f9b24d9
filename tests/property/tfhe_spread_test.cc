// Whole blind rotations of the named sets by every kernel that can run them, against the CPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "backend/tuning.h"
#include "params/switch/params.h"
#include "support/ring_support.h"
#include "support/tfhe_support.h"

namespace latticino {
namespace {

using test::Words;

struct NamedSet {
  const char* name;
  BlindRotateArithmetic arithmetic = BlindRotateArithmetic::Exact;
};
void PrintTo(const NamedSet& set, std::ostream* out) {
  *out << set.name << (set.arithmetic == BlindRotateArithmetic::Exact ? ", exact" : ", FP64");
}

// Parameters of TFHE, or those of the tables of a switching set.
std::shared_ptr<const TfheParams> params_of(const std::string& name) {
  return name.starts_with("switch-") ? switch_preset(name)->tfhe() : tfhe_preset(name);
}

// A set's keys from a fixed seed on some backend.
struct Rotations : session::TfheKeyHolder {
  Rotations(const NamedSet& set, std::unique_ptr<Backend> backend)
      : TfheKeyHolder(
            tfhe::Context::create(params_of(set.name), std::make_unique<Queue>(std::move(backend)),
                                  set.arithmetic),
            test::fixed_random(11)),
        keys(server_keys()),
        table(tfhe::constant_polynomial(*context, context->params().lwe_modulus() / 8)) {}

  std::uint32_t parts() const {
    return static_cast<std::uint32_t>(context->params().glwe_dimension()) + 1;
  }
  // All components of `count` rotations by these exponents, run `runs` times into the same memory,
  // the last time as a recorded program; empty if the runs differ.
  Words rotate(const Words& exponents, std::uint32_t count, int runs) const {
    const TfheParams& params = context->params();
    Queue& queue = context->queue();
    const auto lwe = context->allocate(static_cast<std::uint32_t>(params.lwe_dimension()), count,
                                       2u * params.n());
    const std::size_t each = exponents.size() / count;
    for (std::uint32_t i = 0; i < count; ++i) {
      queue.copy_in(lwe.view.part(i, 1).data, exponents.data() + i * each,
                    each * sizeof(std::uint32_t));
    }
    const auto out = context->allocate_polys(count * parts(), Domain::Coeff);
    BlindRotate op = tfhe::blind_rotation(*context, *keys);
    op.items = {{lwe.view, table.view, out.view}};
    Words first, words(out.buffer->bytes() / sizeof(std::uint32_t));
    for (int run = 0; run < runs; ++run) {
      if (run == 0 || run + 1 < runs) {
        queue.submit(op);
      } else {
        queue.record([&] { queue.submit(op); }).run();
      }
      queue.copy_out(words.data(), out.buffer->data(), out.buffer->bytes());
      if (run == 0) first = words;
      if (words != first) return {};
    }
    return words;
  }

  std::shared_ptr<const tfhe::ServerKeys> keys;
  Poly table;
};

class RotationsOfNamedSets : public testing::TestWithParam<NamedSet> {};

TEST_P(RotationsOfNamedSets, AreTheSameInEveryVariant) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  const Rotations cpu(GetParam(), make_cpu_backend({true, 0}));
  const auto tuning = std::make_shared<Tuning>();
  const Rotations cuda(GetParam(), make_cuda_backend({.tuning = tuning}));
  const TfheParams& params = cpu.context->params();
  std::mt19937_64 random(12);
  for (const std::uint32_t count : {1u, 3u, 40u}) {
    Words exponents(static_cast<std::size_t>(count) * (params.lwe_dimension() + 1));
    for (auto& e : exponents) e = static_cast<std::uint32_t>(random() % (2 * params.n()));
    const Words expected = cpu.rotate(exponents, count, 1);
    tuning->watch(true);
    EXPECT_TRUE(cuda.rotate(exponents, count, 2) == expected) << count;
    tuning->watch(false);
    // Together with transforms of a key in FP64, which is made once, or of steps.
    const auto found = std::ranges::find(tuning->seen(), TunedKernel::BlindRotate,
                                         [](const Tuning::Question& q) { return q.key.kernel; });
    ASSERT_NE(found, tuning->seen().end());
    const Tuning::Question question = *found;
    for (int variant = 0; variant < Tuning::kVariants; ++variant) {
      if ((question.can_run >> variant & 1) == 0) continue;
      tuning->set(question.key, variant);
      EXPECT_TRUE(cuda.rotate(exponents, count, 10) == expected)
          << count << " rotations, variant " << variant;
    }
  }
}

// Blocks of one ciphertext and of two (265 are two each, and one, on 132 multiprocessors), whose
// kernels differ at the sets of switching in FP64; and batches of more than a device gathers at
// once: blocks hand groups of them over to each other.
class RotationsInLargeBatches : public testing::TestWithParam<NamedSet> {};

TEST_P(RotationsInLargeBatches, AreTheSame) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  const Rotations cpu(GetParam(), make_cpu_backend({true, 0}));
  const Rotations cuda(GetParam(), make_cuda_backend({}));
  const TfheParams& params = cpu.context->params();
  const std::uint32_t period = 37;
  std::mt19937_64 random(13);
  Words exponents(static_cast<std::size_t>(period) * (params.lwe_dimension() + 1));
  for (auto& e : exponents) e = static_cast<std::uint32_t>(random() % (2 * params.n()));
  const Words expected = cpu.rotate(exponents, period, 1);
  for (const std::uint32_t count : {1u, 265u, 1201u, 2500u}) {
    Words many, all;
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto copy = [&](const Words& from, Words& to) {
        const auto each = static_cast<std::ptrdiff_t>(from.size() / period);
        const auto first = from.begin() + i % period * each;
        to.insert(to.end(), first, first + each);
      };
      copy(exponents, many), copy(expected, all);
    }
    EXPECT_TRUE(cuda.rotate(many, count, 3) == all) << count;
  }
}

constexpr BlindRotateArithmetic kFp64 = BlindRotateArithmetic::Fft64;

INSTANTIATE_TEST_SUITE_P(
    Sets, RotationsInLargeBatches,
    testing::Values(NamedSet{"chameleon-630-legacy", kFp64}, NamedSet{"tfhe-gates-v1", kFp64},
                    NamedSet{"tfhe-gates-v2", kFp64}, NamedSet{"tfhe-2-2-v1", kFp64},
                    NamedSet{"tfhe-2-2-group3-fft64-v1", kFp64},
                    NamedSet{"switch-n16-d40-fp64-v1", kFp64}, NamedSet{"switch-n16-d40-v1"}));

INSTANTIATE_TEST_SUITE_P(
    Sets, RotationsOfNamedSets,
    testing::Values(NamedSet{"chameleon-630-legacy"}, NamedSet{"tfhe-gates-v1"},
                    NamedSet{"tfhe-gates-v2"}, NamedSet{"tfhe-2-2-v1"},
                    NamedSet{"tfhe-2-2-group3-v1"}, NamedSet{"chameleon-630-legacy", kFp64},
                    NamedSet{"tfhe-gates-v2", kFp64}, NamedSet{"tfhe-2-2-v1", kFp64},
                    NamedSet{"chameleon-630-group3-legacy", kFp64},
                    NamedSet{"tfhe-2-2-group3-fft64-v1", kFp64}, NamedSet{"switch-n16-d40-v1"},
                    NamedSet{"switch-n16-d40-fp64-v1", kFp64}));

}  // namespace
}  // namespace latticino
