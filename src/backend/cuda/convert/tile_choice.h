// The choice of a tile for a shape: the variants of tuning.h for TunedKernel::ConvertTile, and the
// rule for shapes without an entry in a table.
#pragma once

#include <algorithm>

#include "backend/tuning.h"

namespace latticino::cuda {

enum class TileKind { Wide, Deep, Narrow, Few, Teams };

struct TileVariant {
  static constexpr int kSplits = 4;  // the targets are split over up to so many blocks
  TileKind kind = TileKind::Narrow;
  int splits = 1;

  // The variant's number: 0 to 11 are kind + 3 (splits - 1) of the first three kinds, 12 to 15 are
  // Few, 16 to 19 are Teams.
  static constexpr TileVariant of(int number) {
    if (number >= kFirstTeams) return {TileKind::Teams, number - kFirstTeams + 1};
    if (number >= kFirstFew) return {TileKind::Few, number - kFirstFew + 1};
    return {static_cast<TileKind>(number % kOlder), number / kOlder + 1};
  }
  constexpr int number() const {
    if (kind == TileKind::Teams) return kFirstTeams + splits - 1;
    if (kind == TileKind::Few) return kFirstFew + splits - 1;
    return static_cast<int>(kind) + kOlder * (splits - 1);
  }

 private:
  static constexpr int kOlder = 3, kFirstFew = kOlder * kSplits, kFirstTeams = kFirstFew + kSplits;
};

struct TilePlace {
  int sources = 0, targets = 0;
  unsigned blocks = 0;  // blocks of four columns, over all items, before targets are split
  unsigned sms = 0;
  unsigned kinds = 0;  // bit k: TileKind k exists for the shape and fits

  constexpr bool has(TileKind kind) const { return (kinds >> static_cast<int>(kind) & 1) != 0; }

  // At least four targets per block. If there are few sources, eight: a round of its teams.
  constexpr int most_splits(TileKind kind) const {
    const int most = kind == TileKind::Few ? targets / 8 : (targets + 3) / 4;
    return std::clamp(most, 1, TileVariant::kSplits);
  }

  constexpr Tuning::Variants can_run() const {
    Tuning::Variants variants = 0;
    for (int k = 0; k <= static_cast<int>(TileKind::Teams); ++k) {
      const auto kind = static_cast<TileKind>(k);
      for (int splits = 1; has(kind) && splits <= most_splits(kind); ++splits) {
        variants |= 1u << TileVariant{kind, splits}.number();
      }
    }
    return variants;
  }

  // Few, Teams and Narrow have two blocks on a multiprocessor: one computes while the other loads,
  // once there are several waves. Wide tiles take the least time per column. Deep ones (one per
  // multiprocessor) fill the device with half the columns.
  constexpr TileVariant own() const {
    if (has(TileKind::Few)) return {TileKind::Few, splits_of_few()};
    if (has(TileKind::Teams) && teams_are_best())
      return {TileKind::Teams, filling(TileKind::Teams)};
    if (has(TileKind::Deep) && blocks <= sms) return {TileKind::Deep, filling(TileKind::Deep)};
    if (has(TileKind::Wide) && blocks > sms && blocks <= 2 * sms) return {TileKind::Wide, 1};
    if (has(TileKind::Narrow)) return {TileKind::Narrow, 1};
    return {has(TileKind::Teams) ? TileKind::Teams : TileKind::Deep, 1};
  }

 private:
  // One block on every multiprocessor, and not a second one, which would invert the sources once
  // more.
  constexpr int filling(TileKind kind) const {
    return std::clamp(static_cast<int>(sms / blocks), 1, most_splits(kind));
  }
  // A second block pays if each one still has two rounds of its eight teams. Two sources are
  // inverted quickly (on an H200 with two items: for 17 to 22 targets one block is 1.4 us faster;
  // for 45 targets two blocks are faster).
  constexpr int splits_of_few() const {
    const int both = std::min(static_cast<int>(2 * sms / blocks), targets / 16);
    return std::clamp(std::max(filling(TileKind::Few), both), 1, most_splits(TileKind::Few));
  }
  // As `latticino tune` found on an H200 (64 blocks per item, 132 multiprocessors). Between half a
  // wave and two waves, Deep and Wide fill the device with fewer loads of twiddles. Only a single
  // batch of targets leaves half of their warps idle.
  constexpr bool teams_are_best() const {
    if (blocks <= sms / 2) return targets <= 12;
    if (blocks <= 2 * sms) return sources <= 8 && targets <= 8;
    return sources <= 8 || targets <= 12;
  }
};

}  // namespace latticino::cuda
