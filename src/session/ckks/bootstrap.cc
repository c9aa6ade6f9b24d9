#include "session/ckks/bootstrap.h"

#include "math/errors.h"

namespace latticino {
namespace session {
namespace {

using Request = Refresher::Request;

using Message = ckks::BootstrapOptions::Message;

void require_within(const char* operation, const char* name, const std::optional<int>& x,
                    int most) {
  if (!x || (*x >= 0 && *x <= most)) return;
  throw ValueError(operation, std::string(name) + "=" + std::to_string(*x),
                   "an integer from 0 to " + std::to_string(most), "correct it");
}

Request request_of(const BootstrapOptions& options, bool merged) {
  const char* operation = merged ? "bootstrap_with" : "bootstrap";
  require_within(operation, "arcsine", options.arcsine, 7);
  require_within(operation, "log_message_ratio", options.log_message_ratio, 64);
  Request request;
  request.message = merged                         ? Message::MergedReals
                    : options.real.value_or(false) ? Message::Real
                                                   : Message::Complex;
  request.minimal_keys = options.minimal_keys;
  request.slot_to_coeff_first = options.slot_to_coeff_first;
  request.over_mod_raise = options.over_mod_raise;
  request.arcsine = options.arcsine;
  request.log_message_ratio = options.log_message_ratio;
  request.known.random_like = options.random_like;
  return request;
}

// Whether the values are real or complex, where the caller says so. Without a value the library
// chooses.
std::optional<Message> message_of(const BootstrapOptions& options) {
  if (options.merged) return Message::MergedReals;
  if (!options.real) return std::nullopt;
  return *options.real ? Message::Real : Message::Complex;
}

// The bootstrapper for two arrays of real values that become one ciphertext.
std::shared_ptr<const ckks::Bootstrapper> chosen(Host& host, std::span<const Contents* const> xs,
                                                 const BootstrapOptions& options) {
  const Request request = Refresher::of(xs, request_of(options, true));
  const ckks::bootstrap::Choice form = host.refresher().form(request);
  host.note(Refresher::note(request, form));
  ckks::BootstrapOptions made = form.options;
  made.slots = request.slots;
  return host.refresher().bootstrapper(made);
}

// For values outside of the message box: ScaleError in a plan, a warning otherwise.
void report(const Host& host, const std::vector<Misfit>& misfits) {
  for (const Misfit& m : misfits) host.report("bootstrap", m.had, m.needs, m.remedy);
}

}  // namespace

ckks::bootstrap::Choice chosen_form(Host& host, int level, int slots,
                                    const BootstrapOptions& options, bool merged) {
  const Params& params = host.params();
  host.refresher().require(merged ? "bootstrap_with" : "bootstrap");
  if (level < 0 || level > params.top_level()) {
    throw LevelError("bootstrap", "level " + std::to_string(level),
                     "a level from 0 to " + std::to_string(params.top_level()), "correct it");
  }
  Request request = request_of(options, merged);
  request.level = level;
  request.slots = slots == 0 ? params.max_slots() : slots;
  return host.refresher().form(request);
}

Array refreshed_for(const Array& x, int levels) {
  const ArrayState& s = state(x);
  Refresher& refresher = s.host().refresher();
  BootstrapOptions options;
  options.arcsine = refresher.arcsine_for(s.open(), levels);
  if (options.arcsine) s.host().note(Refresher::note_of_arcsine(*options.arcsine, levels));
  const Array y = x.bootstrap(options);
  return refresher.leads_higher(state(y).open(), levels) ? refreshed_for(y, levels) : y;
}

}  // namespace session

using session::ArrayState;
using session::Contents;

Array Array::bootstrap(const BootstrapOptions& options) const {
  state_->host().refresher().require("bootstrap");
  Array from = session::moderate(*this);
  if (state_->host().refresher().lowers_first(session::state(from).open())) {
    from = session::canonical(from);
  }
  const ArrayState& x = session::state(from);
  const Contents* const only[] = {&x.open()};
  session::Refresher& refresher = x.host().refresher();
  const session::RefreshMethod method =
      refresher.method(x.open(), session::Refresher::of(only, session::request_of(options, false)),
                       session::message_of(options));
  x.host().note(method.note);
  std::vector<session::Misfit> misfits;
  Contents made = bootstrapped(x.evaluator(), refresher, method, x.open(), &misfits);
  x.host().bootstraps += method.bootstraps();
  session::report(x.host(), misfits);
  return session::result_of(x, std::move(made));
}

std::pair<Array, Array> Array::bootstrap_with(const Array& other,
                                              const BootstrapOptions& options) const {
  state_->host().refresher().require("bootstrap_with");
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
  const Contents* const both[] = {&x.open(), &y.open()};
  const auto bootstrapper = session::chosen(x.host(), both, options);
  std::vector<session::Misfit> misfits;
  auto [first, second] =
      bootstrapped_pair(x.evaluator(), *bootstrapper, x.open(), y.open(), &misfits);
  x.host().bootstraps += first.parts.size();
  session::report(x.host(), misfits);
  return {session::result_of(x, std::move(first)), session::result_of(y, std::move(second))};
}

}  // namespace latticino
