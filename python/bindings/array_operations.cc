// Operations on arrays that work with encoded constants (rotations, matrices), polynomials, and
// what recordings rely on.
#include "known.h"
#include "session/ckks/matrix.h"
#include "session/ckks/polynomial.h"
#include "session/ckks/recorded.h"
#include "session/ckks/slots.h"

namespace latticino::python {
namespace {

using ckks::Evaluator;
using ckks::Polynomial;
using session::Contents;
using session::Evaluation;
using session::Known;
using session::Range;
using session::RecordedArgument;
using Complex = std::complex<double>;
using MatrixValues = nb::ndarray<const Complex, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// The cache of constants that a Python object keeps: latticino.ckks.encoding.Encodings.
class PythonConstants final : public session::Constants {
 public:
  PythonConstants(const nb::object& kept, std::string more_levels)
      : kept_(kept), more_levels_(std::move(more_levels)) {}

  ckks::Plaintext encode_named(const std::string& name,
                               const std::function<std::vector<Complex>()>& make, int level,
                               double scale) override {
    const nb::gil_scoped_acquire held;
    const nb::object values = nb::cpp_function([&make] { return to_numpy(make()); });
    return nb::cast<ckks::Plaintext>(kept_.attr("named")(name, values, level, scale));
  }

  std::shared_ptr<const ckks::MatrixProduct> matrix_product(std::span<const Complex> w, int rows,
                                                            int columns, int slots,
                                                            int level) override {
    const nb::gil_scoped_acquire held;
    const nb::ndarray<nb::numpy, const Complex, nb::ndim<2>> matrix(
        w.data(), {static_cast<std::size_t>(rows), static_cast<std::size_t>(columns)},
        nb::handle());
    const nb::object array = nb::cast(matrix, nb::rv_policy::copy);
    return nb::cast<std::shared_ptr<ckks::MatrixProduct>>(
        kept_.attr("matrix")(array, slots, level));
  }

  std::string more_levels() const override { return more_levels_; }

 private:
  const nb::object& kept_;  // a reference to an argument of the call that this object is made for
  std::string more_levels_;
};

// Whether `size` values lie row by row in the ciphertexts of x.
void require_values(const Contents& x, std::size_t size) {
  const auto slots = static_cast<std::size_t>(x.slots());
  require(size > 0 && x.parts.size() == (size + slots - 1) / slots &&
              (x.known.sample() == nullptr || x.known.sample()->size == size),
          "values that are not those of the ciphertexts");
}

void bind_slots(nb::module_& m) {
  m.def(
      "rotation_needs_masks",
      [](std::size_t size, std::size_t slots, std::size_t k) {
        require(size > 0 && slots > 0, "no values");
        return session::needs_masks(session::rotation_groups(size, slots, k));
      },
      "size"_a, "slots"_a, "k"_a, "Whether a rotation of so many values takes a level.");
  m.def(
      "rotated",
      [](const Contents& x, const Evaluator& e, std::size_t size, std::size_t k,
         const nb::object& constants, std::string more_levels) {
        require_values(x, size);
        require(k < size, "steps out of the values");
        PythonConstants kept(constants, std::move(more_levels));
        const Released release;
        const auto groups = session::rotation_groups(size, static_cast<std::size_t>(x.slots()), k);
        return session::rotated(e, x, size, k, groups, kept);
      },
      "x"_a, "evaluator"_a, "size"_a, "k"_a, "constants"_a, "more_levels"_a);
  m.def(
      "spread",
      [](const Contents& x, const Evaluator& e, std::size_t size, std::size_t columns,
         Complex factor, const nb::object& constants, std::string more_levels) {
        session::require_rows(columns, x.slots(), "spread_sum");
        require_values(x, size);
        require(size % columns == 0, "rows that do not divide the values");
        PythonConstants kept(constants, std::move(more_levels));
        const Released release;
        return session::spread(e, x, size, columns, factor, kept);
      },
      "x"_a, "evaluator"_a, "size"_a, "columns"_a, "factor"_a, "constants"_a, "more_levels"_a);
  m.def("require_rows", &session::require_rows, "columns"_a, "slots"_a, "operation"_a);
  m.def(
      "times_matrix",
      [](const Contents& x, const Evaluator& e, const MatrixValues& w, bool real,
         const nb::object& times, const nb::object& constants) {
        require_values(x, w.shape(0));
        const session::RowMap of_row = row_map(times, w.shape(1));
        PythonConstants kept(constants, "");
        const Released release;
        return session::multiplied(e, x, {{w.data(), w.size()}, w.shape(0), w.shape(1), real},
                                   of_row, kept);
      },
      "x"_a, "evaluator"_a, "matrix"_a, "real"_a, "times"_a, "constants"_a);
}

void bind_polynomials(nb::module_& m) {
  m.def("require_levels", &session::require_levels, "operation"_a, "level"_a, "polynomial"_a,
        "more_levels"_a);
  m.def("evaluation_level", &session::evaluation_level, "operation"_a, "x"_a, "polynomial"_a,
        "more_levels"_a);
  m.def(
      "steady_level",
      [](const ParamsPtr& params, int level, int levels, int depth) {
        require(level <= params->top_level() && 0 <= depth && depth <= levels, "levels");
        return session::steady_level(*params, level, levels, depth);
      },
      "params"_a, "level"_a, "levels"_a, "depth"_a);
  nb::class_<Evaluation>(m, "Evaluation", "What the evaluation of a polynomial adds to its values.")
      .def(
          "__init__",
          [](Evaluation* self, const ParamsPtr& params, int level, const Polynomial& p, int slots) {
            require(p.degree() >= 1 && p.levels() <= level && level <= params->top_level(),
                    "a level");
            new (self) Evaluation(*params, level, p, slots);
          },
          "params"_a, "level"_a, "polynomial"_a, "slots"_a)
      .def_prop_ro("name", &Evaluation::name, "The same for the same level, slots and parameters.")
      .def(
          "error",
          [](const Evaluation& how, const Range& x, const Polynomial& p) {
            return session::evaluation_error(x, p, how);
          },
          "range"_a, "polynomial"_a,
          "What it adds to values of a range, root mean square of a slot.");
  m.def(
      "evaluated",
      [](const Contents& x, const Evaluator& e, const Polynomial& p,
         const std::optional<std::pair<double, double>>& domain, const nb::object& after) {
        session::KnownAfter known;
        if (!after.is_none()) {
          known = [&after](const Known& before, const Evaluation& how) {
            const nb::gil_scoped_acquire held;
            return nb::cast<Known>(after(before, how));
          };
        }
        const Released release;
        const auto within =
            domain ? std::optional(session::Interval{domain->first, domain->second}) : std::nullopt;
        return session::evaluated(e, x, p, within, known);
      },
      "x"_a, "evaluator"_a, "polynomial"_a, "domain"_a.none(), "after"_a.none());
  m.def("leaves", &session::leaves, "x"_a, "polynomial"_a);
  m.def(
      "number_within",
      [](double reach, double low, double high) {
        require(!(reach < 0) && low <= high, "no interval");
        return session::number_within(reach, {low, high});
      },
      "reach"_a, "low"_a, "high"_a);
}

void bind_recordings(nb::module_& m) {
  nb::class_<RecordedArgument>(m, "RecordedArgument", "What a recording relies on in an argument.")
      .def_static(
          "of",
          [](const Contents& example) {
            Contents taken;
            RecordedArgument made(example, &taken);
            return std::pair(made, std::move(taken));
          },
          "example"_a, "This, and the array to record with.")
      .def("require", &RecordedArgument::require, "x"_a, "remedy"_a);
  m.def(
      "known_of_result",
      [](const Known& recorded, const std::vector<RecordedArgument>& examples,
         const std::vector<Contents*>& arguments) {
        require(examples.size() == arguments.size(), "an example for each argument");
        const std::vector<const Contents*> given(arguments.begin(), arguments.end());
        return session::known_of_result(recorded, examples, given);
      },
      "recorded"_a, "examples"_a, "arguments"_a);
}

}  // namespace

void bind_array_operations(nb::module_& m) {
  bind_slots(m);
  bind_polynomials(m);
  bind_recordings(m);
}

}  // namespace latticino::python
