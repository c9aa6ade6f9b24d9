// Known answers of the transforms. The file was made from the definitions in poly/domain.h alone:
// Half as remainders modulo X^cols - zeta_r, Eval by Horner's rule at every root.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "support/digest_support.h"
#include "support/ring_support.h"

namespace latticino {
namespace {

TEST(NttKnownAnswers, EveryCaseOnBothCpuBackends) {
  std::ifstream file(LATTICINO_TEST_DATA "/ntt_v1.txt");
  ASSERT_TRUE(file.is_open());
  int cases = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream fields(line);
    int log_n = 0;
    std::uint32_t q = 0;
    std::string half, eval;
    fields >> log_n >> q >> half >> eval;
    ASSERT_TRUE(fields) << line;
    test::Words a(std::size_t{1} << log_n);
    for (std::uint64_t i = 0; i < a.size(); ++i) {
      a[i] = static_cast<std::uint32_t>((i * i * 7919 + i * 104729 + 1) % q);
    }
    for (const bool simd : {false, true}) {
      const Ring ring(log_n, {q});
      Queue queue(make_cpu_backend({.simd = simd, .threads = 1}));
      const Poly x = test::upload(queue, ring, test::range(0, 1), Domain::Coeff, a);
      for (const auto& [domain, expected] : {std::pair(Domain::Half, half), {Domain::Eval, eval}}) {
        const Poly y = queue.allocate(ring, test::range(0, 1), domain);
        queue.submit(Transform{{{x.view, y.view}}});
        EXPECT_EQ(test::digest(test::download(queue, y.view)), expected)
            << name(domain) << " " << line;
        queue.submit(Transform{{{y.view, y.view.in(Domain::Coeff)}}});
        EXPECT_EQ(test::download(queue, y.view.in(Domain::Coeff)), a)
            << name(domain) << " " << line;
      }
    }
    ++cases;
  }
  EXPECT_EQ(cases, 3);
}

}  // namespace
}  // namespace latticino
