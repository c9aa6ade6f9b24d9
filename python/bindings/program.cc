// A Python function turned into a program that replays on fixed memory.
#include "bindings.h"
#include "math/errors.h"

namespace latticino::python {
namespace {

using ckks::Ciphertext;
using Ciphertexts = std::vector<Ciphertext>;

class RecordedProgram {
 public:
  // `function` maps a list of ciphertexts to a list of ciphertexts; it is called twice.
  RecordedProgram(const Ciphertexts& examples, const nb::callable& function) {
    if (examples.empty()) {
      throw ShapeError("record", "no inputs", "at least one ciphertext", "pass an example of each");
    }
    context_ = examples.front().context;
    for (const Ciphertext& x : examples) {
      if (x.context != context_) {
        throw ContextError("record", "inputs of several contexts", "one context",
                           "encrypt all inputs in the same context");
      }
      inputs_.push_back(allocate_like(x));
      copy_into(x, inputs_.back());
    }
    nb::gil_scoped_release release;
    program_ = std::make_unique<Program>(context_->queue().record([&] {
      nb::gil_scoped_acquire acquire;
      outputs_ = nb::cast<Ciphertexts>(function(inputs_));
    }));
  }

  Ciphertexts run(const Ciphertexts& arguments) {
    if (arguments.size() != inputs_.size()) {
      throw ShapeError("program", std::to_string(arguments.size()) + " ciphertexts",
                       std::to_string(inputs_.size()), "pass what the program was recorded with");
    }
    for (std::size_t i = 0; i < arguments.size(); ++i) check(arguments[i], inputs_[i]);
    // Inputs and outputs are the program's own: no other thread's run may come between.
    const auto alone = context_->queue().lock();
    for (std::size_t i = 0; i < arguments.size(); ++i) copy_into(arguments[i], inputs_[i]);
    program_->run();
    Ciphertexts results;
    for (const Ciphertext& x : outputs_) {
      results.push_back(allocate_like(x));
      copy_into(x, results.back());
    }
    return results;
  }

  std::uint64_t arena_bytes() const { return program_->arena_bytes(); }
  void launch() { program_->run(); }  // on whatever the inputs hold: measurements only

 private:
  static void check(const Ciphertext& had, const Ciphertext& needs) {
    if (had.context != needs.context) {
      throw ContextError("program", "a ciphertext of another context", "the recorded context",
                         "encrypt it there");
    }
    if (had.key != needs.key) {
      throw KeyError("program", "a ciphertext under key " + had.key.str(), "key " + needs.key.str(),
                     "record the program again for this key");
    }
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

  ContextPtr context_;
  Ciphertexts inputs_, outputs_;
  std::unique_ptr<Program> program_;
};

}  // namespace

void bind_program(nb::module_& m) {
  nb::class_<RecordedProgram>(m, "RecordedProgram", "Replays a recorded function.")
      .def(nb::init<const Ciphertexts&, const nb::callable&>(), "examples"_a, "function"_a)
      .def("run", &RecordedProgram::run, "arguments"_a, ReleaseGil())
      .def("launch", &RecordedProgram::launch, ReleaseGil())
      .def_prop_ro("arena_bytes", &RecordedProgram::arena_bytes);
}

}  // namespace latticino::python
