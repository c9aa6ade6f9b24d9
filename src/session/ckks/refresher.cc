#include "session/ckks/refresher.h"

#include <algorithm>
#include <cmath>

#include "ckks/bootstrap/precision.h"
#include "crypto/per_process.h"
#include "math/errors.h"
#include "math/text.h"
#include "session/ckks/host.h"

namespace latticino::session {
namespace {

using ckks::bootstrap::Choice;
using Message = ckks::BootstrapOptions::Message;

// A way is precise enough if it has kEnoughBits bits, or at most kBitsLostForSpeed bits less than
// the most precise way. Of these the fastest one is taken.
constexpr double kEnoughBits = 18, kBitsLostForSpeed = 0.5;
// Times within this factor count as equal: then the more precise form is taken.
constexpr double kEqualTimes = 1.05;

int option(const std::optional<bool>& x) { return x ? static_cast<int>(*x) : -1; }
int option(const std::optional<int>& x) { return x ? *x : -1; }

// The most forms that are kept, of all parameter sets together.
constexpr std::size_t kMaxForms = 4096;

std::string time_text(double seconds) {
  return seconds < 1 ? formatted("%.3g ms", seconds * 1e3) : formatted("%.3g s", seconds);
}

// Whether the values are real, and the slots without values hold nothing that a form for real
// values would change.
bool known_real(const Contents& x) {
  return x.known.range().is_real() && x.known.widest().is_real() &&
         (!x.rest.number || x.rest.number->imag() == 0);
}

// Whether two ciphertexts of the array can be refreshed as one.
bool pairable(const Contents& x) {
  return x.parts.size() > 1 && x.rest.kind != UnusedSlots::Kind::Unknown &&
         std::ranges::all_of(x.parts, [&](const ckks::Ciphertext& part) {
           return part.scale == x.parts[0].scale && part.level == x.parts[0].level;
         });
}

// A way to refresh an array, with the properties by which ways are compared.
struct Candidate {
  RefreshMethod method;
  std::string name;
  double seconds = 0;
  double bits() const {
    const double each = method.each.predicted.mean_bits;
    if (!method.pair) return each;
    const double pair = method.pair->predicted.mean_bits;
    return method.has_unpaired() ? std::min(each, pair) : pair;
  }
};

// The fastest of those that are precise enough.
const Candidate& best_of(const std::vector<Candidate>& ways) {
  double bits = 0;
  for (const Candidate& w : ways) bits = std::max(bits, w.bits());
  const auto fits = [&](const Candidate& w) {
    return w.bits() >= std::min(kEnoughBits, bits - kBitsLostForSpeed);
  };
  const Candidate* best = nullptr;
  for (const Candidate& w : ways) {
    if (fits(w) && (best == nullptr || w.seconds < best->seconds)) best = &w;
  }
  const double most = best->seconds * kEqualTimes;
  for (const Candidate& w : ways) {
    if (fits(w) && w.seconds <= most && w.bits() > best->bits()) best = &w;
  }
  return *best;
}

// Text on what was chosen among these, with the times of all.
std::string comparison(const std::vector<Candidate>& ways, const Candidate& best) {
  std::string out = "; real values " + best.name + ", about " +
                    formatted("%.1f bits, ", best.bits()) + time_text(best.seconds) + " predicted";
  const char* joint = " (";
  for (const Candidate& w : ways) {
    if (&w == &best) continue;
    out += joint + w.name + " " + time_text(w.seconds);
    joint = ", ";
  }
  return out + ")";
}

}  // namespace

int RefreshMethod::output_level() const {
  if (!pair) return each.output_level;
  return has_unpaired() ? std::min(each.output_level, pair->output_level) : pair->output_level;
}

Refresher::Refresher(Context context, RateDevice timed)
    : context_(std::move(context)), timed_(std::move(timed)) {}

Refresher::Refresher(Context context, const Refresher& like)
    : Refresher(std::move(context), like.timed_) {}

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

bool Refresher::refreshes(const Contents& x, int levels) const {
  if (!context_->params().bootstrap()) return false;
  const int level = x.level();
  if (level < levels) return true;
  const int first = first_level();
  if (levels == 0 || level - levels >= first || level < first) return false;
  const Contents* const only[] = {&x};
  const RefreshMethod chosen = method(x, of(only, {}), std::nullopt);
  return chosen.each.options.slot_to_coeff_first && level < chosen.output_level();
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

std::optional<int> Refresher::arcsine_for(const Contents& x, int levels) const {
  const Contents* const only[] = {&x};
  Request request = of(only, {});
  const int most = context_->params().level_after_bootstrap();
  const int needed = levels <= most ? levels : std::min(levels, first_level());
  for (const int degree : {3, 1}) {
    const RefreshMethod chosen = method(x, request, std::nullopt);
    if (chosen.output_level() >= needed || chosen.each.options.arcsine <= 1) break;
    request.arcsine = degree;
  }
  return request.arcsine;
}

std::string Refresher::note_of_arcsine(int arcsine, int levels) {
  const std::string how = arcsine > 1 ? "with a shorter arcsine" : "without an arcsine";
  return "a bootstrapping " + how + ", as the operation behind it takes " + std::to_string(levels) +
         " levels";
}

bool Refresher::leads_higher(const Contents& x, int levels) const {
  const Contents* const only[] = {&x};
  return x.level() < levels && method(x, of(only, {}), std::nullopt).output_level() > x.level();
}

ckks::bootstrap::Choice Refresher::form(const Request& request) const {
  const Params& params = context_->params();
  // Choices for samples and bounds are not kept: few requests share them.
  if (!request.known.sample.empty() || request.known.largest != 1) {
    return ckks::bootstrap::choose_form(params, request);
  }
  // One key for all levels at which the same forms are possible.
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
  static auto& known = *new crypto::PerProcess<std::pair<std::string, FormKey>, Choice>(kMaxForms);
  return known.get({params.hash(), key},
                   [&] { return ckks::bootstrap::choose_form(params, request); });
}

RefreshMethod Refresher::method(const Contents& x, const Request& request,
                                std::optional<Message> message) const {
  Request asked = request;
  RefreshMethod out;
  out.count = x.parts.size();
  if (!message && known_real(x)) {
    out = fastest(x, request);
  } else if (message == Message::MergedReals) {
    if (x.parts.size() < 2 || !known_real(x)) {
      const bool one = x.parts.size() < 2;
      throw UnsupportedError(
          "bootstrap", one ? "one ciphertext to merge" : "complex values to merge",
          "two ciphertexts of real values",
          one ? "a.bootstrap_with(b) refreshes both as one" : "leave the option out");
    }
    asked.message = Message::MergedReals;
    out.pair = form(asked);
    asked.message = Message::Real;
    out.each = form(asked);
    out.note = note(request, *out.pair) + "; two ciphertexts of real values as one, as asked";
  } else {
    asked.message = message.value_or(Message::Complex);
    out.each = form(asked);
    out.note = note(request, out.each);
  }
  return out;
}

RefreshMethod Refresher::fastest(const Contents& x, const Request& request) const {
  const std::size_t count = x.parts.size();
  // All ways take the form that is chosen for complex values. What is known of the values must not
  // decide levels, and so not keys: a plan may know less of the values than a run.
  Request asked = request;
  asked.message = Message::Complex;
  const Choice complex = form(asked);
  asked.slot_to_coeff_first = complex.options.slot_to_coeff_first;
  asked.over_mod_raise = complex.options.over_mod_raise;
  asked.arcsine = complex.options.arcsine;
  asked.log_message_ratio = complex.options.log_message_ratio;
  const auto of_message = [&](Message message) {
    asked.message = message;
    return form(asked);
  };
  std::vector<Candidate> ways;
  for (const auto& [choice, name] : {std::pair{of_message(Message::Real), "by themselves"},
                                     std::pair{complex, "as complex ones"}}) {
    const double seconds = seconds_of(choice.options) * static_cast<double>(count);
    ways.push_back({{choice, std::nullopt, count, ""}, name, seconds});
  }
  if (pairable(x)) {
    const Candidate alone = best_of(ways);
    const Choice pair = of_message(Message::MergedReals);
    const std::size_t pairs = count / 2;
    double seconds = seconds_of(pair.options) * static_cast<double>(pairs);
    if (count % 2 == 1) seconds += alone.seconds / static_cast<double>(count);
    ways.push_back({{alone.method.each, pair, count, ""}, "two ciphertexts as one", seconds});
  }
  const Candidate& best = best_of(ways);
  RefreshMethod out = best.method;
  out.note = note(request, complex) + comparison(ways, best);
  return out;
}

double Refresher::seconds_of(const ckks::BootstrapOptions& options) const {
  using Timed = std::tuple<std::string, std::string, int, Key>;
  static auto& known = *new crypto::PerProcess<Timed, double>(kMaxForms);
  return known.get({context_->params().hash(), timed_.kernels, timed_.threads, key_of(options)},
                   [&] { return predicted_seconds(options); });
}

double Refresher::predicted_seconds(const ckks::BootstrapOptions& options) const {
  const Context dry = ckks::Context::create_dry(context_->shared_params());
  const ckks::Evaluator e = DryRun(dry).evaluator();
  const ckks::Bootstrapper b(dry, options);
  const int level = b.input_level();
  const ckks::Ciphertext x = shape_only(dry, level, dry->params().scale(level), options.slots);
  double before = 0, after = 0;
  // The second run uses the constants and keys that the first one made.
  for (int run = 0; run < 2; ++run) {
    before = counts_of(dry->queue().report(), timed_).seconds;
    if (options.message == Message::MergedReals) {
      b.bootstrap_pair(e, x, x);
    } else {
      b.bootstrap(e, x);
    }
    after = counts_of(dry->queue().report(), timed_).seconds;
  }
  return after - before;
}

Refresher::Request Refresher::of(std::span<const Contents* const> xs, Request request) {
  request.level = xs[0]->level();
  request.slots = xs[0]->slots();
  bool declared = true;
  for (const Contents* x : xs) {
    const Range &range = x->known.range(), &widest = x->known.widest();
    request.level = std::min(request.level, x->level());
    request.reach = std::max({request.reach, widest.re.size(), widest.im.size()});
    declared = declared && range.claim == Claim::Declared && range.random_like;
  }
  request.known.random_like = request.known.random_like || declared;
  return request;
}

std::string Refresher::note(const Request& request, const ckks::bootstrap::Choice& choice) {
  return "bootstrapping of " + std::to_string(request.slots) + " slots at level " +
         std::to_string(request.level) + ": " + choice.reason +
         (request.reach > 1
              ? "; these bits are of values up to 1 in size, and values here may reach " +
                    formatted("%.3g", request.reach)
              : "");
}

Refresher::Key Refresher::key_of(const ckks::BootstrapOptions& options) {
  return {options.slots,
          static_cast<int>(options.message),
          options.minimal_keys,
          options.slot_to_coeff_first,
          options.over_mod_raise,
          options.arcsine,
          options.log_message_ratio};
}

std::shared_ptr<const ckks::Bootstrapper> Refresher::bootstrapper(
    const ckks::BootstrapOptions& options) {
  const auto held = context_->queue().lock();
  std::shared_ptr<const ckks::Bootstrapper>& made = made_[key_of(options)];
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

namespace {

// What is known of values after `b` refreshed them. `partner`: the values that were the imaginary
// parts meanwhile.
Known known_bootstrapped(const ckks::Bootstrapper& b, const Contents& x, const UnusedSlots& rest,
                         const Known* partner, std::vector<Misfit>* misfits) {
  const bool beside = rest.kind == UnusedSlots::Kind::Unknown || rest.bound > x.known.reach();
  // With SlotToCoeff first, one half is refreshed, with half of the noise; imaginary errors are
  // part of it. In the usual order all noise is there, and its real part is left.
  const bool one_half = b.options().slot_to_coeff_first && b.options().message != Message::Complex;
  Uneven uneven;
  if (b.options().slot_to_coeff_first) {
    const auto [part, most] = ckks::bootstrap::largest_of_eval_mod(*x.params().bootstrap());
    const double share = b.noise().eval_mod / b.noise().total();
    uneven = {part, std::sqrt(1 - share + share * most * most)};
  }
  const Refreshing how{.noise = std::sqrt(b.noise().total() / (one_half ? 2 : 1)),
                       .uneven = uneven,
                       .sine_ratio = b.sine_ratio(),
                       .message_ratio = b.message_ratio(),
                       .log_message_ratio = x.params().bootstrap()->log_message_ratio,
                       .arcsine = b.options().arcsine,
                       .slots_first = b.options().slot_to_coeff_first,
                       .slots = x.slots(),
                       .rest = beside ? rest.bound : 0,
                       .partner = partner};
  return x.known.bootstrapped(how, misfits);
}

// The imaginary parts of each array would become errors of the other one. A plan may know less of
// the values than the run.
void require_known_real(const ckks::Evaluator& e, const Contents& x) {
  const bool stated = x.known.range().claim != Claim::Assumed;
  if (known_real(x) || (e.context()->is_dry() && !stated)) return;
  throw UnsupportedError("bootstrap_with", "values not known to be real (" + x.known.within() + ")",
                         "two arrays of real values",
                         "bootstrap() each by itself; or declare a range without imaginary parts, "
                         "if there are none");
}

Contents in_pairs(const ckks::Evaluator& e, Refresher& refresher, const RefreshMethod& method,
                  const Contents& x, std::vector<Misfit>* misfits) {
  const auto pair = refresher.bootstrapper(method.pair->options);
  const Parts level = e.to_level(x.parts, x.level());
  Parts even, odd, made;
  for (std::size_t i = 0; i + 1 < level.size(); i += 2) {
    even.push_back(level[i]);
    odd.push_back(level[i + 1]);
  }
  auto [first, second] = pair->bootstrap_pairs(e, even, odd);
  for (std::size_t i = 0; i < first.size(); ++i) {
    made.push_back(std::move(first[i]));
    made.push_back(std::move(second[i]));
  }
  const Known partner = x.known.partners(x.slots());
  const UnusedSlots rest = x.rest.beside(x.rest);
  Known known = known_bootstrapped(*pair, x, rest, &partner, misfits);
  if (method.has_unpaired()) {
    const auto each = refresher.bootstrapper(method.each.options);
    made.push_back(each->bootstrap(e, level.back()));
    made = e.to_level(made, method.output_level());
    // The last one has the error of its own form. For all of them the larger error is claimed.
    const Known alone = known_bootstrapped(*each, x, rest, nullptr, misfits);
    if (alone.error() > known.error()) known = alone;
  }
  return {std::move(made), std::move(known), rest};
}

}  // namespace

Contents bootstrapped(const ckks::Evaluator& e, Refresher& refresher, const RefreshMethod& method,
                      const Contents& x, std::vector<Misfit>* misfits) {
  if (method.pair) return in_pairs(e, refresher, method, x, misfits);
  const auto b = refresher.bootstrapper(method.each.options);
  Parts made = b->bootstrap(e, x.parts);
  const bool real = b->options().message == Message::Real;
  return {std::move(made), known_bootstrapped(*b, x, x.rest, nullptr, misfits),
          real ? x.rest.real() : x.rest};
}

std::pair<Contents, Contents> bootstrapped_pair(const ckks::Evaluator& e,
                                                const ckks::Bootstrapper& b, const Contents& x,
                                                const Contents& y, std::vector<Misfit>* misfits) {
  require_known_real(e, x);
  require_known_real(e, y);
  auto [first, second] = b.bootstrap_pairs(e, x.parts, y.parts);
  // The second is the real part of -i (x + i y) = y - i x.
  const Known minus_x = x.known.times_number(-1, 0);
  const UnusedSlots behind_x = x.rest.beside(y.rest), behind_y = y.rest.beside(x.rest.times(-1));
  Known left = known_bootstrapped(b, x, behind_x, &y.known, misfits);
  Known right = known_bootstrapped(b, y, behind_y, &minus_x, misfits);
  return {{std::move(first), std::move(left), behind_x},
          {std::move(second), std::move(right), behind_y}};
}

}  // namespace latticino::session
