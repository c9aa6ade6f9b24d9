#include "session/recorded_program.h"

#include <algorithm>
#include <optional>
#include <string>

#include "math/errors.h"
#include "session/ckks/host.h"
#include "session/tfhe/engine.h"

namespace latticino::session {
namespace {

// The properties of an argument that replays rely on, apart from its context and key.
void check_form(const ckks::Ciphertext& had, const ckks::Ciphertext& needs) {
  if (had.level != needs.level) {
    throw LevelError("program", "level " + std::to_string(had.level),
                     "level " + std::to_string(needs.level), "bring it there with to_level");
  }
  if (had.scale != needs.scale) {
    throw ScaleError("program", "scale " + std::to_string(had.scale),
                     "scale " + std::to_string(needs.scale), "use the scale it was recorded with");
  }
  if (had.slots != needs.slots || had.parts.size() != needs.parts.size()) {
    throw ShapeError("program", had.str(), needs.str(), "record the program for this shape");
  }
}

void check_form(const tfhe::Ciphertext& had, const tfhe::Ciphertext& needs) {
  if (had.encoding != needs.encoding) {
    throw ParameterError("program", had.str(), needs.str(), "record the program for this encoding");
  }
  if (had.size() != needs.size()) {
    throw ShapeError("program", had.str(), needs.str(), "record the program for this shape");
  }
  // Failure probabilities and room for carries hold only for arguments with at most the noise of
  // the recording.
  if (had.norm2 > needs.norm2 || had.largest > needs.largest) {
    throw LevelError("program", had.str(), "at most the sum and messages of " + needs.str(),
                     "bootstrap it, or record the program with such an argument");
  }
}

std::vector<std::size_t> firsts(const std::vector<ckks::Ciphertext>& x) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < x.size(); ++i) out.push_back(i);
  return out;
}

std::vector<std::size_t> firsts(const std::vector<tfhe::Ciphertext>& x) {
  std::vector<std::size_t> out;
  for (const tfhe::Ciphertext& y : x) {
    const auto same = [&](const tfhe::Ciphertext& z) { return tfhe::same(z, y); };
    out.push_back(static_cast<std::size_t>(std::find_if(x.begin(), x.end(), same) - x.begin()));
  }
  return out;
}

// Different ciphertexts, and elements of one batch, may have the same error. The noise of sums in
// the recording depends on which did.
using Images = std::optional<tfhe::OriginsTrace::Images>;
Images images_of(const tfhe::OriginsTrace&, const std::vector<ckks::Ciphertext>&,
                 const std::vector<ckks::Ciphertext>&) {
  return {};
}

Images images_of(const tfhe::OriginsTrace& trace, const std::vector<tfhe::Ciphertext>& examples,
                 const std::vector<tfhe::Ciphertext>& arguments) {
  std::vector<const tfhe::Origins*> needs, had;
  for (const tfhe::Ciphertext& x : examples) needs.push_back(&x.origins);
  for (const tfhe::Ciphertext& x : arguments) had.push_back(&x.origins);
  Images images = trace.images(needs, had);
  if (images) return images;
  throw ParameterError("program",
                       "arguments, or elements of them, computed from one ciphertext, which the "
                       "program adds",
                       "independent ones, as in the recording",
                       "record the program with such arguments");
}

// A fresh copy: the next replay overwrites the memory of this one.
void set_origins(ckks::Ciphertext&, const Images&) {}
void set_origins(tfhe::Ciphertext& x, const Images& images) { x.origins = images->of(x.origins); }

}  // namespace

template <class Ciphertext>
RecordedProgram<Ciphertext>::RecordedProgram(const Ciphertexts& examples, const Function& function,
                                             std::shared_ptr<ckks::ScalarInputs> numbers)
    : firsts_(firsts(examples)), numbers_(std::move(numbers)) {
  if (examples.empty()) {
    throw ShapeError("record", "no inputs", "at least one ciphertext", "pass an example of each");
  }
  context_ = examples.front().context;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    if (examples[i].context != context_) {
      throw ContextError("record", "inputs of several contexts", "one context",
                         "encrypt all inputs in the same context");
    }
    if (firsts_[i] < i) {
      inputs_.push_back(inputs_[firsts_[i]]);
      continue;
    }
    inputs_.push_back(allocate_like(examples[i]));
    copy_into(examples[i], inputs_.back());
  }
  program_ = std::make_unique<Program>(context_->queue().record([&] {
    trace_.clear();
    const tfhe::OriginsTrace::Open noted(trace_);
    outputs_ = function(inputs_);
  }));
}

template <class Ciphertext>
typename RecordedProgram<Ciphertext>::Ciphertexts RecordedProgram<Ciphertext>::run(
    const Ciphertexts& arguments, const std::vector<ckks::Complex>& values) {
  check(arguments);
  const Images images = images_of(trace_, inputs_, arguments);
  // On the host while an earlier run may still compute.
  const auto residues =
      numbers_ == nullptr ? ckks::ScalarInputs::Words() : numbers_->residues(values);
  // The inputs and outputs belong to the program, so runs of other threads must not come between.
  const auto alone = context_->queue().lock();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (firsts_[i] == i) copy_into(arguments[i], inputs_[i]);
  }
  if (numbers_ != nullptr) numbers_->write(residues);
  program_->run();
  Ciphertexts results;
  for (const Ciphertext& x : outputs_) {
    results.push_back(allocate_like(x));
    copy_into(x, results.back());
    set_origins(results.back(), images);
  }
  return results;
}

template <class Ciphertext>
void RecordedProgram<Ciphertext>::check(const Ciphertexts& arguments) const {
  if (arguments.size() != inputs_.size()) {
    throw ShapeError("program", std::to_string(arguments.size()) + " ciphertexts",
                     std::to_string(inputs_.size()), "pass what the program was recorded with");
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Ciphertext &had = arguments[i], &needs = inputs_[i];
    if (had.context != needs.context) {
      throw ContextError("program", "a ciphertext of another context", "the recorded context",
                         "encrypt it there");
    }
    if (had.key != needs.key) {
      throw KeyError("program", "a ciphertext under key " + had.key.str(), "key " + needs.key.str(),
                     "record the program again for this key");
    }
    check_form(had, needs);
  }
  if (firsts(arguments) != firsts_) {
    throw ParameterError("program", "one ciphertext as several arguments",
                         "the same ones as in the recording",
                         "record the program with such arguments");
  }
}

template class RecordedProgram<ckks::Ciphertext>;
template class RecordedProgram<tfhe::Ciphertext>;

}  // namespace latticino::session
