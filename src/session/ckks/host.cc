#include "session/ckks/host.h"

#include <cmath>
#include <cstring>
#include <iostream>
#include <limits>
#include <type_traits>

#include "ckks/encoding/encoder.h"
#include "crypto/sha256.h"
#include "math/errors.h"

namespace latticino::session {
namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kPlaintexts = 256 << 20, kTables = 64 << 20;
constexpr std::uint64_t kProducts = std::uint64_t{4} << 30;

std::uint64_t bytes_of(const ckks::Plaintext& x) { return x.poly.buffer->bytes(); }

// The key of a cache: the bytes by which constants are told apart.
template <class... Parts>
std::string key_of(const std::string& name, Parts... parts) {
  std::string out = name;
  const auto append = [&](auto part) {
    static_assert(std::is_trivially_copyable_v<decltype(part)>);
    char bytes[sizeof part];
    std::memcpy(bytes, &part, sizeof part);
    out.append(bytes, sizeof part);
  };
  (append(parts), ...);
  return out;
}

crypto::Sha256Digest digest_of(Complexes values) {
  return crypto::sha256(
      {reinterpret_cast<const std::uint8_t*>(values.data()), values.size() * sizeof(Complex)});
}

void say_warning(const Warning& warning) {
  std::cerr << "latticino: " << warning.message << std::endl;
}

}  // namespace

Host::Host(const ParameterSet& set, const ContextOptions& options)
    : parameters(set),
      auto_bootstrap(options.auto_bootstrap),
      on_warning_(options.on_warning ? options.on_warning : say_warning),
      plaintexts_(kPlaintexts, [](const auto& x) { return bytes_of(x); }),
      products_(kProducts, [](const auto& x) { return x.bytes(); }),
      tables_(kTables, [](const auto& x) { return x.polynomial.buffer->bytes(); }),
      choices_(std::make_shared<Choices>()) {
  if (options.key_budget && *options.key_budget < 1) {
    throw ValueError("Context", "key_budget=0", "an integer from 1", "leave it out for no limit");
  }
  const DeviceChoice chosen = choose_device(options.device);
  if (!parameters.secure()) {
    warn(Warning::Kind::Security,
         "Context: the set " + parameters.name() +
             " is not held to 128 bits of security; choose a set without \"insecure\" or "
             "\"legacy\" in its name for data that matter");
  }
  device = chosen.name();
  timed = rate_device(chosen, options.threads, options.simd);
  native = ckks::Context::create(parameters.native(),
                                 make_queue(chosen, options.threads, options.simd, options.tuning));
  refresher_ = std::make_unique<Refresher>(native, timed);
  store = std::make_shared<KeyStore>(native->shared_queue(), options.key_budget);
  switch_sets_ = switch_sets_for(params(), fast_doubles(chosen, options.threads, options.simd));
}

Host::Host(const Host& like, Dry)
    : parameters(like.parameters),
      device("dry"),
      timed(like.timed),
      auto_bootstrap(like.auto_bootstrap),
      native(ckks::Context::create_dry(like.parameters.native())),
      dry_run(native),
      on_warning_(like.on_warning_),
      switch_sets_(like.switch_sets_),
      plaintexts_(kPlaintexts, [](const auto& x) { return bytes_of(x); }),
      products_(kNoLimit, [](const auto& x) { return x.bytes(); }),  // a plan counts all of them
      tables_(kTables, [](const auto& x) { return x.polynomial.buffer->bytes(); }),
      refresher_(std::make_unique<Refresher>(native, *like.refresher_)),
      choices_(like.choices_) {}

void Host::warn(Warning::Kind kind, const std::string& message) const {
  on_warning_({kind, message});
}

void Host::report(const char* operation, const std::string& had, const std::string& needs,
                  const std::string& remedy) const {
  const ScaleError problem(operation, had, needs, remedy);
  if (dry()) throw problem;
  warn(Warning::Kind::Range, problem.what());
}

void Host::note(const std::string& text) {
  if (!dry()) return;
  for (const std::string& known : notes_) {
    if (known == text) return;
  }
  notes_.push_back(text);
}

ckks::Plaintext Host::encode(Complexes values, int level, double scale) {
  const auto held = lock();
  return *plaintexts_.get(key_of("values", digest_of(values), values.size(), level, scale), [&] {
    return std::make_shared<const ckks::Plaintext>(ckks::encode(native, values, level, scale));
  });
}

ckks::Plaintext Host::encode_named(const std::string& name,
                                   const std::function<std::vector<Complex>()>& make, int level,
                                   double scale) {
  const auto held = lock();
  return *plaintexts_.get(key_of(name, level, scale), [&] {
    return std::make_shared<const ckks::Plaintext>(ckks::encode(native, make(), level, scale));
  });
}

std::shared_ptr<const ckks::MatrixProduct> Host::matrix_product(Complexes w, int rows, int columns,
                                                                int slots, int level) {
  const auto held = lock();
  return products_.get(key_of("matrix", digest_of(w), rows, columns, slots, level), [&] {
    ckks::LinearTransform::Options options;
    options.level = level;
    return std::make_shared<const ckks::MatrixProduct>(native, w, rows, columns, slots, options);
  });
}

SwitchContextPtr Host::switching(const std::string& name) {
  const auto held = lock();
  SwitchContextPtr& made = switching_[name];
  if (made == nullptr) made = switching::Context::create(switch_preset(name), native);
  return made;
}

std::shared_ptr<const switching::Table> Host::table(const std::string& key,
                                                    const std::function<switching::Table()>& make) {
  const auto held = lock();
  return tables_.get(key, [&] { return std::make_shared<const switching::Table>(make()); });
}

std::shared_ptr<switching::SwitchKeys> Host::dry_keys(const std::string& name) {
  std::shared_ptr<switching::SwitchKeys>& keys = switch_keys_[name];
  if (keys == nullptr) keys = switching::allocate_switch_keys(*switching(name));
  return keys;
}

RepackRoute Host::repack_route(const std::string& name, int slots, bool minimal_keys,
                               switching::Route route) {
  const std::lock_guard lock(choices_->mutex);
  const auto key = std::tuple(name, slots, minimal_keys, route);
  const auto found = choices_->repack_routes.find(key);
  if (found != choices_->repack_routes.end()) return found->second;
  switching::SwitchOptions options;
  options.slots = slots;
  options.minimal_keys = minimal_keys;
  options.route = route;
  // If a route is asked for by name, its key is made, however much memory it takes.
  const std::uint64_t budget =
      route == switching::Route::Automatic ? switching::kMatvecKeyBudget : std::uint64_t{1} << 63;
  const switching::RouteCost best =
      switching::choose_route(switching(name)->shared_params(), options, rates_of(timed.kernels),
                              timed.threads, budget)
          .best;
  return choices_->repack_routes
      .emplace(key, RepackRoute{best.route, best.shape, best.seconds, best.key_bytes})
      .first->second;
}

std::shared_ptr<switching::Switcher> Host::dry_switcher(const std::string& name, int slots,
                                                        double bound, bool minimal_keys,
                                                        switching::Route route) {
  std::shared_ptr<switching::Switcher>& made =
      switchers_[{name, slots, bound, minimal_keys, route}];
  if (made != nullptr) return made;
  const RepackRoute way = repack_route(name, slots, minimal_keys, route);
  const auto keys = dry_keys(name);
  const SwitchContextPtr context = switching(name);
  if (way.route == switching::Route::Matvec) {
    const switching::MatvecShape shape{slots, way.shape.slots};
    if (!keys->matvec.contains(shape)) {
      keys->matvec.emplace(shape, switching::allocate_matvec_key(*context, shape));
    }
  }
  note("tables of " + std::to_string(slots) + " back by route " + switching::name(way.route));
  switching::SwitchOptions options;
  options.slots = slots;
  options.bound = bound;
  options.minimal_keys = minimal_keys;
  options.route = way.route;
  made = std::make_shared<switching::Switcher>(context, keys, options);
  return made;
}

std::uint64_t Host::constant_bytes() const {
  std::uint64_t sum = products_.bytes() + refresher_->bytes();
  for (const auto& [key, made] : switchers_) sum += made->bytes();
  return sum;
}

ckks::Ciphertext with_slots(const ckks::Ciphertext& x, int slots) {
  const int most = x.context->params().max_slots();
  if (slots < 1 || slots > most || (slots & (slots - 1)) != 0) {
    throw ShapeError("with_slots", std::to_string(slots) + " slots",
                     "a power of two from 1 to " + std::to_string(most), "choose another count");
  }
  ckks::Ciphertext out = x;
  out.slots = slots;
  return out;
}

ckks::Ciphertext allocate_like(const ckks::Ciphertext& like) {
  ckks::Ciphertext out = like;
  const ckks::Context& context = *like.context;
  for (Poly& part : out.parts) {
    part = context.queue().allocate(context.ring(), part.view.basis(), part.view.domain);
  }
  return out;
}

void copy_into(const ckks::Ciphertext& from, const ckks::Ciphertext& to) {
  Copy copy;
  for (std::size_t i = 0; i < from.parts.size(); ++i) {
    copy.items.push_back({.x = from.parts[i].view, .out = to.parts[i].view});
  }
  from.context->queue().submit(copy);
}

std::size_t bytes_of(const ckks::Ciphertext& x) {
  std::size_t limbs = 0;
  for (const Poly& part : x.parts) limbs += part.view.limbs();
  return limbs * x.context->params().n() * sizeof(std::uint32_t);
}

std::vector<std::string> switch_sets_for(const Params& params, bool fp64_first) {
  std::vector<std::string> first, last;
  for (const std::string& name : switch_preset_names()) {
    const auto set = switch_preset(name);
    if (set->ckks().hash() != params.hash()) continue;
    (set->literal().fourier == fp64_first ? first : last).push_back(name);
  }
  first.insert(first.end(), last.begin(), last.end());
  return first;
}

}  // namespace latticino::session
