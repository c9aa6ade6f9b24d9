// Contexts, sessions, keys and clients of TFHE, and plans.
#include <algorithm>
#include <cmath>
#include <iostream>

#include "math/errors.h"
#include "math/text.h"
#include "session/tfhe/arithmetic.h"
#include "session/tfhe/owner.h"
#include "session/tfhe/state.h"

namespace latticino {
namespace session {
namespace {

// Values that one round of the largest operation takes at once. On a GPU, memory limits them.
constexpr std::size_t kMaxBatchCuda = std::size_t{1} << 16, kMaxBatchCpu = 256;
constexpr int kMaxBits = 64;
// log2 of the largest failure probability with which decryptions may be shared
constexpr double kMinShared = -128;

void warn_of_security(const TfheHost& host) {
  const TfheParams& params = *host.params;
  if (params.literal().security != ParamsLiteral::Security::Bits128) {
    host.on_warning({Warning::Kind::Security,
                     "TfheContext: the set " + params.name() +
                         " is not held to 128 bits of security; choose another set for data that "
                         "matter"});
  } else if (params.literal().log_failure > kMinShared) {
    const std::string text = formatted("2^%.0f", params.literal().log_failure);
    host.on_warning(
        {Warning::Kind::Security, "TfheContext: a bootstrapping of " + params.name() +
                                      " gives a wrong result with probability " + text +
                                      "; do not share decryptions under it (docs/security.md)"});
  }
}

}  // namespace

TfheHost::TfheHost(const std::string& preset, const TfheContextOptions& options)
    : params(tfhe_preset(preset)),
      device(choose_device(options.device)),
      threads(options.threads),
      simd(options.simd),
      on_warning(options.on_warning) {
  if (!on_warning) {
    on_warning = [](const Warning& w) { std::cerr << "latticino: " << w.message << std::endl; };
  }
  if (options.key_budget && *options.key_budget < 1) {
    throw ValueError("Context", "key_budget=0", "an integer from 1", "leave it out for no limit");
  }
  warn_of_security(*this);
  auto queue = make_queue(device, threads, simd, options.tuning);
  native = tfhe::Context::create(
      params, std::move(queue),
      arithmetic_rule(*params, options.arithmetic, device, threads, simd, options.tuning),
      options.rerandomize);
  store = std::make_shared<KeyStore>(native->shared_queue(), options.key_budget);
}

TfheHost::TfheHost(const TfheHost& like, Dry)
    : params(like.params),
      native(tfhe::Context::create_dry(like.params, like.native->arithmetic(),
                                       like.native->rerandomizes())),
      device(like.device),
      threads(like.threads),
      simd(like.simd),
      on_warning(like.on_warning) {
  const auto keys = tfhe::allocate_used_server_keys(*native);
  dry_key_bytes = keys->device_bytes(*native);
  dry_engine = std::make_shared<const TfheEngine>(native, keys);
}

std::size_t TfheHost::together(int bits) const {
  const int block = std::max(params->literal().message_bits, 1);
  const auto blocks = static_cast<std::size_t>(std::max((bits + block - 1) / block, 1));
  const std::size_t most =
      device.kind == "cuda"
          ? kMaxBatchCuda
          : kMaxBatchCpu * static_cast<std::size_t>(rate_device(device, threads, true).threads);
  return std::max<std::size_t>(1, most / (blocks * blocks));
}

TfheStoredKeys::TfheStoredKeys(std::shared_ptr<TfheHost> host, std::shared_ptr<TfheBundle> bundle)
    : host_(std::move(host)),
      id_(bundle->keys->id.str()),
      bytes_(bundle->bytes()),
      public_(bundle->keys->public_key != nullptr) {
  stored_ = add_tfhe(host_->store, std::move(bundle));
}

std::shared_ptr<const TfheEngine> TfheContextState::engine(const std::string& key) const {
  if (host_->dry()) return host_->dry_engine;
  const auto bundle = keys_.at(key)->bundle();
  return part_of(bundle, bundle->engine().get());
}

std::shared_ptr<const TfheEngine> TfheContextState::engine_for(const rlwe::KeyId& key) const {
  if (host_->dry()) return host_->dry_engine;
  const auto keys = keys_.find(key.str());
  if (keys != nullptr && keys->id() == key.str()) return engine(key.str());
  return host_->keyless.of(host_->native, key);
}

TfheArray tfhe_array(const std::shared_ptr<TfheContextState>& context, TfheBatches parts,
                     int bits) {
  return TfheArray(
      std::make_shared<const TfheArrayState>(TfheArrayState{context, std::move(parts), bits}));
}

std::uint64_t most_of(int bits) {
  const int width = bits == 0 ? 1 : std::abs(bits);
  return width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
}

void require_type(const TfheParams& params, TfheType type, const char* operation) {
  const int block = params.literal().message_bits, bits = type.bits;
  const bool known =
      bits == 0 || (!params.booleans() && (bits == -params.plain_bits() ||
                                           (bits > 0 && bits <= kMaxBits && bits % block == 0)));
  if (known) return;
  throw ParameterError(
      operation, "the type " + type.name() + " under " + params.name(),
      params.booleans()
          ? "bool"
          : "bool, u" + std::to_string(block) + " to u64 in steps of " + std::to_string(block) +
                ", or m" + std::to_string(params.plain_bits()),
      params.booleans() ? "choose a set named ...-2-2-... for integers" : "name such a type");
}

void require_values(std::span<const std::uint64_t> values, TfheType type, const char* operation) {
  if (values.empty()) {
    throw ShapeError(operation, "an empty array", "at least one value", "check the data");
  }
  const std::uint64_t most = most_of(type.bits);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] <= most) continue;
    throw ValueError(operation, "too large a value at index " + std::to_string(i),
                     "0 to " + std::to_string(most) + " for " + type.name(), "use a wider type");
  }
}

void require_keys_of(const TfheHost& host, const TfheStoredKeys& keys, const char* operation) {
  if (keys.host()->params->hash() != host.params->hash()) {
    throw ContextError(operation, "keys for other parameters", "keys for " + host.params->name(),
                       "generate them with a client of this context");
  }
  if (keys.host().get() != &host) {
    throw ContextError(operation, "keys in the memory of another context", "keys of this one",
                       "bring them over with save_server_keys and load_server_keys");
  }
  if (host.native->rerandomizes() && !keys.has_public_key()) {
    throw KeyError(operation, "a bundle without a public key in a context that re-randomises",
                   "one with a public key", "make it with server_keys(true)");
  }
}

}  // namespace session

using session::TfheContextState;
using session::TfheHost;

std::string TfheServerKeys::id() const { return state_->id(); }
std::uint64_t TfheServerKeys::bytes() const { return state_->bytes(); }
bool TfheServerKeys::has_public_key() const { return state_->has_public_key(); }

TfheContext::TfheContext(const std::string& preset, const TfheContextOptions& options)
    : state_(std::make_shared<TfheContextState>(std::make_shared<TfheHost>(preset, options))) {}

std::vector<std::string> TfheContext::presets() { return tfhe_preset_names(); }
std::string TfheContext::name() const { return state_->params().name(); }
std::string TfheContext::device() const { return state_->host()->device.name(); }
std::string TfheContext::arithmetic() const { return state_->host()->native->arithmetic().name(); }

std::string TfheContext::arithmetic(std::uint32_t together) const {
  return tfhe::name(state_->host()->native->arithmetic().of(together));
}
std::string TfheContext::explain() const { return state_->params().explain(); }
std::uint64_t TfheContext::live_bytes() const {
  return state_->host()->native->queue().live_bytes();
}
void TfheContext::synchronize() const { state_->host()->native->queue().synchronize(); }

const TfheContext& TfheContext::use(const TfheServerKeys& keys) const {
  session::require_keys_of(*state_->host(), *keys.state(), "use");
  state_->keys().use(keys.state());
  return *this;
}

void TfheContext::forget(const TfheServerKeys& keys) const { state_->keys().forget(keys.state()); }

TfheContext TfheContext::bind(const TfheServerKeys& keys) const {
  state_->keys().require_free("bind", "call bind(keys) of the context for another session");
  session::require_keys_of(*state_->host(), *keys.state(), "bind");
  return TfheContext(std::make_shared<TfheContextState>(state_, keys.state()));
}

TfheArray TfheContext::adopt(const TfheArray& x) const {
  const session::TfheArrayState& had = session::state(x);
  if (had.context == state_) return x;
  if (!state_->keys().bound() || had.context.get() != state_->root()) {
    throw ContextError("adopt", "an array of another session or context",
                       "one of this session's context", "load its bytes in this session");
  }
  state_->keys().admit("adopt", had.key());
  return session::tfhe_array(state_, had.parts(), had.bits);
}

std::vector<BundleUse> TfheContext::resident() const {
  std::vector<BundleUse> out;
  if (state_->host()->dry()) return out;
  for (const session::KeyStore::Use& u : state_->host()->store->uses()) {
    out.push_back({u.id, u.bytes, u.host_bytes, u.resident, u.pinned, u.last_use, u.evictions});
  }
  return out;
}

TfheArray TfheContext::encrypt(const std::vector<std::uint64_t>& values, TfheType type) const {
  return encrypt(std::span<const std::uint64_t>(values), type);
}

TfheArray TfheContext::encrypt(std::span<const std::uint64_t> values, TfheType type) const {
  session::require_type(state_->params(), type, "encrypt");
  session::require_values(values, type, "encrypt");
  const auto keys = state_->keys().last();
  const auto engine = state_->engine(keys == nullptr ? "" : keys->id());
  return session::tfhe_array(state_, engine->rerandomize(engine->clear(values, type.bits)),
                             type.bits);
}

TfheClient::TfheClient(const TfheContext& context)
    : context_(context),
      owner_(std::make_shared<session::TfheOwner>(context.state()->host()->native)) {
  context.state()->keys().admit("client", owner_->key_id());
}

TfheContext TfheClient::context() const { return context_; }
std::string TfheClient::key_id() const { return owner_->key_id(); }

TfheServerKeys TfheClient::server_keys(bool public_key,
                                       const std::function<void(int, int)>& progress) const {
  const auto& host = context_.state()->host();
  auto bundle = std::make_shared<session::TfheBundle>();
  bundle->context = host->native;
  bundle->keys = owner_->server_keys(progress, public_key);
  return TfheServerKeys(std::make_shared<session::TfheStoredKeys>(host, std::move(bundle)));
}

TfheArray TfheClient::encrypt(std::span<const std::uint64_t> values, TfheType type) const {
  session::require_type(context_.state()->params(), type, "encrypt");
  session::require_values(values, type, "encrypt");
  return session::tfhe_array(context_.state(), owner_->encrypt(values, type.bits), type.bits);
}

std::vector<std::uint64_t> TfheClient::decrypt(const TfheArray& x) const {
  return owner_->decrypt(session::state(x).parts());
}

TfhePlan detail::plan_of(const TfheContext& context, const TfheListProgram& program,
                         const std::vector<std::variant<TfheArray, TfheInput>>& examples) {
  const session::TfheContextState& original = *context.state();
  const auto host = std::make_shared<TfheHost>(*original.host(), TfheHost::Dry{});
  const auto twin = std::make_shared<TfheContextState>(host);
  const TfheParams& params = *host->params;
  Queue& queue = host->native->queue();
  const std::uint64_t before = queue.live_bytes();
  std::vector<TfheArray> inputs;
  for (const auto& example : examples) {
    session::TfheBatches parts;
    if (const TfheArray* x = std::get_if<TfheArray>(&example)) {
      const session::TfheArrayState& s = session::state(*x);
      if (s.context->root() != original.root()) {
        throw ContextError("plan", "an example of another context", "arrays of this one",
                           "encrypt it here");
      }
      for (const tfhe::Ciphertext& part : s.parts()) {
        parts.push_back(session::tfhe_shape_only(host->native, part.size(), part.largest,
                                                 part.norm2, s.bits, &part));
      }
      inputs.push_back(session::tfhe_array(twin, std::move(parts), s.bits));
      continue;
    }
    const TfheInput& input = std::get<TfheInput>(example);
    session::require_type(params, input.type, "plan");
    constexpr std::size_t kMaxValues = std::size_t{1} << 28;
    if (input.size < 1 || input.size > kMaxValues) {
      throw ShapeError("plan", "an example of " + std::to_string(input.size) + " values",
                       "from 1 to 2^28", "plan the work in parts");
    }
    const int block = std::max(params.literal().message_bits, 1), bits = input.type.bits;
    for (int i = 0; i < std::max(bits / block, 1); ++i) {
      parts.push_back(session::tfhe_shape_only(
          host->native, static_cast<std::uint32_t>(input.size),
          static_cast<std::uint32_t>(session::most_of(std::min(bits, block))), 1, bits, nullptr));
    }
    inputs.push_back(session::tfhe_array(twin, std::move(parts), bits));
  }
  TfhePlan out;
  out.input_bytes = queue.live_bytes() - before;
  queue.reset_peak();
  program(inputs);
  const session::DryCounts counts = session::counts_of(
      queue.report(), session::rate_device(host->device, host->threads, host->simd));
  out.bootstrappings = counts.rotations;
  out.rounds = counts.rounds;
  out.key_bytes = host->dry_key_bytes;
  out.peak_bytes = queue.peak_bytes();
  out.operations = counts.operations;
  out.seconds = counts.seconds;
  out.log_failure = host->native->log_failure();
  return out;
}

std::ostream& operator<<(std::ostream& out, const TfhePlan& p) {
  const auto mib = [](std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
  return out << formatted(
             "server keys        %.0f MiB\ninputs             %.1f MiB\npeak memory        %.0f "
             "MiB\n"
             "bootstrappings     %llu in %llu rounds\nany of them fails  2^%.1f\n"
             "predicted time     %.3g s",
             mib(p.key_bytes), mib(p.input_bytes), mib(p.peak_bytes),
             static_cast<unsigned long long>(p.bootstrappings),
             static_cast<unsigned long long>(p.rounds), p.log_failure, p.seconds);
}

}  // namespace latticino
