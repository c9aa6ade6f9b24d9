// Ciphertexts with their claims: the arithmetic that the arrays of C++ and of Python share,
// bootstrapping, and tables.
#include "known.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include "session/ckks/contents.h"
#include "session/ckks/lookup.h"
#include "session/ckks/refresher.h"

namespace latticino::python {
namespace {

using ckks::Bootstrapper;
using ckks::Evaluator;
using session::Contents;
using session::Known;
using session::Misfit;
using session::NumbersView;
using session::Parts;
using session::Places;
using session::Refresher;
using session::UnusedSlots;
using Complex = std::complex<double>;

constexpr const char* kKinds[] = {"zero", "filler", "unknown"};  // as UnusedSlots::Kind

UnusedSlots rest_of(const std::string& kind, double bound, std::optional<Complex> number) {
  for (int i = 0; i < 3; ++i) {
    if (kind == kKinds[i]) return {static_cast<UnusedSlots::Kind>(i), bound, number};
  }
  throw std::invalid_argument("a kind of slots without values");
}

void bind_facts(nb::class_<Contents>& c) {
  c.def(
       "__init__",
       [](Contents* self, Parts parts, const Known& known, const std::string& rest, double bound,
          std::optional<Complex> number) {
         require(!parts.empty(), "no ciphertexts");
         new (self) Contents{std::move(parts), known, rest_of(rest, bound, number)};
       },
       "parts"_a, "known"_a, "rest"_a, "bound"_a, "number"_a.none())
      .def_prop_ro("parts", [](const Contents& x) { return x.parts; })
      .def_prop_ro("known", [](const Contents& x) { return x.known; })
      .def_prop_ro(
          "rest",
          [](const Contents& x) {
            return std::tuple(kKinds[static_cast<int>(x.rest.kind)], x.rest.bound, x.rest.number);
          },
          "What slots without values hold: its kind, a bound, and the one number if it is known.")
      .def_prop_ro("slots", &Contents::slots)
      .def_prop_ro("canonical", &Contents::canonical)
      .def_prop_ro("excess", &Contents::excess,
                   "The number in slots without values, where it is larger than values are.");
}

// A sum or a product with plain values.
template <auto operation>
Contents with_plain(const Contents& x, const Evaluator& e, const session::Encoded& encoded,
                    const PlainValues& plain, const std::optional<FlatIndex>& places,
                    std::size_t ciphertexts) {
  require(encoded.size() == x.parts.size(), "plain values for each ciphertext");
  return with_places(x.known, plain, places, ciphertexts, x.slots(),
                     [&](NumbersView values, const Places* where) {
                       return (x.*operation)(e, encoded, values, where);
                     });
}

void bind_operations(nb::class_<Contents>& c) {
  c.def("plus", &Contents::plus, "evaluator"_a, "other"_a, ReleaseGil())
      .def("minus", &Contents::minus, "evaluator"_a, "other"_a, ReleaseGil())
      .def("plus_number", &Contents::plus_number, "evaluator"_a, "c"_a, ReleaseGil())
      .def("plus_plain", &with_plain<&Contents::plus_plain>, "evaluator"_a, "encoded"_a, "plain"_a,
           "places"_a = nb::none(), "ciphertexts"_a = 0)
      .def("times", &Contents::times, "evaluator"_a, "other"_a, "same"_a, ReleaseGil())
      .def("times_integer", &Contents::times_integer, "evaluator"_a, "c"_a, ReleaseGil())
      .def("times_number", &Contents::times_number, "evaluator"_a, "c"_a,
           "always_rescaled"_a = false, ReleaseGil())
      .def("times_plain", &with_plain<&Contents::times_plain>, "evaluator"_a, "factors"_a,
           "plain"_a, "places"_a = nb::none(), "ciphertexts"_a = 0)
      .def("conjugated", &Contents::conjugated, "evaluator"_a, ReleaseGil())
      .def("lowered", &Contents::to_level, "evaluator"_a, "level"_a, ReleaseGil())
      .def(
          "summed",
          [](const Contents& x, const Evaluator& e, std::size_t kept, std::size_t size) {
            require(kept > 0 && kept <= static_cast<std::size_t>(x.slots()), "no sums");
            return x.summed(e, kept, size);
          },
          "evaluator"_a, "kept"_a, "size"_a, ReleaseGil())
      .def(
          "with_rest",
          [](const Contents& x, const Evaluator& e,
             const std::vector<std::optional<ckks::Plaintext>>& encoded, Complex after) {
            require(encoded.size() == x.parts.size(), "a plain value or None for each ciphertext");
            return x.with_rest(e, encoded, after);
          },
          "evaluator"_a, "encoded"_a, "after"_a, ReleaseGil())
      .def_static(
          "dot",
          [](const Evaluator& e, const std::vector<Contents*>& x, const std::vector<Contents*>& y) {
            require(!x.empty() && x.size() == y.size(), "pairs of factors");
            std::vector<session::Factors> pairs;
            for (std::size_t i = 0; i < x.size(); ++i) pairs.emplace_back(x[i], y[i]);
            return session::dot(e, pairs);
          },
          "evaluator"_a, "x"_a, "y"_a, ReleaseGil(),
          "The sum of products; two factors that are one object are a square.");
}

using Message = ckks::BootstrapOptions::Message;

// The options of bootstrapping that a caller gives. The library chooses those that are None.
struct BootstrapRequest {
  std::optional<Message> message;
  Refresher::Request request;  // for complex values, if the message is None
};

// Defines f for Python. After the arguments of `First`, it takes the members of a BootstrapRequest
// as keyword arguments. `extra`: the names of the first arguments, and a docstring.
template <class Owner, class Result, class... First, class... Extra>
void def_with_options(Owner& owner, const char* name,
                      Result (*f)(const BootstrapRequest&, First...), const Extra&... extra) {
  owner.def(
      name,
      [f](First... first, std::optional<Message> message, bool minimal_keys,
          std::optional<bool> slot_to_coeff_first, std::optional<bool> over_mod_raise,
          std::optional<int> arcsine, std::optional<int> log_message_ratio, bool random_like) {
        return f({message,
                  {.message = message.value_or(Message::Complex),
                   .minimal_keys = minimal_keys,
                   .slot_to_coeff_first = slot_to_coeff_first,
                   .over_mod_raise = over_mod_raise,
                   .arcsine = arcsine,
                   .log_message_ratio = log_message_ratio,
                   .known = {.random_like = random_like, .largest = 1, .sample = {}}}},
                 std::forward<First>(first)...);
      },
      extra..., "message"_a.none(), "minimal_keys"_a, "slot_to_coeff_first"_a.none(),
      "over_mod_raise"_a.none(), "arcsine"_a.none(), "log_message_ratio"_a.none(), "random_like"_a,
      ReleaseGil());
}

ckks::bootstrap::Choice form(const BootstrapRequest& asked, Refresher& r, int level, int slots) {
  Refresher::Request request = asked.request;
  request.level = level;
  request.slots = slots;
  return r.form(request);
}

std::pair<ckks::bootstrap::Choice, std::string> form_of(const BootstrapRequest& asked, Refresher& r,
                                                        const std::vector<Contents*>& xs) {
  require(!xs.empty(), "no arrays");
  const std::vector<const Contents*> of(xs.begin(), xs.end());
  const Refresher::Request request = Refresher::of(of, asked.request);
  auto choice = r.form(request);
  std::string note = Refresher::note(request, choice);
  return {std::move(choice), std::move(note)};
}

std::tuple<Contents, std::string, std::size_t, MisfitTexts> bootstrapped(
    const BootstrapRequest& asked, const Evaluator& e, Refresher& r, const Contents& x) {
  const Contents* const only[] = {&x};
  const session::RefreshMethod method =
      r.method(x, Refresher::of(only, asked.request), asked.message);
  std::vector<Misfit> misfits;
  Contents out = session::bootstrapped(e, r, method, x, &misfits);
  return {std::move(out), method.note, method.bootstraps(), texts_of(misfits)};
}

void bind_refresher(nb::module_& m) {
  nb::class_<Refresher> c(m, "Refresher",
                          "Bootstrapping of a context: when, in which form, with what.");
  c.def(
       "__init__",
       [](Refresher* self, ContextPtr context, std::string kernels, int threads) {
         new (self) Refresher(std::move(context), {std::move(kernels), threads});
       },
       "context"_a, "kernels"_a, "threads"_a)
      .def(
          "__init__",
          [](Refresher* self, ContextPtr context, const Refresher& like) {
            new (self) Refresher(std::move(context), like);
          },
          "context"_a, "like"_a)
      .def("more_levels", &Refresher::more_levels, "automatic"_a)
      .def("refreshes", &Refresher::refreshes, "contents"_a, "levels"_a, ReleaseGil())
      .def(
          "require",
          [](const Refresher& r, const std::string& operation) { r.require(operation.c_str()); },
          "operation"_a)
      .def("lowers_first", &Refresher::lowers_first, "contents"_a)
      .def("arcsine_for", &Refresher::arcsine_for, "contents"_a, "levels"_a, ReleaseGil())
      .def_static("note_of_arcsine", &Refresher::note_of_arcsine, "arcsine"_a, "levels"_a)
      .def("leads_higher", &Refresher::leads_higher, "contents"_a, "levels"_a, ReleaseGil());
  def_with_options(c, "form", &form, "level"_a, "slots"_a);
  def_with_options(c, "form_of", &form_of, "contents"_a,
                   "The form for these arrays together, and what a plan notes of it.");
  c.def(
       "bootstrapper",
       [](Refresher& r, int slots, Message message, bool minimal_keys, bool slot_to_coeff_first,
          bool over_mod_raise, int arcsine, int log_message_ratio) {
         return r.bootstrapper({.slots = slots,
                                .message = message,
                                .minimal_keys = minimal_keys,
                                .slot_to_coeff_first = slot_to_coeff_first,
                                .over_mod_raise = over_mod_raise,
                                .log_message_ratio = log_message_ratio,
                                .arcsine = arcsine});
       },
       "slots"_a, "message"_a, "minimal_keys"_a, "slot_to_coeff_first"_a, "over_mod_raise"_a,
       "arcsine"_a, "log_message_ratio"_a, ReleaseGil())
      .def_prop_ro("bytes", &Refresher::bytes, ReleaseGil());
  def_with_options(
      m, "bootstrapped", &bootstrapped, "evaluator"_a, "refresher"_a, "x"_a,
      "The array refreshed, what a plan notes of it, how many bootstrappings it took, and "
      "what does not fit.");
  m.def(
      "bootstrapped_pair",
      [](const Evaluator& e, const Bootstrapper& b, const Contents& x, const Contents& y) {
        require(x.parts.size() == y.parts.size(), "arrays of as many ciphertexts");
        std::vector<Misfit> misfits;
        auto [first, second] = session::bootstrapped_pair(e, b, x, y, &misfits);
        return std::tuple(std::move(first), std::move(second), texts_of(misfits));
      },
      "evaluator"_a, "bootstrapper"_a, "x"_a, "y"_a, ReleaseGil());
}

void bind_lookup(nb::module_& m) {
  m.def(
      "looked_up",
      [](const Evaluator& e, const switching::Switcher& switcher, const switching::Table& table,
         const Contents& x, const session::Range& range, bool constant,
         const std::optional<Flags>& where) {
        std::vector<bool> flags;
        if (where) {
          require(where->size() <= x.parts.size() * static_cast<std::size_t>(x.slots()) &&
                      (x.known.sample() == nullptr || where->size() == x.known.sample()->size),
                  "flags of other values");
          flags.assign(where->data(), where->data() + where->size());
        }
        const session::Lookup how{range, constant};
        const Released release;
        return session::looked_up(e, switcher, table, x, how, where ? &flags : nullptr);
      },
      "evaluator"_a, "switcher"_a, "table"_a, "x"_a, "range"_a, "constant"_a, "where"_a.none());
  m.def(
      "beyond",
      [](const Known& known,
         double bound) -> std::optional<std::tuple<std::string, std::string, std::string>> {
        const auto misfit = session::beyond(known, bound);
        if (!misfit) return std::nullopt;
        return std::tuple(misfit->had, misfit->needs, misfit->remedy);
      },
      "known"_a, "bound"_a, "Why values are no arguments of a table of that bound.");
  m.def("chosen_within", &session::chosen_within, "x"_a, "bound"_a);
}

}  // namespace

void bind_contents(nb::module_& m) {
  nb::class_<Contents> c(m, "Contents",
                         "Ciphertexts, what is known of their values, and what their other slots "
                         "hold. Immutable.");
  bind_facts(c);
  bind_operations(c);
  m.attr("MAX_INTEGER") = session::kMaxInteger;
  m.def("levels_of", &session::levels_of, "c"_a, "That a product with a number takes.");
  m.def("factor_scale", &session::factor_scale, "part"_a, "remedy"_a,
        "Of a plain factor of this ciphertext.");
  m.def(
      "fitting",
      [](const Known& known, const ckks::Ciphertext& part,
         double rest) -> std::optional<std::pair<Known, MisfitTexts>> {
        std::vector<Misfit> misfits;
        Known out = session::fitting(known, part, rest, &misfits);
        if (misfits.empty()) return std::nullopt;
        return std::pair(std::move(out), texts_of(misfits));
      },
      "known"_a, "part"_a, "rest"_a,
      "None where the values fit the modulus. Else what is known then, and why.");
  m.def(
      "misfits",
      [](const Known& known, const Params& params, int level, double scale, double rest) {
        return texts_of(known.misfits(level, params.log_q(level), scale, rest));
      },
      "known"_a, "params"_a, "level"_a, "scale"_a, "rest"_a,
      "Why the values may not fit the modulus of a level; empty if they fit.");
  bind_refresher(m);
  bind_lookup(m);
}

}  // namespace latticino::python
