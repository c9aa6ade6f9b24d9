// A function of ciphertexts, of either scheme, recorded once and replayed on fixed memory.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "ckks/ciphertext.h"
#include "ckks/evaluator/scalar_inputs.h"
#include "tfhe/ciphertext.h"
#include "tfhe/origins/origins_trace.h"

namespace latticino::session {

template <class Ciphertext>
class RecordedProgram {
 public:
  using Ciphertexts = std::vector<Ciphertext>;
  using Function = std::function<Ciphertexts(const Ciphertexts&)>;

  // `function` is called twice. One ciphertext may be the argument at several places. `numbers`:
  // the numbers that each run gets anew, if there are any. ShapeError without examples,
  // ContextError for examples of several contexts.
  RecordedProgram(const Ciphertexts& examples, const Function& function,
                  std::shared_ptr<ckks::ScalarInputs> numbers = nullptr);

  // Checks context, key and form of the arguments against the examples (ContextError, KeyError,
  // ShapeError, LevelError, ScaleError, ParameterError); gives fresh ciphertexts. `values`: of the
  // numbers.
  Ciphertexts run(const Ciphertexts& arguments, const std::vector<ckks::Complex>& values = {});

  std::uint64_t arena_bytes() const { return program_->arena_bytes(); }
  void launch() { program_->run(); }  // runs on the current content of the inputs; for measurements

 private:
  void check(const Ciphertexts& arguments) const;

  // For each argument, the first argument that is the same ciphertext. An operation on one operand
  // twice is not the same as one on two operands, because errors of two operands are independent.
  std::vector<std::size_t> firsts_;
  decltype(Ciphertext::context) context_;
  Ciphertexts inputs_, outputs_;
  tfhe::OriginsTrace trace_;  // for TFHE only
  std::shared_ptr<ckks::ScalarInputs> numbers_;
  std::unique_ptr<Program> program_;
};

extern template class RecordedProgram<ckks::Ciphertext>;
extern template class RecordedProgram<tfhe::Ciphertext>;

}  // namespace latticino::session
