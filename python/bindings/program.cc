// Python functions turned into programs that replay on fixed memory.
#include <algorithm>

#include "bindings.h"
#include "math/errors.h"
#include "tfhe.h"

namespace latticino::python {
namespace {

// What replays take for granted of an argument, beside its context and key.
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
  // The recording's failure probabilities, and its room for carries, hold for no more than this.
  if (had.norm2 > needs.norm2 || had.largest > needs.largest) {
    throw LevelError("program", had.str(), "at most the sum and messages of " + needs.str(),
                     "bootstrap it, or record the program with such an argument");
  }
}

// The first argument that is the same ciphertext, for each: operations on one operand twice differ
// from those on two, whose errors are independent.
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

// Arguments that are different ciphertexts may hold one error: the recording took the noise of its
// sums from which did.
void check_origins(const std::vector<ckks::Ciphertext>&, const std::vector<ckks::Ciphertext>&) {}

void check_origins(const std::vector<tfhe::Ciphertext>& had,
                   const std::vector<tfhe::Ciphertext>& needs) {
  for (std::size_t i = 0; i < had.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!overlap(had[i].origins, had[j].origins) ||
          overlap(needs[i].origins, needs[j].origins)) {
        continue;
      }
      throw ParameterError("program", "arguments computed from one ciphertext",
                           "independent ones, as in the recording",
                           "record the program with such arguments");
    }
  }
}

// What a replay gives is not what another one gave.
void set_origins(ckks::Ciphertext&, const std::vector<ckks::Ciphertext>&) {}

void set_origins(tfhe::Ciphertext& x, const std::vector<tfhe::Ciphertext>& arguments) {
  std::uint64_t salt = 0;
  for (const tfhe::Ciphertext& y : arguments) salt = 31 * salt + y.origins.sum();
  x.origins = x.origins.salted(salt);
}

template <class Ciphertext>
class RecordedProgram {
 public:
  using Ciphertexts = std::vector<Ciphertext>;

  // `function` maps a list of ciphertexts to a list of ciphertexts; it is called twice.
  RecordedProgram(const Ciphertexts& examples, const nb::callable& function)
      : firsts_(firsts(examples)) {
    if (examples.empty()) {
      throw ShapeError("record", "no inputs", "at least one ciphertext", "pass an example of each");
    }
    context_ = examples.front().context;
    // Before anything waits for the queue: a thread that records holds it while it waits for the GIL.
    const Released release;
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
      nb::gil_scoped_acquire acquire;
      outputs_ = nb::cast<Ciphertexts>(function(inputs_));
    }));
  }

  Ciphertexts run(const Ciphertexts& arguments) {
    check(arguments);
    // Inputs and outputs are the program's own: no other thread's run may come between.
    const auto alone = context_->queue().lock();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (firsts_[i] == i) copy_into(arguments[i], inputs_[i]);
    }
    program_->run();
    Ciphertexts results;
    for (const Ciphertext& x : outputs_) {
      results.push_back(allocate_like(x));
      copy_into(x, results.back());
      set_origins(results.back(), arguments);
    }
    return results;
  }

  std::uint64_t arena_bytes() const { return program_->arena_bytes(); }
  void launch() { program_->run(); }  // on whatever the inputs hold: measurements only

 private:
  void check(const Ciphertexts& arguments) const {
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
        throw KeyError("program", "a ciphertext under key " + had.key.str(),
                       "key " + needs.key.str(), "record the program again for this key");
      }
      check_form(had, needs);
    }
    check_origins(arguments, inputs_);
    if (firsts(arguments) != firsts_) {
      throw ParameterError("program", "one ciphertext as several arguments",
                           "the same ones as in the recording",
                           "record the program with such arguments");
    }
  }

  std::vector<std::size_t> firsts_;
  decltype(Ciphertext::context) context_;
  Ciphertexts inputs_, outputs_;
  std::unique_ptr<Program> program_;
};

template <class Ciphertext>
void bind_recorded(nb::module_& m, const char* name, const char* doc) {
  using P = RecordedProgram<Ciphertext>;
  nb::class_<P>(m, name, doc)
      .def(nb::init<const std::vector<Ciphertext>&, const nb::callable&>(), "examples"_a,
           "function"_a)
      .def("run", &P::run, "arguments"_a, ReleaseGil())
      .def("launch", &P::launch, ReleaseGil())
      .def_prop_ro("arena_bytes", &P::arena_bytes);
}

}  // namespace

void bind_program(nb::module_& m) {
  bind_recorded<ckks::Ciphertext>(m, "RecordedProgram", "Replays a recorded function.");
  bind_recorded<tfhe::Ciphertext>(m, "TfheRecordedProgram",
                                  "Replays a recorded function of TFHE ciphertexts.");
}

}  // namespace latticino::python
