// Clients: the side that owns the secret key.
#include "latticino/client.h"

#include <cmath>
#include <string>

#include "io/files.h"
#include "math/errors.h"
#include "session/ckks/plan.h"
#include "session/ckks/state.h"
#include "session/owner.h"

namespace latticino {
namespace {

using session::ArrayState;

// The values of all ciphertexts of x, without the slots that hold none.
std::vector<Complex> joined(const ArrayState& x, const std::vector<std::vector<Complex>>& rows) {
  std::vector<Complex> out;
  for (const std::vector<Complex>& row : rows) out.insert(out.end(), row.begin(), row.end());
  out.resize(x.size());
  return out;
}

// Text with four digits that is not below x, so that a bound is accepted if it is passed as shown.
std::string rounded_up(double x) {
  std::string shown = session::short_number(x);
  if (std::stod(shown) < x) shown = session::short_number(x * 1.001);
  return shown;
}

// The stated bound, or twice the expected norm of the tracked error's polynomial; never less than
// that norm.
double noise_bound(const ArrayState& x, std::optional<double> stated) {
  // A slot reads 2 n coefficients of the N, each of deviation e scale / sqrt(2 n).
  const double tracked =
      x.known().estimate().error.rms() * x.scale() * std::sqrt(x.params().n() / (2.0 * x.slots()));
  if (!stated) {
    if (x.known().range().basis() != Claim::Declared) {
      throw UnsupportedError(
          "decrypt_for_sharing",
          "an error for ranges that nobody declared (" + x.known().within() + ")",
          "declared ranges, or a noise_bound",
          "encrypt with a range, or pass a worst case of the program");
    }
    return 2 * tracked;
  }
  if (*stated > 0 && *stated < tracked) {
    const bool derivable = x.known().range().basis() == Claim::Declared;
    throw ValueError("decrypt_for_sharing", "noise_bound=" + session::short_number(*stated),
                     "at least " + rounded_up(tracked) + ", the norm of the tracked error",
                     std::string(derivable ? "leave it out to derive it, or " : "") +
                         "pass at least that, or better a worst case of the program");
  }
  return *stated;
}

}  // namespace

Client::Client(const Context& context)
    : context_(context), owner_(std::make_shared<session::Owner>(context.state()->host()->native)) {
  context.state()->keys().admit("client", owner_->key_id());
}

Context Client::context() const { return context_; }
std::string Client::key_id() const { return owner_->key_id(); }

ServerKeys Client::server_keys(const Plan& plan, const ServerKeyOptions& options) const {
  const session::PlanState& needs = *plan.state();
  const auto& host = context_.state()->host();
  if (needs.params_hash != host->params().hash()) {
    throw ContextError("server_keys", "a plan for other parameters",
                       "one for " + host->parameters.name(), "plan in this client's context");
  }
  session::KeyMaker maker(*owner_);
  int done = 0;
  for (const auto& [label, level] : needs.keys) {
    maker.make(label, level);
    if (options.progress) options.progress(++done, static_cast<int>(needs.keys.size()));
  }
  auto bundle = std::make_shared<session::CkksBundle>();
  bundle->context = host->native;
  bundle->keys = maker.keys();
  if (options.public_key) bundle->public_key = owner_->public_key();
  for (const auto& [name, size] : needs.switching) {
    std::vector<switching::MatvecShape> shapes;
    for (const auto& [product, bytes] : needs.products) {
      if (product.first == name) shapes.push_back(product.second);
    }
    const session::SwitchContextPtr set = host->switching(name);
    bundle->switching[name] = {set, owner_->switch_keys(set, shapes)};
  }
  return ServerKeys(std::make_shared<session::StoredKeys>(host, std::move(bundle)));
}

Array Client::encrypt(const Values& x, const EncryptOptions& options) const {
  return session::encrypted(
      context_.state(), x, options, false,
      [&](std::span<const ckks::Plaintext> batch) { return owner_->encrypt(batch); });
}

std::vector<Complex> Client::decrypt(const Array& x) const {
  const ArrayState& s = session::state(x);
  return joined(s, owner_->decrypt(s.parts()));
}

std::vector<double> Client::decrypt_real(const Array& x) const {
  std::vector<double> out;
  for (const Complex& z : decrypt(x)) out.push_back(z.real());
  return out;
}

SharedValues Client::decrypt_for_sharing(const Array& x, std::optional<double> bound,
                                         std::uint64_t queries, int statistical_bits) const {
  const ArrayState& s = session::state(x);
  constexpr std::uint64_t kMaxQueries = std::uint64_t{1} << 40;
  if (queries < 1 || queries > kMaxQueries || statistical_bits < 1 || statistical_bits > 1000) {
    throw ValueError("decrypt_for_sharing",
                     std::to_string(queries) + " queries and " + std::to_string(statistical_bits) +
                         " statistical bits",
                     "from 1 to 2^40, and from 1 to 1000", "correct them");
  }
  const rlwe::Flooding flooding{noise_bound(s, bound), queries * s.parts().size(),
                                statistical_bits};
  SharedValues out;
  std::vector<std::vector<Complex>> rows;
  for (const ckks::Ciphertext& part : s.parts()) {
    ckks::SharedSlots shared = owner_->decrypt_for_sharing(part, flooding);
    rows.push_back(std::move(shared.values));
    out.sigma = shared.sigma / s.scale();
    out.bits_lost = shared.bits_lost;
  }
  out.values = joined(s, rows);
  return out;
}

}  // namespace latticino
