// Linear maps of the slots of several ciphertexts, the sources, to those of several others, the
// targets: a sparse matrix whose blocks are given by diagonals. For example a convolution whose
// channels fill four ciphertexts has up to 16 blocks.
//
// All blocks share baby-step giant-step: every source is raised once, its baby rotations serve all
// targets, and every target is divided by P once (ckks/linear/hoisting.h).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "ckks/evaluator/evaluator.h"

namespace latticino::ckks {

class BlockTransform {
 public:
  struct Block {
    int target = 0, source = 0;
    std::vector<int> rotations;  // diagonal k multiplies the source rotated left by rotations[k]
  };
  // Values are given later, by encode(). Rotations are taken modulo `slots`. A block must occur
  // only once, and so must a rotation in it. Every target must have a block. `level`: of the
  // inputs. `compact`: diagonals are kept as integers, and expanded by each apply(). Throws
  // ShapeError, LevelError.
  BlockTransform(const std::shared_ptr<const Context>& context, std::vector<Block> blocks,
                 int sources, int targets, int slots, int level, bool compact = false);
  ~BlockTransform();
  BlockTransform(BlockTransform&&) noexcept;
  BlockTransform& operator=(BlockTransform&&) noexcept;

  // The diagonals `first`, first + 1 .. of a block: `values` holds slots numbers for each. A
  // diagonal whose values have a short period takes as much less memory (encode_factors).
  void encode(int block, int first, std::span<const Complex> values);
  // In a dry run: the same for `count` diagonals of which no value is known, nor any short period.
  // ContextError on a queue that computes.
  void encode_unknown(int block, int first, int count);
  // `x`: all sources one after another, for one application or several. Returns the targets in the
  // same order, one level lower. ShapeError before all diagonals are encoded; ScaleError for
  // sources of two scales.
  std::vector<Ciphertext> apply(const Evaluator& evaluator, std::span<const Ciphertext> x) const;

  std::vector<int> rotations() const;  // rotations of all keys that apply() uses
  int babies() const;                  // number of rotations of the sources
  int giants() const;                  // number of rotations of sums, over all targets
  std::size_t diagonals() const;
  std::size_t bytes() const;  // bytes of the diagonals, as they are stored
  // Bytes of the rotated sources and sums of one application, about.
  std::size_t working_bytes() const;

 private:
  void place(int block, int first, std::size_t count, std::span<const Complex> values);
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

}  // namespace latticino::ckks
