// Programs on sets with free terminals where records reach the backend in parts, as on a GPU: the
// same words as on a backend that takes any view.
#include <gtest/gtest.h>

#include "ckks/encoding/client.h"
#include "support/bootstrap_world.h"
#include "support/preset_names.h"
#include "support/split_backend.h"

namespace latticino::ckks {
namespace {

using Counts = test::SplitBackend::Counts;

// Two worlds with the same secrets, keys and ciphertexts.
class SplitPrograms : public testing::TestWithParam<const char*> {
 protected:
  World whole_{preset(GetParam()), make_cpu_backend({true, 1})};
  std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
  World parts_{preset(GetParam()), std::make_unique<test::SplitBackend>(counts_)};

  static World::Batch ran(World& world, int level, const World::Program& program) {
    const int slots = world.params().max_slots();
    const World::Batch x = {world.encrypt(world.values(slots, 1), level),
                            world.encrypt(world.values(slots, 2), level)};
    return world.run(program, x);
  }
  void expect_equal(const World::Batch& a, const World::Batch& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].str(), b[i].str());
      for (std::size_t h = 0; h < a[i].parts.size(); ++h) {
        EXPECT_EQ(whole_.download(a[i].parts[h]), parts_.download(b[i].parts[h])) << i << " " << h;
      }
    }
  }
  void expect_equal(int level, const World::Program& program) {
    SCOPED_TRACE(level);
    expect_equal(ran(whole_, level, program), ran(parts_, level, program));
  }
};

TEST_P(SplitPrograms, OperationsOfEveryLevel) {
  int most = 0;
  const int top = whole_.params().default_level();
  for (int level = 1; level <= top; ++level) {
    most = std::max(most, whole_.params().extended(level).runs());
    expect_equal(level, [&](const Evaluator& e, const World::Batch& x) {
      World::Batch out = {e.multiply(x[0], x[1]), e.rotate(x[0], 3), e.conjugate(x[1]),
                          e.rescale(x[0]),        e.add(x[0], x[1]), e.tensor(x[0], x[1])};
      out.push_back(e.relinearize_rescale(out.back()));
      out.push_back(e.inner_sum(x[0], 1, 4));
      const int steps[] = {0, 1, 5};
      for (Ciphertext& y : e.rotate_hoisted(x[0], steps)) out.push_back(std::move(y));
      for (int to = 0; to < level; ++to) out.push_back(e.to_level(x[1], to));
      return out;
    });
  }
  EXPECT_GT(most, 3);
  EXPECT_GT(counts_->divided, 5);
}

TEST_P(SplitPrograms, Decryption) {
  for (int level = 0; level <= whole_.params().default_level(); ++level) {
    std::vector<Complex> values[2];
    int i = 0;
    for (World* world : {&whole_, &parts_}) {
      const World::Values z = world->values(world->params().max_slots(), 3);
      const Ciphertext x = world->encrypt(z, level);
      values[i++] = decrypt(world->secret(), std::span(&x, 1)).front();
      EXPECT_GT(bits_of(values[0], z), 10) << level;
    }
    EXPECT_EQ(values[0], values[1]) << level;
  }
}

TEST_P(SplitPrograms, Bootstrapping) {
  if (!whole_.params().bootstrap()) GTEST_SKIP() << "no levels for it";
  for (int form = 0; form < 3; ++form) {
    SCOPED_TRACE(form);
    BootstrapOptions options;
    options.slots = 16;
    options.slot_to_coeff_first = form == 1;
    options.over_mod_raise = form == 2;
    World::Batch out[2];
    int i = 0;
    for (World* world : {&whole_, &parts_}) {
      const BootstrapWorld b(*world, options);
      const World::Values z = world->values(16, 4);
      out[i] = {b.bootstrap(world->encrypt(z, b.plan().input_level()))};
      EXPECT_GT(bits_of(world->decrypt(out[i++][0]), z), 8);
    }
    expect_equal(out[0], out[1]);
  }
  EXPECT_GT(counts_->divided, 50);
}

INSTANTIATE_TEST_SUITE_P(Sets, SplitPrograms,
                         testing::Values("test-n10-d36-w28-free-insecure",
                                         "test-n10-d35-w28-free-boot-insecure"),
                         test::preset_name);

}  // namespace
}  // namespace latticino::ckks
