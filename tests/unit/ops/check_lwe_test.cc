// The errors that checks of the TFHE records find.
#include <gtest/gtest.h>

#include "math/errors.h"
#include "ops/operations.h"
#include "support/ring_support.h"

namespace latticino {
namespace {

using test::range;

class CheckLwe : public testing::Test {
 protected:
  LweView lwe(std::uint32_t dimension, std::uint32_t count, std::size_t at,
              std::uint32_t modulus = 0) {
    return {memory_.data() + at, modulus == 0 ? ring_.prime(0) : modulus, dimension, count,
            dimension + std::size_t{1}};
  }
  PolyArray polys(int primes, Domain domain, std::uint32_t count, std::uint32_t at) {
    return {PolyView::contiguous(memory_.data(), ring_, range(0, primes), domain, at), count};
  }
  // Two steps, k = 1, two digits, one prime; three ciphertexts.
  BlindRotate rotation() {
    BlindRotate op;
    op.key = polys(1, Domain::Eval, 16, 0);
    op.gadget = {9, 2};
    op.items = {{lwe(2, 3, 20 << 10, 2048), polys(1, Domain::Coeff, 1, 16).first,
                 polys(1, Domain::Coeff, 6, 30)}};
    return op;
  }
  template <class Record, class Change>
  void broken(Record op, Change change) {
    change(op);
    EXPECT_THROW(check(op), ShapeError);
  }

  Ring ring_{10, test::ntt_primes(10, 3)};
  Ring other_{10, test::ntt_primes(10, 3)};
  std::vector<std::uint32_t> memory_ = std::vector<std::uint32_t>(64 << 10);
  std::vector<double> numbers_ = std::vector<double>(16 << 10);
};

TEST_F(CheckLwe, Linear) {
  const LweView x = lwe(30, 4, 0), y = lwe(30, 1, 500), out = lwe(30, 4, 1000);
  const LweLinear good{{{{{x, 2}, {y, -1}}, out, 7}}};
  EXPECT_NO_THROW(check(good));
  EXPECT_NO_THROW(check(LweLinear{{{{{out, 2}}, out, 0}}})) << "in place";
  broken(good, [](auto& op) { op.items[0].terms[0].x.count = 3; });
  broken(good, [](auto& op) { op.items[0].terms[0].x.dimension = 29; });
  broken(good, [](auto& op) { op.items[0].terms[0].x.modulus -= 2; });
  broken(good, [](auto& op) { op.items[0].constant = op.items[0].out.modulus; });
  broken(good, [](auto& op) { op.items[0].out.stride = 30; });
  broken(good, [](auto& op) { op.items[0].out.count = 0; });
  broken(good, [](auto& op) { op.items[0].out.data = nullptr; });
  broken(good, [&](auto& op) { op.items[0].out = lwe(30, 4, 100); });
  broken(LweLinear{{{{{out, 2}}, out, 0}}}, [](auto& op) { op.items[0].terms[0].x.stride = 40; });
}

TEST_F(CheckLwe, KeySwitchAndModSwitch) {
  const LweKeySwitch good{lwe(20, 90, 0), {4, 3}, {{lwe(30, 4, 5000), lwe(20, 4, 6000)}}};
  EXPECT_NO_THROW(check(good));
  broken(good, [](auto& op) { op.key.count = 60; });
  broken(good, [](auto& op) { op.gadget.levels = 2; });
  broken(good, [](auto& op) { op.gadget = {16, 3}; });
  broken(good, [](auto& op) { op.items[0].out.dimension = 19; });
  broken(good, [](auto& op) { op.items[0].out.count = 3; });
  broken(good, [](auto& op) { op.items[0].in.modulus = 2048; });
  broken(good, [&](auto& op) { op.items[0].out.data = memory_.data(); });
  const ModSwitch exponents{true, 1, {{lwe(30, 4, 0), lwe(30, 4, 0, 2048)}}};
  EXPECT_NO_THROW(check(exponents));
  broken(exponents, [](auto& op) { op.items[0].out.modulus = 2047; });
  broken(exponents, [](auto& op) { op.items[0].in.modulus = 2048; });
  broken(exponents, [](auto& op) { op.log_many = 11; });
  broken(exponents, [](auto& op) { op.items[0].out.stride = 33; });
}

TEST_F(CheckLwe, Extract) {
  const SampleExtract good{1, {{polys(2, Domain::Coeff, 4, 0), {0, 1023}, lwe(1024, 4, 20 << 10)}}};
  EXPECT_NO_THROW(check(good));
  broken(good, [](auto& op) { op.items[0].coefficients[0] = 1024; });
  broken(good, [](auto& op) { op.items[0].coefficients.pop_back(); });
  broken(good, [](auto& op) { op.items[0].in.first.domain = Domain::Eval; });
  broken(good, [](auto& op) { op.items[0].in.count = 3; });
  broken(good, [](auto& op) { op.glwe_dimension = 2; });
  broken(good, [](auto& op) { op.step = 4; });
  SampleExtract sparse = good;
  sparse.step = 4;
  sparse.items[0].out.dimension = 256;
  EXPECT_NO_THROW(check(sparse));
  broken(sparse, [](auto& op) { op.step = 3; });
  broken(sparse, [](auto& op) { op.step = 0; });
  broken(good, [&](auto& op) { op.items[0].out.modulus = ring_.prime(1); });
  broken(good, [&](auto& op) { op.items[0].in = polys(3, Domain::Coeff, 4, 0); });
}

TEST_F(CheckLwe, Slots) {
  const LweSlots good{false, {{lwe(64, 4, 0), {0, -1, 3, 2}, numbers_.data(), 16, 14, 2}}};
  EXPECT_NO_THROW(check(good));
  broken(good, [](auto& op) { op.items[0].rows[1] = 4; });
  broken(good, [](auto& op) { op.items[0].rows[1] = -2; });
  broken(good, [](auto& op) { op.items[0].rows.push_back(1); });
  broken(good, [](auto& op) { op.items[0].rows.clear(); });
  broken(good, [](auto& op) { op.items[0].slots = 2; });
  broken(good, [](auto& op) { op.items[0].slots = 24; });
  broken(good, [](auto& op) { op.items[0].slots = 512; });
  broken(good, [](auto& op) { op.items[0].count = 3; });
  broken(good, [](auto& op) { op.items[0].count = 0; });
  broken(good, [](auto& op) { op.items[0].out = nullptr; });
  broken(good, [](auto& op) { op.items[0].out += 1; });
  broken(good, [](auto& op) { op.items[0].in.modulus = 2048; });
  LweSlots bodies = good;
  bodies.bodies = true;
  bodies.items[0].slots = bodies.items[0].count = 0;
  EXPECT_NO_THROW(check(bodies));
  broken(bodies, [](auto& op) { op.items[0].out = nullptr; });
  broken(bodies, [](auto& op) { op.items[0].rows.push_back(0); });
}

TEST_F(CheckLwe, BlindRotate) {
  EXPECT_NO_THROW(check(rotation()));
  broken(rotation(), [](auto& op) { op.key.count = 15; });
  broken(rotation(), [](auto& op) { op.key.first.domain = Domain::Coeff; });
  broken(rotation(), [](auto& op) { op.gadget = {9, 3}; });
  broken(rotation(), [](auto& op) { op.gadget = {16, 2}; });
  broken(rotation(), [](auto& op) { op.group = 2; });
  broken(rotation(), [](auto& op) { op.ternary = true; });
  broken(rotation(), [](auto& op) { op.group = 5; });
  broken(rotation(), [](auto& op) { op.items[0].exponents.modulus = 4096; });
  broken(rotation(), [](auto& op) { op.items[0].exponents.count = 2; });
  broken(rotation(), [](auto& op) { op.items[0].table.domain = Domain::Eval; });
  broken(rotation(), [&](auto& op) { op.items[0].table.ring = &other_; });
  broken(rotation(), [&](auto& op) { op.items[0].out = polys(1, Domain::Coeff, 6, 12); });
}

TEST_F(CheckLwe, Fourier) {
  const auto good = [&] {
    BlindRotate op = rotation();
    op.arithmetic = BlindRotateArithmetic::Fft64;
    op.fourier = numbers_.data();
    return op;
  };
  EXPECT_NO_THROW(check(good()));
  broken(good(), [](auto& op) { op.fourier = nullptr; });
  broken(good(), [](auto& op) { op.fourier += 1; });
  const auto refused = [](BlindRotate op, auto change) {
    change(op);
    EXPECT_THROW(check(op), UnsupportedError);
  };
  refused(good(), [](auto& op) {
    op.ternary = true;
    op.key.count = 32;
  });
  refused(good(), [](auto& op) { op.gadget = {14, 2}; });  // sums of 2^54
  const FourierKey key{1, 2, {{polys(1, Domain::Coeff, 16, 0), numbers_.data()}}};
  EXPECT_NO_THROW(check(key));
  // 16 polynomials are not a whole number of keys of 12
  broken(key, [](auto& op) { op.levels = 3; });
  broken(key, [](auto& op) { op.levels = 0; });
  broken(key, [](auto& op) { op.glwe_dimension = 0; });
  broken(key, [](auto& op) { op.items[0].out = nullptr; });
  broken(key, [](auto& op) { op.items[0].in.first.domain = Domain::Eval; });
  broken(key, [&](auto& op) { op.items[0].in = polys(3, Domain::Coeff, 2, 0); });
  broken(key, [&](auto& op) { op.items[0].out = reinterpret_cast<double*>(memory_.data()); });
  EXPECT_THROW(check(FourierKey{3, 1, key.items}), UnsupportedError);
}

TEST_F(CheckLwe, Costs) {
  EXPECT_STREQ(name(Operation(rotation())), "BlindRotate");
  EXPECT_EQ(bytes_moved(rotation()), 4u * ((16 + 1 + 6) * 1024 + 9));
  BlindRotate fft = rotation();
  fft.arithmetic = BlindRotateArithmetic::Fft64;
  fft.fourier = numbers_.data();
  EXPECT_EQ(bytes_moved(fft), 4u * ((2 * 16 + 1 + 6) * 1024 + 9));
  const FourierKey key{1, 2, {{polys(1, Domain::Coeff, 16, 0), numbers_.data()}}};
  EXPECT_STREQ(name(Operation(key)), "FourierKey");
  EXPECT_EQ(bytes_moved(key), 12u * 16 * 1024);
}

}  // namespace
}  // namespace latticino
