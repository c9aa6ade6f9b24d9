#include "ckks/linear/block_transform.h"

#include "math/errors.h"
#include "support/ckks_world.h"

namespace latticino::ckks {
namespace {

constexpr double kBits = 24;
constexpr int kSlots = 512;

World& world() { return World::of("test-n10-leveled-insecure"); }

using Block = BlockTransform::Block;

// Diagonal k of block b, as encode() takes it; also used for the reference.
World::Values diagonal(std::size_t b, std::size_t k) {
  return world().values(kSlots, static_cast<unsigned>(100 * b + k + 7));
}

BlockTransform transform(const std::shared_ptr<const Context>& context,
                         const std::vector<Block>& blocks, int sources, int targets, int level) {
  BlockTransform out(context, blocks, sources, targets, kSlots, level);
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (std::size_t k = 0; k < blocks[b].rotations.size(); ++k) {
      out.encode(static_cast<int>(b), static_cast<int>(k), diagonal(b, k));
    }
  }
  return out;
}

// Two applications of the map to `sources` ciphertexts each, compared with the same on plain
// values.
void expect_blocks(const std::vector<Block>& blocks, int sources, int targets, int level,
                   World& w = world()) {
  std::vector<World::Values> in;
  std::vector<Ciphertext> x;
  for (int i = 0; i < 2 * sources; ++i) {
    in.push_back(world().values(kSlots, static_cast<unsigned>(50 + i)));
    x.push_back(w.encrypt(in.back(), level));
  }
  const World::Batch y = w.run(
      [&](const Evaluator& e, const World::Batch& c) {
        return transform(e.context(), blocks, sources, targets, level).apply(e, c);
      },
      x);
  ASSERT_EQ(y.size(), 2u * targets);
  for (int k = 0; k < 2 * targets; ++k) {
    World::Values want(kSlots);
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      if (blocks[b].target != k % targets) continue;
      for (std::size_t d = 0; d < blocks[b].rotations.size(); ++d) {
        const World::Values v = diagonal(b, d);
        const World::Values r =
            rotated(in[k / targets * sources + blocks[b].source], blocks[b].rotations[d]);
        for (int i = 0; i < kSlots; ++i) want[i] += v[i] * r[i];
      }
    }
    EXPECT_EQ(y[k].level, level - 1);
    EXPECT_EQ(y[k].scale, w.params().scale(level - 1));
    EXPECT_GT(bits_of(w.decrypt(y[k]), want), kBits);
  }
}

TEST(CkksBlockTransform, BlocksOfSeveralSourcesAndTargets) {
  expect_blocks({{0, 0, {0, 1, 2, 511}}, {0, 2, {5, 64, 300}}, {1, 1, {0}}, {2, 0, {7, 9, 130}}}, 3,
                3, 3);
}

TEST(CkksBlockTransform, AtLevelsOfBands) {
  World& w = World::of("test-n10-bands-insecure");
  for (const int level : {2, 3, 5, 7}) {
    expect_blocks({{0, 0, {0, 1, 2, 511}}, {0, 1, {5, 64, 300}}, {1, 1, {0}}}, 2, 2, level, w);
  }
}

TEST(CkksBlockTransform, OneSourceToManyTargetsAndBack) {
  expect_blocks({{0, 0, {1, 17, 33}}, {1, 0, {2, 18}}, {2, 0, {-3}}}, 1, 3, 2);
  expect_blocks({{0, 0, {1, 17, 33}}, {0, 1, {2, 18}}, {0, 2, {-3}}}, 3, 1, 2);
}

TEST(CkksBlockTransform, NoRotationNeedsNoKey) {
  const std::vector<Block> blocks = {{0, 0, {0}}, {0, 1, {0}}, {1, 1, {0}}};
  EXPECT_TRUE(BlockTransform(world().context(), blocks, 2, 2, kSlots, 2).rotations().empty());
  expect_blocks(blocks, 2, 2, 2);
}

TEST(CkksBlockTransform, RotationsAreThoseOfTheUnion) {
  const BlockTransform t(world().context(), {{0, 0, {0, 1, 2, 3}}, {1, 0, {0, 1, 2, 3}}}, 1, 2,
                         kSlots, 2);
  EXPECT_EQ(t.rotations(), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(t.babies(), 3);
  EXPECT_EQ(t.giants(), 0);
  EXPECT_EQ(t.diagonals(), 8u);
}

// 64 rotations 127 apart, around the circle: as few steps as for 64 neighbours.
TEST(CkksBlockTransform, RotationsAnyDistanceApart) {
  Block block, neighbours;
  for (int k = 0; k < 64; ++k) {
    block.rotations.push_back(127 * k % kSlots);
    neighbours.rotations.push_back(k);
  }
  const auto made = [&](const Block& b) {
    return BlockTransform(world().context(), {b}, 1, 1, kSlots, 2);
  };
  EXPECT_EQ(made(block).babies(), made(neighbours).babies());
  EXPECT_EQ(made(block).giants(), made(neighbours).giants());
  EXPECT_LT(made(block).rotations().size(), 24u);
  expect_blocks({block}, 1, 1, 2);
  expect_blocks({{0, 0, {508, 3, 6, 9, 12, 100}}}, 1, 1, 2);
}

TEST(CkksBlockTransform, WhatDoesNotFitIsRefused) {
  const auto made = [&](std::vector<Block> blocks, int sources, int targets) {
    return BlockTransform(world().context(), std::move(blocks), sources, targets, kSlots, 2);
  };
  EXPECT_THROW(made({}, 1, 1), ShapeError);
  EXPECT_THROW(made({{0, 0, {0}}}, 1, 2), ShapeError);               // target 1 gets no values
  EXPECT_THROW(made({{0, 1, {0}}}, 1, 1), ShapeError);               // there is no such source
  EXPECT_THROW(made({{0, 0, {0}}, {0, 0, {1}}}, 1, 1), ShapeError);  // the same block twice
  EXPECT_THROW(made({{0, 0, {1, 1 + kSlots}}}, 1, 1), ShapeError);   // the same rotation twice
  BlockTransform t = made({{0, 0, {0, 1}}}, 1, 1);
  EXPECT_THROW(t.encode(0, 1, World::Values(2 * kSlots)), ShapeError);
  EXPECT_THROW(t.encode(1, 0, World::Values(kSlots)), ShapeError);
  EXPECT_THROW(t.encode(1, 0, {}), ShapeError);  // there is no such block
  t.encode(0, 0, World::Values(kSlots));
  const Evaluator e(world().context(), nullptr);
  const Ciphertext x = world().encrypt(world().values(kSlots), 2);
  EXPECT_THROW(t.apply(e, {&x, 1}), ShapeError);  // a diagonal is missing
}

}  // namespace
}  // namespace latticino::ckks
