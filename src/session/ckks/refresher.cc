#include "session/ckks/refresher.h"

#include <algorithm>
#include <cmath>

#include "math/errors.h"

namespace latticino::session {
namespace {

int option(const std::optional<bool>& x) { return x ? static_cast<int>(*x) : -1; }
int option(const std::optional<int>& x) { return x ? *x : -1; }

}  // namespace

Refresher::Refresher(Context context)
    : context_(std::move(context)), forms_(std::make_shared<Forms>()) {}

Refresher::Refresher(Context context, const Refresher& like)
    : context_(std::move(context)), forms_(like.forms_) {}

int Refresher::first_level() const {
  return context_->params().default_level() - context_->params().level_after_bootstrap();
}

std::string Refresher::more_levels(bool automatic) const {
  if (!context_->params().bootstrap()) {
    return "multiply fewer times in sequence, or take parameters with more levels";
  }
  return automatic ? "take parameters with more levels after bootstrapping"
                   : "bootstrap() first, or use auto_bootstrap";
}

bool Refresher::refreshes(int level, int levels, int slots) {
  if (!context_->params().bootstrap()) return false;
  if (level < levels) return true;
  const int first = first_level();
  if (levels == 0 || level - levels >= first || level < first) return false;
  Request request;
  request.level = level;
  request.slots = slots;
  const auto chosen = form(request);
  return chosen.options.slot_to_coeff_first && level < chosen.output_level;
}

void Refresher::require(const char* operation) const {
  const Params& params = context_->params();
  if (params.bootstrap()) return;
  throw ParameterError(operation, params.name(), "a parameter set with bootstrapping",
                       "choose a preset with boot in its name");
}

bool Refresher::lowers_first(const Contents& x) const {
  return !x.canonical() && x.level() == first_level();
}

std::optional<int> Refresher::arcsine_for(const Contents& x, int levels) {
  const Contents* const only[] = {&x};
  Request request = of(only, {});
  const int most = context_->params().level_after_bootstrap();
  const int needed = levels <= most ? levels : std::min(levels, first_level());
  for (const int degree : {3, 1}) {
    const auto chosen = form(request);
    if (chosen.output_level >= needed || chosen.options.arcsine <= 1) break;
    request.arcsine = degree;
  }
  return request.arcsine;
}

std::string Refresher::note_of_arcsine(int arcsine, int levels) {
  const std::string how = arcsine > 1 ? "with a shorter arcsine" : "without an arcsine";
  return "a bootstrapping " + how + ", as the operation behind it takes " + std::to_string(levels) +
         " levels";
}

bool Refresher::leads_higher(const Contents& x, int levels) {
  const Contents* const only[] = {&x};
  return x.level() < levels && form(of(only, {})).output_level > x.level();
}

ckks::bootstrap::Choice Refresher::form(const Request& request) {
  // Levels that lead to one choice are one.
  const int first = first_level();
  const int level = request.slot_to_coeff_first.value_or(false) ? std::min(request.level, first)
                                                                : request.level >= first;
  const FormKey key{level,
                    request.slots,
                    static_cast<int>(request.message),
                    request.minimal_keys,
                    option(request.slot_to_coeff_first),
                    option(request.over_mod_raise),
                    option(request.arcsine),
                    option(request.log_message_ratio),
                    request.known.random_like};
  const std::lock_guard lock(forms_->mutex);
  const auto found = forms_->known.find(key);
  if (found != forms_->known.end()) return found->second;
  return forms_->known.emplace(key, ckks::bootstrap::choose_form(context_->params(), request))
      .first->second;
}

Refresher::Request Refresher::of(std::span<const Contents* const> xs, Request request) {
  request.level = xs[0]->level();
  request.slots = xs[0]->slots();
  bool declared = true;
  for (const Contents* x : xs) {
    const Range& range = x->known.range();
    request.level = std::min(request.level, x->level());
    declared = declared && range.claim == Claim::Declared && range.random_like;
  }
  request.known.random_like = request.known.random_like || declared;
  return request;
}

std::string Refresher::note(const Request& request, const ckks::bootstrap::Choice& choice) {
  return "bootstrapping of " + std::to_string(request.slots) + " slots at level " +
         std::to_string(request.level) + ": " + choice.reason;
}

std::shared_ptr<const ckks::Bootstrapper> Refresher::bootstrapper(
    const ckks::BootstrapOptions& options) {
  const Key key{options.slots,
                static_cast<int>(options.message),
                options.minimal_keys,
                options.slot_to_coeff_first,
                options.over_mod_raise,
                options.arcsine,
                options.log_message_ratio};
  const auto held = context_->queue().lock();
  std::shared_ptr<const ckks::Bootstrapper>& made = made_[key];
  if (made == nullptr) made = std::make_shared<const ckks::Bootstrapper>(context_, options);
  return made;
}

std::uint64_t Refresher::bytes() const {
  const auto held = context_->queue().lock();
  std::uint64_t sum = 0;
  for (const auto& [key, made] : made_) {
    if (made != nullptr) sum += made->bytes();
  }
  return sum;
}

Known known_bootstrapped(const ckks::Bootstrapper& b, const Contents& x,
                         std::vector<Misfit>* misfits) {
  const bool halved = b.options().message != ckks::BootstrapOptions::Message::Complex;
  const bool beside = x.rest.kind == Rest::Kind::Unknown || x.rest.bound > x.known.reach();
  const Refreshing how{.noise = std::sqrt(b.noise().total() / (halved ? 2 : 1)),
                       .sine_ratio = b.sine_ratio(),
                       .message_ratio = b.message_ratio(),
                       .log_message_ratio = x.params().bootstrap()->log_message_ratio,
                       .arcsine = b.options().arcsine,
                       .slots_first = b.options().slot_to_coeff_first,
                       .slots = x.slots(),
                       .rest = beside ? x.rest.bound : 0};
  return x.known.bootstrapped(how, misfits);
}

Contents bootstrapped(const ckks::Evaluator& e, const ckks::Bootstrapper& b, const Contents& x,
                      std::vector<Misfit>* misfits) {
  Parts made;
  for (const ckks::Ciphertext& part : x.parts) made.push_back(b.bootstrap(e, part));
  return {std::move(made), known_bootstrapped(b, x, misfits), x.rest};
}

std::pair<Contents, Contents> bootstrapped_pair(const ckks::Evaluator& e,
                                                const ckks::Bootstrapper& b, const Contents& x,
                                                const Contents& y, std::vector<Misfit>* misfits) {
  Parts first, second;
  for (std::size_t i = 0; i < x.parts.size(); ++i) {
    auto [re, im] = b.bootstrap_pair(e, x.parts[i], y.parts[i]);
    first.push_back(std::move(re));
    second.push_back(std::move(im));
  }
  Known of_x = known_bootstrapped(b, x, misfits).plus_error(y.known.error(), y.known.error_seen());
  Known of_y = known_bootstrapped(b, y, misfits).plus_error(x.known.error(), x.known.error_seen());
  return {{std::move(first), std::move(of_x), x.rest},
          {std::move(second), std::move(of_y), y.rest}};
}

}  // namespace latticino::session
