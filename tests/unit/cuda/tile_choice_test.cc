// The choice of the tile for a conversion (backend/cuda/convert/tile_choice.h).
#include "backend/cuda/convert/tile_choice.h"

#include <gtest/gtest.h>

namespace latticino::cuda {
namespace {

constexpr unsigned bit(TileKind kind) { return 1u << static_cast<int>(kind); }

// N = 2^16 on an H200, with the kinds that convert/convert.cu has for so many sources.
TilePlace place(int sources, int targets, int items) {
  unsigned kinds = bit(TileKind::Deep);
  if (sources <= 12) kinds |= bit(TileKind::Wide);
  if (sources > 8) kinds |= bit(TileKind::Narrow);
  if (sources <= 4) kinds |= bit(TileKind::Few);
  if (sources <= 16) kinds |= bit(TileKind::Teams);
  return {sources, targets, 64u * static_cast<unsigned>(items), 132, kinds};
}
int own(int sources, int targets, int items) {
  return place(sources, targets, items).own().number();
}

TEST(TileChoice, NumbersOfVariantsStayAsTablesHaveThem) {
  EXPECT_EQ((TileVariant{TileKind::Wide, 1}.number()), 0);
  EXPECT_EQ((TileVariant{TileKind::Deep, 2}.number()), 4);
  EXPECT_EQ((TileVariant{TileKind::Narrow, 4}.number()), 11);
  EXPECT_EQ((TileVariant{TileKind::Few, 1}.number()), 12);
  EXPECT_EQ((TileVariant{TileKind::Teams, 1}.number()), 16);
  for (int v = 0; v < 20; ++v) EXPECT_EQ(TileVariant::of(v).number(), v);
}

TEST(TileChoice, OnlyWhatExistsAndHasTargetsEnoughCanRun) {
  EXPECT_EQ(place(5, 4, 1).can_run(), 0x10003u);   // one part only; no Narrow, no Few
  EXPECT_EQ(place(12, 5, 1).can_run(), 0x3003fu);  // two parts of the three older, and of Teams
  EXPECT_EQ(place(2, 45, 2).can_run(), 0xff6dbu);  // everything but Narrow
  EXPECT_EQ(place(3, 13, 2).can_run(), 0xf16dbu);  // Few not in parts of less than eight
  EXPECT_EQ(place(17, 13, 1).can_run(), 0xdb6u);   // neither Wide nor Teams
  TilePlace small = place(5, 13, 1);
  small.kinds = bit(TileKind::Narrow);  // as at other degrees
  EXPECT_EQ(small.can_run(), 0x924u);
  EXPECT_EQ(small.own().number(), 2);
}

// There, Deep tiles are used for all but the few sources (convert/convert.cu).
TEST(TileChoice, WithoutMatrixUnitsWhatIsLeftCanRun) {
  for (const int items : {1, 2, 3, 32}) {
    TilePlace deep = place(12, 47, items);
    deep.kinds = bit(TileKind::Deep);
    EXPECT_EQ(deep.own().number(), items == 1 ? 4 : 1) << items;
    EXPECT_NE(deep.can_run() >> deep.own().number() & 1, 0u) << items;
    TilePlace few = place(2, 45, items);
    few.kinds = bit(TileKind::Deep) | bit(TileKind::Few);
    EXPECT_EQ(TileVariant::of(few.own().number()).kind, TileKind::Few) << items;
  }
}

// The fastest of all variants by `latticino tune` on an H200.
TEST(TileChoice, TheRuleIsWhatWasMeasured) {
  for (const int targets : {3, 10, 17, 22}) EXPECT_EQ(own(3, targets, 2), 12) << targets;
  for (const int items : {1, 4, 32}) EXPECT_EQ(own(3, 3, items), 12) << items;
  EXPECT_EQ(own(2, 35, 4), 12);
  EXPECT_EQ(own(2, 45, 2), 13);
  for (const int limbs : {5, 6, 7}) {
    EXPECT_EQ(own(limbs, limbs, 1), 17) << limbs;
    for (const int items : {2, 4, 8, 32}) EXPECT_EQ(own(limbs, limbs, items), 16) << limbs;
  }
  for (const int limbs : {9, 10, 11}) {
    EXPECT_EQ(own(limbs, limbs, 1), 17) << limbs;
    EXPECT_EQ(own(limbs, limbs, 2), 1) << limbs;
    EXPECT_EQ(own(limbs, limbs, 4), 0) << limbs;
    for (const int items : {8, 16, 32}) EXPECT_EQ(own(limbs, limbs, items), 16) << limbs;
  }
  const int others[][4] = {{6, 2, 2, 16},   {8, 20, 2, 1},   {8, 20, 4, 0},  {8, 20, 8, 16},
                           {10, 22, 8, 2},  {11, 23, 16, 2}, {12, 13, 2, 1}, {12, 13, 8, 2},
                           {12, 24, 6, 2},  {12, 41, 1, 4},  {12, 47, 2, 1}, {12, 47, 4, 0},
                           {13, 12, 1, 17}, {13, 12, 2, 1},  {13, 12, 4, 2}, {13, 12, 8, 16},
                           {14, 25, 4, 2},  {14, 39, 2, 1},  {16, 15, 2, 1}};
  for (const auto& x : others) {
    EXPECT_EQ(own(x[0], x[1], x[2]), x[3]) << x[0] << " " << x[1] << " " << x[2];
  }
}

// On any device the choice fits, as long as any tile does.
TEST(TileChoice, TheRuleChoosesWhatCanRun) {
  for (unsigned kinds = 1; kinds < 32; ++kinds) {
    if ((kinds & (bit(TileKind::Narrow) | bit(TileKind::Teams))) == 0) continue;
    for (const unsigned sms : {16u, 108u, 132u, 300u, 2000u}) {
      for (int targets = 1; targets <= 60; ++targets) {
        for (const int items : {1, 2, 5, 36}) {
          const TilePlace p{4, targets, 64u * static_cast<unsigned>(items), sms, kinds};
          ASSERT_TRUE(p.can_run() >> p.own().number() & 1) << kinds << " " << sms << " " << targets;
        }
      }
    }
  }
}

}  // namespace
}  // namespace latticino::cuda
