#include "session/ckks/bootstrap.h"

#include <cmath>

#include "math/errors.h"

namespace latticino {
namespace session {
namespace {

void require_bootstrap(const Params& params, const char* operation) {
  if (params.bootstrap()) return;
  throw ParameterError(operation, params.name(), "a parameter set with bootstrapping",
                       "choose a preset with boot in its name");
}

// What refreshes these, and whether SlotToCoeff comes first. Only what is declared counts as known:
// sample data of a plan do not, as the run may have none.
struct Chosen {
  std::shared_ptr<const ckks::Bootstrapper> bootstrapper;
  bool slots_first = false;
};

Chosen chosen(std::span<const ArrayState* const> xs, BootstrapOptions options, bool merged) {
  Host& host = xs[0]->host();
  int level = xs[0]->level();
  bool declared = true;
  for (const ArrayState* x : xs) {
    level = std::min(level, x->level());
    declared =
        declared && x->known.range().claim == Claim::Declared && x->known.range().random_like;
  }
  options.random_like = options.random_like || declared;
  const int slots = xs[0]->slots();
  const ckks::bootstrap::Choice form = chosen_form(host, level, slots, options, merged);
  host.note("bootstrapping of " + std::to_string(slots) + " slots at level " +
            std::to_string(level) + ": " + form.reason);
  ckks::BootstrapOptions made = form.options;
  made.slots = slots;
  return {host.bootstrapper(made), made.slot_to_coeff_first};
}

// What is known of the result; ScaleError in a plan, a warning elsewhere, for values out of the
// message box.
Known known_of_result(const ArrayState& x, const Chosen& form) {
  const ckks::Bootstrapper& b = *form.bootstrapper;
  const bool halved = b.options().message != ckks::BootstrapOptions::Message::Complex;
  const Refreshing how{.noise = std::sqrt(b.noise().total() / (halved ? 2 : 1)),
                       .sine_ratio = b.sine_ratio(),
                       .message_ratio = b.message_ratio(),
                       .log_message_ratio = x.params().bootstrap()->log_message_ratio,
                       .arcsine = b.options().arcsine,
                       .slots_first = form.slots_first,
                       .slots = x.slots()};
  std::vector<Misfit> misfits;
  Known known = x.known.bootstrapped(how, &misfits);
  for (const Misfit& m : misfits) x.host().report("bootstrap", m.had, m.needs, m.remedy);
  return known;
}

}  // namespace

ckks::bootstrap::Choice chosen_form(Host& host, int level, int slots,
                                    const BootstrapOptions& options, bool merged) {
  const Params& params = host.params();
  require_bootstrap(params, merged ? "bootstrap_with" : "bootstrap");
  if (level < 0 || level > params.top_level()) {
    throw LevelError("bootstrap", "level " + std::to_string(level),
                     "a level from 0 to " + std::to_string(params.top_level()), "correct it");
  }
  using Message = ckks::BootstrapOptions::Message;
  ckks::bootstrap::FormRequest request;
  request.level = level;
  request.slots = slots == 0 ? params.max_slots() : slots;
  request.message = merged ? Message::MergedReals : options.real ? Message::Real : Message::Complex;
  request.minimal_keys = options.minimal_keys;
  request.slot_to_coeff_first = options.slot_to_coeff_first;
  request.over_mod_raise = options.over_mod_raise;
  request.arcsine = options.arcsine;
  request.log_message_ratio = options.log_message_ratio;
  request.known.random_like = options.random_like;
  return host.form(request);
}

}  // namespace session

using session::ArrayState;
using session::Parts;

Array Array::bootstrap(const BootstrapOptions& options) const {
  session::require_bootstrap(state_->params(), "bootstrap");
  const Array from = session::moderate(*this);
  const ArrayState& x = session::state(from);
  const ArrayState* const only[] = {&x};
  const session::Chosen form = session::chosen(only, options, false);
  const ckks::Evaluator evaluator = x.evaluator();
  Parts parts;
  for (const ckks::Ciphertext& part : x.parts()) {
    parts.push_back(form.bootstrapper->bootstrap(evaluator, part));
  }
  x.host().bootstraps += parts.size();
  return session::result_of(x, std::move(parts), session::known_of_result(x, form), x.rest);
}

std::pair<Array, Array> Array::bootstrap_with(const Array& other,
                                              const BootstrapOptions& options) const {
  session::require_bootstrap(state_->params(), "bootstrap_with");
  const Array from[] = {session::moderate(*this), session::moderate(other)};
  const ArrayState &x = session::state(from[0]), &y = session::state(from[1]);
  if (x.context != y.context) {
    throw ContextError("bootstrap_with", "ciphertexts of two contexts", "one context",
                       "encrypt both in the same one");
  }
  if (x.shape != y.shape || x.slots() != y.slots()) {
    throw ShapeError("bootstrap_with",
                     "shapes " + session::text_of(x.shape) + " and " + session::text_of(y.shape),
                     "equal shapes", "refresh them one by one");
  }
  const ArrayState* const both[] = {&x, &y};
  const session::Chosen form = session::chosen(both, options, true);
  const ckks::Evaluator evaluator = x.evaluator();
  Parts first, second;
  for (std::size_t i = 0; i < x.parts().size(); ++i) {
    auto [re, im] = form.bootstrapper->bootstrap_pair(evaluator, x.parts()[i], y.parts()[i]);
    first.push_back(std::move(re));
    second.push_back(std::move(im));
  }
  x.host().bootstraps += first.size();
  // Imaginary errors of either become errors of the other.
  session::Known of_x =
      session::known_of_result(x, form).plus_error(y.known.error(), y.known.error_seen());
  session::Known of_y =
      session::known_of_result(y, form).plus_error(x.known.error(), x.known.error_seen());
  return {session::result_of(x, std::move(first), std::move(of_x), x.rest),
          session::result_of(y, std::move(second), std::move(of_y), y.rest)};
}

}  // namespace latticino
