// Known answers of transforms, base conversions and automorphisms, on every backend that is there.
// tests/python/support/transform_reference.py computes the file from the definitions.
#include <gtest/gtest.h>

#include <fstream>
#include <span>

#include "crypto/sha256.h"
#include "math/primes.h"
#include "support/ring_support.h"

namespace latticino {
namespace {

using test::range;
using test::Words;

// The 20, 25, 30 and 31-bit primes, then conversion targets.
Words primes(int log_n) {
  const auto below = [&](int bits) { return ntt_primes_below(log_n, 1u << bits, 2); };
  const Words p25 = below(25), p30 = below(30), p31 = below(31);
  return {ntt_primes_below(log_n, 1u << 20, 1)[0], p25[0], p30[0], p31[0], p31[1], p30[1], p25[1]};
}

std::string line(const std::string& name, int log_n, std::uint64_t detail, const Words& words) {
  crypto::Sha256 hash;
  for (const std::uint32_t w : words) {
    std::array<std::uint8_t, 4> bytes;
    for (int b = 0; b < 4; ++b) bytes[b] = static_cast<std::uint8_t>(w >> (8 * b));
    hash.update(bytes);
  }
  std::string text = name + " " + std::to_string(log_n) + " " +
                     (detail == 0 ? "3to4" : std::to_string(detail)) + " ";
  for (const std::uint8_t byte : hash.finish()) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  const std::size_t n = words.size();
  for (const std::uint32_t w : {words[0], words[1], words[n - 2], words[n - 1]}) {
    text += " " + std::to_string(w);
  }
  return text;
}

class Answers {
 public:
  Answers(std::unique_ptr<Backend> backend, int log_n)
      : log_n_(log_n), queue_(std::move(backend)), ring_(log_n, primes(log_n)) {}

  std::vector<std::string> lines() {
    const Poly coeff = polynomial();
    const Poly half = moved(coeff, Domain::Half), eval = moved(coeff, Domain::Eval);
    for (int i = 0; i < 4; ++i) {
      add("Half", ring_.prime(i), half.view.select(range(i, i + 1)));
      add("Eval", ring_.prime(i), eval.view.select(range(i, i + 1)));
    }
    const BaseConversion table(ring_, range(0, 3), range(3, 7));
    for (const Poly* in : {&coeff, &half}) {
      const Poly out = queue_.allocate(ring_, table.to(), in->view.domain);
      queue_.submit(Convert{{{&table, in->view.select(table.from()), out.view}}});
      add(std::string("Convert") + name(in->view.domain), 0, out.view);
    }
    for (const std::uint32_t galois : {125u, 2u * ring_.n() - 1}) {
      for (const Poly* in : {&coeff, &eval}) {
        const Poly out = queue_.allocate(ring_, range(0, 4), in->view.domain);
        queue_.submit(Automorphism{{{{{in->view, galois}}, out.view}}});
        add(std::string("Automorphism") + name(in->view.domain), galois, out.view);
      }
    }
    return std::move(lines_);
  }

 private:
  Poly polynomial() {
    Words words;
    for (int i = 0; i < 4; ++i) {
      std::uint64_t state = static_cast<std::uint64_t>(log_n_);
      for (int k = 0; k < ring_.n(); ++k) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        words.push_back(static_cast<std::uint32_t>((state >> 32) % ring_.prime(i)));
      }
    }
    return test::upload(queue_, ring_, range(0, 4), Domain::Coeff, words);
  }
  Poly moved(const Poly& in, Domain domain) {
    Poly out = queue_.allocate(ring_, range(0, 4), domain);
    queue_.submit(Transform{{{in.view, out.view}}});
    return out;
  }
  void add(const std::string& name, std::uint64_t detail, const PolyView& view) {
    lines_.push_back(line(name, log_n_, detail, test::download(queue_, view)));
  }

  int log_n_;
  Queue queue_;
  Ring ring_;
  std::vector<std::string> lines_;
};

std::vector<std::string> expected(int log_n) {
  std::ifstream file(LATTICINO_TEST_DATA "/transforms_v1.txt");
  std::vector<std::string> lines;
  for (std::string text; std::getline(file, text);) {
    if (text.find(" " + std::to_string(log_n) + " ") != std::string::npos) lines.push_back(text);
  }
  return lines;
}

class TransformKnownAnswers : public testing::TestWithParam<int> {};

TEST_P(TransformKnownAnswers, Cpu) {
  const std::vector<std::string> want = expected(GetParam());
  ASSERT_EQ(want.size(), 14u);
  EXPECT_EQ(Answers(make_cpu_backend({false, 1}), GetParam()).lines(), want);
  EXPECT_EQ(Answers(make_cpu_backend({true, 2}), GetParam()).lines(), want);
}

TEST_P(TransformKnownAnswers, Cuda) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  EXPECT_EQ(Answers(make_cuda_backend(), GetParam()).lines(), expected(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Degrees, TransformKnownAnswers, testing::Values(10, 13, 16, 17),
                         [](const auto& p) { return "N" + std::to_string(p.param); });

}  // namespace
}  // namespace latticino
