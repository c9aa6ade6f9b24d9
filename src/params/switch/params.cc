#include "params/switch/params.h"

#include <algorithm>
#include <cmath>
#include <locale>
#include <sstream>
#include <utility>

#include "crypto/sha256.h"
#include "math/errors.h"
#include "params/bounds/security.h"
#include "params/names.h"
#include "params/text_lines.h"

namespace latticino {
namespace {

using params::text;

constexpr double kErrorVariance = 3.19 * 3.19;
constexpr double kMinFill = 0.5;

[[noreturn]] void refuse(const std::string& had, const std::string& needs,
                         const std::string& remedy = "correct the literal") {
  throw ParameterError("switch_params.check", had, needs, remedy);
}

void check_sets(const Params& ckks, const SwitchLiteral& x) {
  if (!ckks.bootstrap()) {
    refuse("the CKKS set " + ckks.name() + " without bootstrapping", "one that bootstraps",
           "choose a set named ...-boot-...");
  }
  if (ckks.alpha() < 3) {
    refuse(std::to_string(ckks.alpha()) + " auxiliary primes", "three and more",
           "choose another CKKS set");
  }
  const int log_gap = ckks.log_n() - x.log_n;
  if (x.log_n < 10 || x.log_n > 13 || log_gap < 0 || log_gap == 1) {
    refuse("a table ring of degree 2^" + std::to_string(x.log_n) + " beside N = 2^" +
               std::to_string(ckks.log_n()),
           "2^10 to 2^13, N itself or at most N/4", "choose another log_n");
  }
  using Security = ParamsLiteral::Security;
  if (x.security == Security::Bits128 && ckks.literal().security != Security::Bits128) {
    refuse("128 bits beside the CKKS set " + ckks.name(), "a CKKS set of 128 bits",
           "choose another CKKS set, or say in the name that the set is not secure");
  }
}

std::uint32_t prime_of(const Params& ckks, const Basis& basis, int i) {
  return ckks.ring_primes()[basis.prime(i)];
}

TfheLiteral tfhe_literal(const Params& ckks, const Basis& ring, const SwitchLiteral& x) {
  TfheLiteral t;
  t.name = x.name + "-tfhe";
  t.lwe_dimension = x.lwe_dimension;
  t.glwe_dimension = 1;
  t.log_n = x.log_n;
  t.primes = {prime_of(ckks, ring, 0), prime_of(ckks, ring, 1)};
  t.bootstrap = x.bootstrap;
  t.key_switch = x.key_switch;
  t.lwe_sigma =
      x.lwe_sigma > 0 ? x.lwe_sigma : least_sigma_128(x.lwe_dimension, std::log2(t.primes[0]));
  t.glwe_sigma = std::sqrt(kErrorVariance);
  t.security = x.security;
  return t;
}

ParamsLiteral packing_literal(const Params& ckks, const Basis& ring, const Basis& aux,
                              const SwitchLiteral& x) {
  ParamsLiteral p;
  p.name = x.name + "-packing";
  p.log_n = x.log_n;
  p.mains = {prime_of(ckks, ring, 0), prime_of(ckks, ring, 1)};
  p.aux = {prime_of(ckks, aux, 0)};
  p.levels = {{2, 0}};
  p.alpha = 1;
  p.security = x.security;
  return p;
}

// Keys under the binary secret s' of N' coefficients must satisfy the curve for binary keys as well
// as the table.
void check_key_modulus(double log_modulus, const SwitchLiteral& x) {
  if (x.security != ParamsLiteral::Security::Bits128) return;
  const double most = 0.5 * std::log2(kErrorVariance) - min_log_lwe_noise_128(1 << x.log_n);
  if (log_modulus > most) {
    refuse("keys of " + text(log_modulus) + " bits at N' = 2^" + std::to_string(x.log_n),
           "at most " + text(most) + " for 128 bits", "choose a larger table ring");
  }
}

void check_rotations(const TfheParams& tfhe, const SwitchLiteral& x) {
  if (!x.fourier) return;
  const fourier::Refusal refusal = tfhe.fourier_refusal();
  if (refusal.empty()) return;
  refuse(refusal.had + " for tables in FP64", refusal.needs,
         "rotate exactly, or take smaller digits or another table ring");
}

double rotation_variance(const TfheParams& tfhe, const SwitchLiteral& x) {
  const double rounded = x.fourier ? fourier_variance(tfhe.noise()) : 0;
  return bootstrap_variance(tfhe.noise()) + rounded;
}

// The distance, in deviations, that normal noise exceeds with probability 2^log_p.
double deviations(double log_p) {
  double low = 0, high = 100;
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (latticino::log_failure(1, middle) > log_p ? low : high) = middle;
  }
  return high;
}

}  // namespace

void SwitchParams::pick_primes() {
  const Basis aux = ckks_->aux_basis();
  std::vector<std::uint16_t> by_size;
  by_size.reserve(aux.size());
  for (int i = 0; i < aux.size(); ++i) by_size.push_back(static_cast<std::uint16_t>(aux.prime(i)));
  std::sort(by_size.begin(), by_size.end(),
            [&](int a, int b) { return ckks_->ring_primes()[a] > ckks_->ring_primes()[b]; });
  const auto one = [](std::uint16_t p) { return Basis{{p, static_cast<std::uint16_t>(p + 1)}}; };
  key_aux_ = one(by_size[0]);
  ring_basis_ = one(by_size[1]).with(one(by_size[2]));
}

std::shared_ptr<const SwitchParams> SwitchParams::check(std::shared_ptr<const Params> ckks,
                                                        SwitchLiteral literal) {
  params::check_name("switch_params.check", literal.name, literal.security);
  check_sets(*ckks, literal);
  std::shared_ptr<SwitchParams> p(new SwitchParams());
  p->ckks_ = std::move(ckks);
  p->literal_ = std::move(literal);
  p->pick_primes();
  p->tfhe_ = TfheParams::check(tfhe_literal(*p->ckks_, p->ring_basis_, p->literal_));
  check_rotations(*p->tfhe_, p->literal_);
  p->packing_ = Params::check(packing_literal(*p->ckks_, p->ring_basis_, p->key_aux_, p->literal_));
  check_key_modulus(p->log_key_modulus(), p->literal_);
  p->fill_ = 1 - 4 * deviations(p->literal_.log_failure) * std::sqrt(p->lookup_variance());
  if (!(p->fill_ >= kMinFill)) {
    refuse("noise of 2^" + text(0.5 * std::log2(p->lookup_variance())) + " of the torus",
           "noise that leaves values half of the table and more", "raise the dimensions");
  }
  p->hash_ = crypto::sha256_hex(p->canonical_text());
  check_switch_preset_name(*p->ckks_, p->literal_);
  return p;
}

Basis SwitchParams::lwe_basis() const {
  const auto p = static_cast<std::uint16_t>(ring_basis_.prime(0));
  return {{p, static_cast<std::uint16_t>(p + 1)}};
}

double SwitchParams::sample_variance() const {
  const double q = tfhe_->lwe_modulus(), p = prime_of(*ckks_, key_aux_, 0);
  // From the base modulus to q, the digit of the ring switch (one prime over one), its division.
  const double changed = ckks_->division_variance(ckks_->limbs(0));
  const double digit = ckks_->n() * kErrorVariance / 12 * (q / p) * (q / p);
  const double divided = (n() / 2.0 + 1) / 12;
  return (changed + digit + divided) / (q * q);
}

double SwitchParams::lookup_variance() const {
  return sample_variance() + key_switch_variance(tfhe_->noise()) +
         mod_switch_variance(tfhe_->noise());
}

double SwitchParams::amplitude() const {
  return std::ldexp(1.0, -ckks_->bootstrap()->log_message_ratio);
}

// A merge adds a key switch's error to values that it doubles: (N'/2)^2 / 3 of one in all.
double SwitchParams::packed_variance() const {
  double digits = 0, log_q = 0;
  const double p = prime_of(*ckks_, key_aux_, 0);
  for (int i = 0; i < 2; ++i) {
    const double q = prime_of(*ckks_, ring_basis_, i);
    digits += (q / p) * (q / p);
    log_q += std::log2(q);
  }
  const double one = n() * kErrorVariance / 12 * digits + (n() / 2.0 + 1) / 12;
  const double packing = n() * (n() / 12.0) * one * std::exp2(-2 * log_q);
  return (rotation_variance(*tfhe_, literal_) + packing) / (amplitude() * amplitude());
}

double SwitchParams::value_variance() const {
  return (rotation_variance(*tfhe_, literal_) + drop_variance(tfhe_->noise())) /
         (amplitude() * amplitude());
}

// A sum of N' independent uniforms on [-1/4, 1/4] and a body within 1/2. Uniforms are strictly
// sub-Gaussian: Pr[|sum| > t] <= 2 exp(-t^2 / (2 N'/48)).
int SwitchParams::overflow_range(int values) const {
  constexpr double kLogFailure = -80;
  const double exponent = (1 + std::log2(values) - kLogFailure) * std::log(2.0);
  const double sum = std::sqrt(2 * exponent * n() / 48.0);
  return static_cast<int>(std::ceil(sum + 0.75));
}

double SwitchParams::log_key_modulus() const { return packing_->log_pq(); }

std::string SwitchParams::canonical_text() const {
  const SwitchLiteral& x = literal_;
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out.precision(17);
  out << "latticino switch 1\nname " << x.name << "\nckks " << ckks_->hash() << "\nlog_n "
      << x.log_n << "\nlwe_dimension " << x.lwe_dimension << "\nbootstrap " << x.bootstrap.log_base
      << " " << x.bootstrap.levels << "\nkey_switch " << x.key_switch.log_base << " "
      << x.key_switch.levels << "\nlwe_sigma " << tfhe_->literal().lwe_sigma << "\nlog_failure "
      << x.log_failure << "\nsecurity " << params::security_name(x.security) << "\n";
  if (x.fourier) out << "fourier 1\n";
  return out.str();
}

std::string SwitchParams::explain() const {
  const double lookup = std::sqrt(lookup_variance()) * 4 / fill_;
  const auto bits = [](double x) { return "2^" + text(std::log2(x)); };
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out.precision(4);
  out << name() << ": CKKS " << ckks_->name() << ", tables of N' = " << n()
      << ", n = " << literal_.lwe_dimension << ", rotated "
      << (literal_.fourier ? "in FP64" : "exactly") << "\nprimes";
  for (const std::uint32_t q : tfhe_->literal().primes) out << " " << q;
  out << ", keys divide by " << prime_of(*ckks_, key_aux_, 0) << ": " << log_key_modulus()
      << " bits under s'\nerror of a looked-up argument, of its bound: deviation " << bits(lookup)
      << " (key switch " << bits(std::sqrt(key_switch_variance(tfhe_->noise())) * 4 / fill_)
      << ", modulus switch " << bits(std::sqrt(mod_switch_variance(tfhe_->noise())) * 4 / fill_)
      << ")\nerror of a packed value, of the largest: deviation "
      << bits(std::sqrt(packed_variance())) << "\nvalues fill " << fill_
      << " of the table; over its edge with 2^" << literal_.log_failure << "\nsecurity "
      << params::security_name(literal_.security) << ", estimated " << tfhe_->security_bits()
      << " bits\n";
  return out.str();
}

}  // namespace latticino
