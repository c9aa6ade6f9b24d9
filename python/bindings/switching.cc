// Switching between CKKS and TFHE: tables of functions on every slot.
#include "io/switch_files.h"
#include "switch/switcher.h"

#include <nanobind/stl/function.h>

#include "client.h"

namespace latticino::python {
namespace {

using switching::Switcher;
using switching::SwitchKeys;
using switching::Table;
using SwitchContextPtr = std::shared_ptr<const switching::Context>;

// Names of the sets for a CKKS set, the default first.
std::vector<std::string> sets_for(const Params& params) {
  std::vector<std::string> out;
  for (const std::string& name : switch_preset_names()) {
    if (switch_preset(name)->ckks().hash() == params.hash()) out.push_back(name);
  }
  return out;
}

nb::dict report(const Table& table) {
  nb::dict out;
  out["argument"] = table.report.argument;
  out["mean"] = table.report.mean;
  out["deviation"] = table.report.deviation;
  out["largest"] = table.report.largest;
  return out;
}

void bind_keys_of_switching(nb::module_& m) {
  nb::class_<switching::Context>(m, "SwitchContext", "Both schemes on one device.")
      .def_static(
          "create",
          [](const std::string& name, const ContextPtr& context) {
            return switching::Context::create(switch_preset(name), context);
          },
          "name"_a, "context"_a, ReleaseGil())
      .def("explain", [](const switching::Context& c) { return c.params().explain(); });
  nb::class_<SwitchKeys>(m, "SwitchKeys", "Public keys of switching.")
      .def_static(
          "without_data",
          [](const SwitchContextPtr& context) {
            return std::shared_ptr<SwitchKeys>(switching::allocate_switch_keys(*context));
          },
          "context"_a, ReleaseGil())
      .def_prop_ro("id", [](const SwitchKeys& k) { return k.ckks_id.str(); })
      .def_prop_ro("bytes", &SwitchKeys::bytes);
  m.def(
      "save_switch_keys",
      [](const std::string& path, const SwitchContextPtr& context, const SwitchKeys& keys) {
        io::write_file(path, [&](io::Sink& sink) { io::save_keys(sink, *context, keys); });
      },
      "path"_a, "context"_a, "keys"_a, ReleaseGil());
  m.def(
      "load_switch_keys",
      [](const std::string& path, const SwitchContextPtr& context) {
        io::FileSource source(path);
        return io::load_switch_keys(source, *context);
      },
      "path"_a, "context"_a, ReleaseGil());
  m.def(
      "make_switch_keys",
      [](Client& client, const SwitchContextPtr& context) { return client.switch_keys(context); },
      "client"_a, "context"_a, ReleaseGil());
}

void bind_tables(nb::module_& m) {
  m.def(
      "table_arguments",
      [](const SwitchContextPtr& context, double bound) {
        return switching::table_arguments(context->params(), bound);
      },
      "context"_a, "bound"_a, ReleaseGil());
  nb::class_<Table>(m, "SwitchTable", "A real function of one argument as a table.")
      // Calls of f take the GIL themselves.
      .def_static("make", &switching::make_table, "context"_a, "f"_a, "bound"_a, ReleaseGil())
      .def_static("make_sign", &switching::make_sign_table, "context"_a, "bound"_a, "height"_a,
                  ReleaseGil())
      .def_prop_ro("bytes", [](const Table& t) { return t.polynomial.buffer->bytes(); })
      .def_ro("bound", &Table::bound)
      .def_ro("largest", &Table::largest)
      .def_prop_ro("report", &report);
}

void bind_switcher(nb::module_& m) {
  nb::class_<Switcher>(m, "Switcher", "Slots through tables, for one slot count and bound.")
      .def(
          "__init__",
          [](Switcher* self, const SwitchContextPtr& context,
             const std::shared_ptr<SwitchKeys>& keys, int slots, double bound, bool minimal_keys,
             bool over_mod_raise) {
            new (self) Switcher(context, keys,
                                {.slots = slots,
                                 .bound = bound,
                                 .minimal_keys = minimal_keys,
                                 .over_mod_raise = over_mod_raise});
          },
          "context"_a, "keys"_a, "slots"_a, "bound"_a, "minimal_keys"_a = false,
          "over_mod_raise"_a = false, ReleaseGil())
      .def(
          "apply",
          [](const Switcher& self, const ckks::Evaluator& evaluator, const ckks::Ciphertext& x,
             const Table& table,
             const std::vector<int>& which) { return self.apply(evaluator, x, table, which); },
          "evaluator"_a, "x"_a, "table"_a, "which"_a, ReleaseGil())
      .def_prop_ro("input_level", &Switcher::input_level)
      .def_prop_ro("output_level", &Switcher::output_level)
      .def_prop_ro("bytes", &Switcher::bytes);
}

}  // namespace

void bind_switching(nb::module_& m) {
  m.def("switch_sets_for", &sets_for, "params"_a, ReleaseGil());
  bind_keys_of_switching(m);
  bind_tables(m);
  bind_switcher(m);
}

}  // namespace latticino::python
