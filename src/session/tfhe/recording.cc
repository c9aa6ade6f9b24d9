// Recorded programs of encrypted booleans and integers.
#include "math/errors.h"
#include "session/recorded_program.h"
#include "session/tfhe/state.h"

namespace latticino {
namespace session {

// The recorded program checks keys, encodings and noise of the arguments that it replays.
class TfheRecordedArrays {
 public:
  TfheRecordedArrays(const detail::TfheFunction& program, std::span<const TfheArray> examples);
  std::vector<TfheArray> run(std::span<const TfheArray> arguments);
  std::uint64_t arena_bytes() const { return program_->arena_bytes(); }

 private:
  struct Form {
    std::size_t size = 0, parts = 0;
    int bits = 0;
    bool operator==(const Form&) const = default;
  };
  static Form form_of(const TfheArrayState& x) { return {x.size(), x.parts().size(), x.bits}; }
  void require_own(std::span<const TfheArray> arrays, const char* operation) const;

  std::shared_ptr<TfheContextState> context_;
  KeyStore::Pin keys_;  // the recording's operations read them at every run
  std::vector<Form> forms_, results_;
  std::unique_ptr<RecordedProgram<tfhe::Ciphertext>> program_;
};

TfheRecordedArrays::TfheRecordedArrays(const detail::TfheFunction& program,
                                       std::span<const TfheArray> examples) {
  context_ = state(examples[0]).context;
  require_own(examples, "record");
  if (context_->host()->dry()) {
    throw UnsupportedError("record", "a program that is planned", "a program that runs",
                           "record it outside of the plan");
  }
  keys_ = context_->keys().at(state(examples[0]).key())->hold();
  // An engine without keys is made here, so that this is no part of the recording.
  state(examples[0]).engine();
  TfheBatches parts;
  for (const TfheArray& example : examples) {
    const TfheBatches& own = state(example).parts();
    forms_.push_back(form_of(state(example)));
    parts.insert(parts.end(), own.begin(), own.end());
  }
  program_ = std::make_unique<RecordedProgram<tfhe::Ciphertext>>(parts, [&](const TfheBatches& in) {
    const Scope::Entered scope;
    std::vector<TfheArray> arrays;
    auto next = in.begin();
    for (const Form& form : forms_) {
      const auto end = next + static_cast<std::ptrdiff_t>(form.parts);
      arrays.push_back(tfhe_array(context_, TfheBatches(next, end), form.bits));
      next = end;
    }
    TfheBatches out;
    results_.clear();
    for (const TfheArray& result : program(arrays)) {
      const TfheArrayState& r = state(result);
      results_.push_back(form_of(r));
      out.insert(out.end(), r.parts().begin(), r.parts().end());
    }
    return out;
  });
}

void TfheRecordedArrays::require_own(std::span<const TfheArray> arrays,
                                     const char* operation) const {
  for (const TfheArray& x : arrays) {
    if (state(x).context == context_) continue;
    throw ContextError(operation, "arguments of several contexts or sessions",
                       "those of one, the recording's",
                       "record a program for each session, or adopt the arguments");
  }
}

std::vector<TfheArray> TfheRecordedArrays::run(std::span<const TfheArray> arguments) {
  require_own(arguments, "program");
  TfheBatches parts;
  std::vector<Form> forms;
  for (const TfheArray& x : arguments) {
    const TfheBatches& own = state(x).parts();
    forms.push_back(form_of(state(x)));
    parts.insert(parts.end(), own.begin(), own.end());
  }
  if (forms != forms_) {
    throw ShapeError("program", "arguments of other lengths or types", "those of the recording",
                     "pass such arguments, or record it again");
  }
  TfheBatches made = program_->run(parts);
  std::vector<TfheArray> out;
  auto next = made.begin();
  for (const Form& form : results_) {
    const auto end = next + static_cast<std::ptrdiff_t>(form.parts);
    out.push_back(tfhe_array(context_, TfheBatches(next, end), form.bits));
    next = end;
  }
  return out;
}

}  // namespace session

detail::TfheRecorded::TfheRecorded(const TfheFunction& program, std::span<const TfheArray> examples)
    : state_(std::make_shared<session::TfheRecordedArrays>(program, examples)) {}
std::vector<TfheArray> detail::TfheRecorded::run(std::span<const TfheArray> arguments) const {
  return state_->run(arguments);
}
std::uint64_t detail::TfheRecorded::arena_bytes() const { return state_->arena_bytes(); }

}  // namespace latticino
