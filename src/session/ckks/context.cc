// Contexts, sessions and bundles: the server's side.
#include "latticino/context.h"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "math/errors.h"
#include "math/text.h"
#include "session/ckks/bootstrap.h"
#include "session/ckks/state.h"
#include "session/claims/slot_noise.h"
#include "session/owner.h"

namespace latticino {
namespace session {

StoredKeys::StoredKeys(std::shared_ptr<Host> host, std::shared_ptr<CkksBundle> bundle)
    : host_(std::move(host)),
      id_(bundle->keys->id().str()),
      labels_(bundle->keys->labels()),
      bytes_(bundle->bytes()),
      public_(bundle->public_key != nullptr) {
  for (const auto& [name, set] : bundle->switching) sets_.push_back(name);
  stored_ = add_ckks(host_->store, std::move(bundle));
}

void require_keys_of(const Host& host, const StoredKeys& keys) {
  if (keys.host()->params().hash() != host.params().hash()) {
    throw ContextError("use", "keys for other parameters", "keys for " + host.parameters.name(),
                       "generate them with a client of this context");
  }
  if (keys.host().get() != &host) {
    throw ContextError("use", "keys in the memory of another context", "keys of this one",
                       "bring them over with save_server_keys and load_server_keys");
  }
}

ckks::Evaluator ContextState::evaluator(const std::string& key) const {
  if (host_->dry()) return host_->dry_run->evaluator();
  const StoredKeysPtr keys = keys_.find(key);
  if (keys == nullptr) return {host_->native, nullptr};
  const auto bundle = keys->bundle();
  return {host_->native, part_of(bundle, bundle->keys.get())};
}

namespace {

// Values of this many times the size are not like their sample. Two samples of a few values may
// differ by less.
constexpr double kUnlikeSample = 4;

// The error of a fresh encryption must be smaller than the values may be.
void require_precision(double scale, double error, const Range& range) {
  const double bound = range.bound;
  if (!(bound > 0 && bound <= error)) return;
  throw ScaleError(
      "encrypt",
      formatted("a scale of 2^%.1f, with an error of about %.3g for values of up to %.4g "
                "in size",
                std::log2(scale), error, bound),
      formatted("a scale of 2^(%.1f + b) for b bits of such values",
                std::log2(scale * error / bound)),
      "leave it out for the canonical scale");
}

}  // namespace

Array encrypted(const ContextStatePtr& context, const Values& x, const EncryptOptions& options,
                bool open, const Encrypt& encrypt) {
  Host& host = *context->host();
  const Params& params = host.params();
  if (host.native->queue().recording()) {
    throw UnsupportedError("encrypt", "a recording",
                           "fresh randomness at every run, which a replay cannot have",
                           "encrypt outside of the recorded function and pass the result");
  }
  const int level = options.level == -1 ? params.default_level() : options.level;
  if (level < 0 || level > params.top_level()) {
    throw LevelError("encrypt", "level " + std::to_string(level),
                     "a level from 0 to " + std::to_string(params.top_level()), "leave it out");
  }
  const double scale = options.scale == 0 ? params.scale(level) : options.scale;
  if (!(scale >= 1) || !std::isfinite(scale) || std::log2(scale) >= params.log_q(level)) {
    throw ScaleError("encrypt", "scale " + short_number(scale),
                     "one from 1 to less than 2^" + short_number(params.log_q(level)),
                     "leave it out for the canonical scale");
  }
  require_finite(x.numbers(), "encrypt");
  const int slots = slots_for(x.size(), params.max_slots(), "encrypt");
  const double error = fresh_error(params, scale, slots, open);
  if (options.range && options.like) {
    throw UnsupportedError("encrypt", "a range and sample data", "one of them",
                           "leave range out, or like");
  }
  Known known;
  if (options.like) {
    if (options.like->shape() != x.shape()) {
      throw ShapeError("encrypt", "sample data of shape " + text_of(options.like->shape()),
                       "the shape of the values, " + text_of(x.shape()), "pass data of that shape");
    }
    require_finite(options.like->numbers(), "encrypt");
    known = Known::fresh(options.like->numbers(), options.like->is_real(), error);
    if (Range::of(x.numbers()).bound > kUnlikeSample * Range::of(options.like->numbers()).bound) {
      host.warn(Warning::Kind::Range,
                "encrypt: values are more than " + short_number(kUnlikeSample) +
                    " times as large as those of the sample data; the "
                    "claimed precision will not hold; pass sample data that are as large");
    }
  } else {
    const Range range = options.range ? range_of(*options.range) : Range::assumed(x.is_real());
    if (!range.contains(Range::of(x.numbers()))) {
      if (options.range) {
        throw ValueError("encrypt", "values outside of the declared range (" + range.str() + ")",
                         "values within it", "correct the range");
      }
      host.warn(Warning::Kind::Range,
                "encrypt: values lie outside of the unit box, which is assumed where no range is "
                "stated; precision that is claimed will not hold; state the range");
    }
    known = Known::fresh(range, error);
  }
  if (options.scale != 0) require_precision(scale, error, known.range());
  ArrayState out{context, {{}, known, UnusedSlots::zero()}, x.shape()};
  out.contents.parts =
      encrypt_rows(host.native, rows_of(x.numbers(), slots), level, scale, encrypt);
  return Array(std::make_shared<const ArrayState>(std::move(out)));
}

}  // namespace session

using session::ContextState;

std::string ServerKeys::id() const { return state_->id(); }
std::uint64_t ServerKeys::bytes() const { return state_->bytes(); }
std::size_t ServerKeys::count() const { return state_->labels().size(); }
bool ServerKeys::has_public_key() const { return state_->has_public_key(); }
std::vector<std::string> ServerKeys::switching() const { return state_->switching(); }

Context::Context(const std::string& preset, const ContextOptions& options)
    : Context(ParameterSet::preset(preset), options) {}

Context::Context(const ParameterSet& parameters, const ContextOptions& options)
    : state_(std::make_shared<ContextState>(std::make_shared<session::Host>(parameters, options))) {
}

const ParameterSet& Context::parameters() const { return state_->host()->parameters; }
std::string Context::device() const { return state_->host()->device; }
int Context::slots() const { return state_->params().max_slots(); }
int Context::level() const { return state_->params().default_level(); }
std::uint64_t Context::live_bytes() const { return state_->host()->native->queue().live_bytes(); }
std::uint64_t Context::peak_bytes() const { return state_->host()->native->queue().peak_bytes(); }
void Context::reset_peak() const { state_->host()->native->queue().reset_peak(); }
void Context::synchronize() const { state_->host()->native->queue().synchronize(); }
std::uint64_t Context::bootstraps() const { return state_->host()->bootstraps; }

const Context& Context::use(const ServerKeys& keys) const {
  session::require_keys_of(*state_->host(), *keys.state());
  state_->keys().use(keys.state());
  return *this;
}

void Context::forget(const ServerKeys& keys) const { state_->keys().forget(keys.state()); }

Context Context::bind(const ServerKeys& keys) const {
  state_->keys().require_free("bind", "call bind(keys) of the context for another session");
  session::require_keys_of(*state_->host(), *keys.state());
  return Context(std::make_shared<ContextState>(state_, keys.state()));
}

Array Context::adopt(const Array& x) const {
  const session::ArrayState& had = session::state(x);
  if (had.context == state_) return x;
  if (!state_->keys().bound() || had.context.get() != state_->root()) {
    throw ContextError("adopt", "a ciphertext of another session or context",
                       "one of this session's context", "load its bytes in this session");
  }
  for (const ckks::Ciphertext& part : had.parts()) state_->keys().admit("adopt", part.key.str());
  session::ArrayState out = had;
  out.context = state_;
  return Array(std::make_shared<const session::ArrayState>(std::move(out)));
}

std::vector<BundleUse> Context::resident() const {
  std::vector<BundleUse> out;
  if (state_->host()->dry()) return out;
  for (const session::KeyStore::Use& u : state_->host()->store->uses()) {
    out.push_back({u.id, u.bytes, u.host_bytes, u.resident, u.pinned, u.last_use, u.evictions});
  }
  return out;
}

Array Context::encrypt(const Values& x, const EncryptOptions& options) const {
  const session::StoredKeysPtr keys = state_->keys().last();
  if (keys == nullptr || !keys->has_public_key()) {
    throw KeyError("encrypt", "a context without a public key", "a bundle that has one",
                   "make it with the option public_key, or encrypt with the client");
  }
  const auto bundle = keys->bundle();
  return session::encrypted(state_, x, options, true, [&](std::span<const ckks::Plaintext> batch) {
    session::Parts out;
    for (const ckks::Plaintext& m : batch) {
      out.push_back(session::encrypt_public(*bundle->public_key, m));
    }
    return out;
  });
}

BootstrapForm Context::bootstrap_form(int level, const BootstrapOptions& options, int slots) const {
  const ckks::bootstrap::Choice c =
      session::chosen_form(*state_->host(), level, slots, options, false);
  return {c.options.slot_to_coeff_first,
          c.options.over_mod_raise,
          c.options.arcsine,
          c.options.log_message_ratio,
          c.input_level,
          c.output_level,
          c.predicted.mean_bits,
          c.predicted.max_bits,
          c.reason};
}

std::ostream& operator<<(std::ostream& out, const Context& context) {
  const session::StoredKeysPtr keys = context.state()->keys().last();
  out << (context.state()->keys().bound() ? "Session(" : "Context(") << context.parameters().name()
      << ", " << context.device() << ", " << context.slots() << " slots, ";
  if (keys == nullptr) return out << "no keys)";
  return out << (keys->bytes() >> 20) << " MiB of keys)";
}

}  // namespace latticino
