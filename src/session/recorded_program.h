// A function of ciphertexts, of either scheme, recorded once and replayed on fixed memory.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "ckks/ciphertext.h"
#include "ckks/evaluator/scalar_inputs.h"
#include "tfhe/ciphertext.h"

namespace latticino::session {

template <class Ciphertext>
class RecordedProgram {
 public:
  using Ciphertexts = std::vector<Ciphertext>;
  using Function = std::function<Ciphertexts(const Ciphertexts&)>;

  // `function` is called twice. Arguments at several places may be one ciphertext. `numbers`: what
  // it multiplies by and adds that each run brings anew, if there is any. ShapeError without
  // examples, ContextError for those of several contexts.
  RecordedProgram(const Ciphertexts& examples, const Function& function,
                  std::shared_ptr<ckks::ScalarInputs> numbers = nullptr);

  // Checks context, key and form of the arguments against the examples (ContextError, KeyError,
  // ShapeError, LevelError, ScaleError, ParameterError); gives fresh ciphertexts. `values`: of the
  // numbers.
  Ciphertexts run(const Ciphertexts& arguments, const std::vector<ckks::Complex>& values = {});

  std::uint64_t arena_bytes() const { return program_->arena_bytes(); }
  void launch() { program_->run(); }  // on whatever the inputs hold: measurements only

 private:
  void check(const Ciphertexts& arguments) const;

  // The first argument that is the same ciphertext, for each: operations on one operand twice
  // differ from those on two, whose errors are independent.
  std::vector<std::size_t> firsts_;
  decltype(Ciphertext::context) context_;
  Ciphertexts inputs_, outputs_;
  std::shared_ptr<ckks::ScalarInputs> numbers_;
  std::unique_ptr<Program> program_;
};

extern template class RecordedProgram<ckks::Ciphertext>;
extern template class RecordedProgram<tfhe::Ciphertext>;

}  // namespace latticino::session
