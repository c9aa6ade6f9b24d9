// The numbers that a recorded program is given anew at every run. Operations that use one read its
// residues from memory, where they are written before each run.
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

  // The number of this index (at most one more than there are): its value while the program is
  // recorded, and bounds of the sizes of both parts, in any run. Known before it is used.
  void set(std::size_t index, Complex value, Complex bound);
  std::size_t count() const { return values_.size(); }

  // Where an operation finds the residues of a number over a basis, times a scale and rounded as
  // scalar_residues() does it. ScaleError where a number within the bounds would reach half the
  // modulus; UnsupportedError for a use in a recording that the run before it did not have. In a
  // dry run memory alone is counted.
  ScalarResidues use(const char* operation, std::size_t index, const Basis& basis, double scale);

  // What write() takes, of a value for each number. ShapeError for another count, ValueError for
  // values that are not finite or exceed the bounds.
  Words residues(std::span<const Complex> values) const;
  // The residues that the next run finds; the caller holds the queue.
  void write(const Words& residues) const;

 private:
  struct Use {
    std::size_t index;
    Basis basis;
    double scale;
    ScalarEncoding encoding;
    std::size_t place;  // of its words among those of all uses
    std::uint32_t* stored;
  };
  // Blocks are filled from the first use on, so that a run copies few of them.
  struct Piece {
    Buffer block;
    std::size_t first, words;  // among those of all uses
  };
  std::uint32_t* allocate(std::size_t words);

  std::shared_ptr<const Context> context_;
  std::vector<Complex> values_, bounds_;
  std::vector<Use> uses_;
  std::vector<Piece> pieces_;
  std::size_t words_ = 0;
};

}  // namespace latticino::ckks
