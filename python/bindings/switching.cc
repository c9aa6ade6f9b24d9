// Switching between CKKS and TFHE: tables of functions on every slot.
#include "io/switch_files.h"
#include "signing.h"
#include "switch/route.h"

#include <nanobind/stl/function.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include "client.h"
#include "context.h"
#include "session/ckks/host.h"

namespace latticino::python {
namespace {

using switching::MatvecShape;
using switching::Switcher;
using switching::SwitchKeys;
using switching::Table;
using SwitchContextPtr = std::shared_ptr<const switching::Context>;

nb::dict dict_of(const switching::TableReport& report) {
  nb::dict out;
  out["argument"] = report.argument;
  out["mean"] = report.mean;
  out["deviation"] = report.deviation;
  out["packed"] = report.packed;
  out["largest"] = report.largest;
  return out;
}

using Shapes = std::vector<std::pair<int, int>>;
std::vector<MatvecShape> shapes_of(const Shapes& pairs) {
  std::vector<MatvecShape> out;
  for (const auto& [rows, slots] : pairs) out.push_back({rows, slots});
  return out;
}

// Bytes of the keys of route Matvec, by rows and slots.
nb::dict products(const SwitchKeys& keys) {
  nb::dict out;
  for (const auto& [shape, key] : keys.matvec) {
    out[nb::make_tuple(shape.rows, shape.slots)] = key.bytes();
  }
  return out;
}

// The cheaper way back: route, slots of its product (0: route ring), seconds, bytes of keys.
std::tuple<std::string, int, double, std::uint64_t> choose(const switching::Context& context,
                                                           int slots, bool minimal_keys,
                                                           const std::string& route,
                                                           const std::string& kernels, int threads,
                                                           std::uint64_t budget) {
  switching::SwitchOptions options;
  options.slots = slots;
  options.minimal_keys = minimal_keys;
  options.route = switching::route_of(route);
  const switching::RouteCost best =
      switching::choose_route(context.shared_params(), options, session::rates_of(kernels), threads,
                              budget)
          .best;
  return {switching::name(best.route), best.shape.slots, best.seconds, best.key_bytes};
}

void bind_keys_of_switching(nb::module_& m) {
  nb::class_<switching::Context>(m, "SwitchContext", "Both schemes on one device.")
      .def_static(
          "create",
          [](const std::string& name, const ContextPtr& context) {
            return switching::Context::create(switch_preset(name), context);
          },
          "name"_a, "context"_a, ReleaseGil())
      .def("explain", [](const switching::Context& c) { return c.params().explain(); })
      .def("choose_route", &choose, "slots"_a, "minimal_keys"_a, "route"_a, "kernels"_a,
           "threads"_a, "budget"_a = switching::kMatvecKeyBudget, ReleaseGil());
  nb::class_<SwitchKeys>(m, "SwitchKeys", "Public keys of switching.")
      .def_static(
          "without_data",
          [](const SwitchContextPtr& context) {
            return std::shared_ptr<SwitchKeys>(switching::allocate_switch_keys(*context));
          },
          "context"_a, ReleaseGil())
      .def(
          "add_without_data",
          [](SwitchKeys& k, const SwitchContextPtr& context, int rows, int slots) {
            const MatvecShape shape{rows, slots};
            if (k.matvec.contains(shape)) return;
            k.matvec.emplace(shape, switching::allocate_matvec_key(*context, shape));
          },
          "context"_a, "rows"_a, "slots"_a, ReleaseGil())
      .def_prop_ro("id", [](const SwitchKeys& k) { return k.ckks_id.str(); })
      .def_prop_ro("bytes", &SwitchKeys::bytes)
      .def_prop_ro("products", &products);
  m.def(
      "save_switch_keys",
      [](const std::string& path, const SwitchContextPtr& context, const SwitchKeys& keys,
         nb::handle sign) {
        write_signed(path, sign, [&](io::Sink& sink) { io::save_keys(sink, *context, keys); });
      },
      "path"_a, "context"_a, "keys"_a, "sign"_a.none() = nb::none(), ReleaseGil());
  m.def(
      "load_switch_keys",
      [](const std::string& path, const SwitchContextPtr& context, nb::handle verify) {
        VerifiedFile source(path, verify);
        return io::load_switch_keys(source, *context);
      },
      "path"_a, "context"_a, "verify"_a.none() = nb::none(), ReleaseGil());
  m.def(
      "make_switch_keys",
      [](Client& client, const SwitchContextPtr& context, const Shapes& shapes) {
        return client.switch_keys(context, shapes_of(shapes));
      },
      "client"_a, "context"_a, "shapes"_a, ReleaseGil());
}

void bind_tables(nb::module_& m) {
  using Function = std::function<double(double)>;
  m.def(
      "table_arguments",
      [](const SwitchContextPtr& context, double bound) {
        return switching::table_arguments(context->params(), bound);
      },
      "context"_a, "bound"_a, ReleaseGil());
  nb::class_<Table>(m, "SwitchTable", "A real function of one argument as a table.")
      // Calls of f take the GIL themselves.
      .def_static("make",
                  nb::overload_cast<const SwitchContextPtr&, const Function&, double>(
                      &switching::make_table),
                  "context"_a, "f"_a, "bound"_a, ReleaseGil())
      .def_static(
          "make",
          nb::overload_cast<const SwitchContextPtr&, std::vector<double>, const Function&, double>(
              &switching::make_table),
          "context"_a, "values"_a, "f"_a, "bound"_a, ReleaseGil())
      .def_static("make_sign", &switching::make_sign_table, "context"_a, "bound"_a, "height"_a,
                  ReleaseGil())
      .def_prop_ro("bytes", [](const Table& t) { return t.polynomial.buffer->bytes(); })
      .def_ro("bound", &Table::bound)
      .def_ro("largest", &Table::largest)
      .def(
          "report", [](const Table& t, const Switcher& s) { return dict_of(s.report(t)); },
          "switcher"_a);
}

void bind_switcher(nb::module_& m) {
  nb::class_<Switcher>(m, "Switcher", "Slots through tables, for one slot count and bound.")
      .def(
          "__init__",
          [](Switcher* self, const SwitchContextPtr& context,
             const std::shared_ptr<SwitchKeys>& keys, int slots, double bound, bool minimal_keys,
             bool over_mod_raise, const std::string& route) {
            new (self) Switcher(context, keys,
                                {.slots = slots,
                                 .bound = bound,
                                 .minimal_keys = minimal_keys,
                                 .over_mod_raise = over_mod_raise,
                                 .route = switching::route_of(route)});
          },
          "context"_a, "keys"_a, "slots"_a, "bound"_a, "minimal_keys"_a = false,
          "over_mod_raise"_a = false, "route"_a = "automatic", ReleaseGil())
      .def(
          "apply",
          [](const Switcher& self, const ckks::Evaluator& evaluator, const ckks::Ciphertext& x,
             const Table& table,
             const std::vector<int>& which) { return self.apply(evaluator, x, table, which); },
          "evaluator"_a, "x"_a, "table"_a, "which"_a, ReleaseGil())
      .def_prop_ro("route", [](const Switcher& s) { return switching::name(s.route()); })
      .def_prop_ro("input_level", &Switcher::input_level)
      .def_prop_ro("output_level", &Switcher::output_level)
      .def_prop_ro("bytes", &Switcher::bytes);
}

}  // namespace

void bind_switching(nb::module_& m) {
  m.def("switch_sets_for", &session::switch_sets_for, "params"_a, "fp64_first"_a = false,
        ReleaseGil());
  bind_keys_of_switching(m);
  bind_tables(m);
  bind_switcher(m);
}

}  // namespace latticino::python
