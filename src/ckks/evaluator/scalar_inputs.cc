#include "ckks/evaluator/scalar_inputs.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "math/errors.h"

namespace latticino::ckks {
namespace {

constexpr std::size_t kPieceWords = 4096;  // room for about forty uses over 47 limbs
// In words, because records read memory at multiples of 16 bytes.
constexpr std::size_t kAligned = 4;

// Allows for rounding: the bounds are computed in another way than the values.
bool within(Complex z, Complex bound) {
  const double slack = 1e-9 * std::max(bound.real(), bound.imag());
  return std::isfinite(z.real()) && std::abs(z.real()) <= bound.real() + slack &&
         std::isfinite(z.imag()) && std::abs(z.imag()) <= bound.imag() + slack;
}

std::string text(Complex z) {
  return std::to_string(z.real()) + " + " + std::to_string(z.imag()) + " i";
}

}  // namespace

void ScalarInputs::set(std::size_t index, Complex value, Complex bound) {
  if (index > values_.size()) throw std::out_of_range("a number without the ones before it");
  if (index == values_.size()) {
    values_.push_back(value);
    bounds_.push_back(bound);
  } else if (values_[index] != value || bounds_[index] != bound) {
    throw UnsupportedError("record", "a function with other numbers when it is called again",
                           "the same operations at every call",
                           "make what it computes depend on its arguments alone");
  }
}

ScalarResidues ScalarInputs::use(const char* operation, std::size_t index, const Basis& basis,
                                 double scale) {
  const auto known = std::find_if(uses_.begin(), uses_.end(), [&](const Use& use) {
    return use.index == index && use.scale == scale && use.basis == basis;
  });
  if (known != uses_.end()) return {.lower = {}, .upper = {}, .stored = known->stored};
  Queue& queue = context_->queue();
  if (queue.recording()) {
    throw UnsupportedError(operation, "a number at a level that the first call did not use it at",
                           "the same operations at every call",
                           "make what it computes depend on its arguments alone");
  }
  ScalarEncoding encoding(operation, context_->ring(), basis, scale);
  Words words(2 * encoding.limbs());
  // If this does not throw, no later run may throw.
  encoding.write(bounds_.at(index), words.data());
  encoding.write(values_[index], words.data());
  const std::size_t place = words_;
  words.resize((words.size() + kAligned - 1) / kAligned * kAligned);
  std::uint32_t* stored = allocate(words.size());
  if (!queue.is_dry()) queue.copy_in(stored, words.data(), words.size() * sizeof(std::uint32_t));
  uses_.push_back({index, basis, scale, std::move(encoding), place, stored});
  return {.lower = {}, .upper = {}, .stored = stored};
}

std::uint32_t* ScalarInputs::allocate(std::size_t words) {
  constexpr std::size_t kWord = sizeof(std::uint32_t);
  if (pieces_.empty() || pieces_.back().block->bytes() < (pieces_.back().words + words) * kWord) {
    const std::size_t bytes = std::max(kPieceWords, words) * kWord;
    pieces_.push_back({context_->queue().allocate(bytes), words_, 0});
  }
  Piece& piece = pieces_.back();
  std::uint32_t* begin = piece.block->words();
  if (begin != nullptr) begin += piece.words;
  piece.words += words;
  words_ += words;
  return begin;
}

ScalarInputs::Words ScalarInputs::residues(std::span<const Complex> values) const {
  if (values.size() != values_.size()) {
    throw ShapeError("program", std::to_string(values.size()) + " numbers",
                     std::to_string(values_.size()), "pass what the program was recorded with");
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (within(values[i], bounds_[i])) continue;
    throw ValueError("program", "the number " + text(values[i]),
                     "parts of at most " + text(bounds_[i]) + ", as in the recording",
                     "record the program for a wider range");
  }
  Words out(words_);
  for (const Use& use : uses_) use.encoding.write(values[use.index], out.data() + use.place);
  return out;
}

void ScalarInputs::write(const Words& residues) const {
  for (const Piece& piece : pieces_) {
    context_->queue().copy_in(piece.block->words(), residues.data() + piece.first,
                              piece.words * sizeof(std::uint32_t));
  }
}

}  // namespace latticino::ckks
