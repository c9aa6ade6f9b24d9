// The numbers that a recorded program gets anew at each run. Operations read the residues of such a
// number from memory; they are written there before each run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ckks/context.h"
#include "ckks/evaluator/scalar.h"

namespace latticino::ckks {

class ScalarInputs {
 public:
  using Words = std::vector<std::uint32_t>;

  explicit ScalarInputs(std::shared_ptr<const Context> context) : context_(std::move(context)) {}

  // The number of this index, which is at most the present count: its value while the program is
  // recorded, and bounds of both parts in any run. It must be known before it is used.
  void set(std::size_t index, Complex value, Complex bound);
  std::size_t count() const { return values_.size(); }

  // Where an operation finds the residues of a number times a scale, rounded as scalar_residues()
  // does, over a basis. ScaleError if a number within the bounds would reach half the modulus.
  // UnsupportedError if a recording uses a number that the run before it did not use. A dry run
  // only counts memory.
  ScalarResidues use(const char* operation, std::size_t index, const Basis& basis, double scale);

  // The residues that write() takes, from a value for each number. ShapeError for another count of
  // numbers, ValueError for values that are not finite or exceed the bounds.
  Words residues(std::span<const Complex> values) const;
  // Writes the residues for the next run. The caller must hold the lock of the queue.
  void write(const Words& residues) const;

 private:
  struct Use {
    std::size_t index;
    Basis basis;
    double scale;
    ScalarEncoding encoding;
    std::size_t place;  // position of its words among those of all uses
    std::uint32_t* stored;
  };
  // Blocks are filled in the order of first use, so that a run copies few of them.
  struct Piece {
    Buffer block;
    std::size_t first, words;  // position among the words of all uses
  };
  std::uint32_t* allocate(std::size_t words);

  std::shared_ptr<const Context> context_;
  std::vector<Complex> values_, bounds_;
  std::vector<Use> uses_;
  std::vector<Piece> pieces_;
  std::size_t words_ = 0;
};

}  // namespace latticino::ckks
