#include "params/tfhe/params.h"

#include <algorithm>
#include <cmath>
#include <locale>
#include <sstream>

#include "crypto/sha256.h"
#include "math/errors.h"
#include "math/primes.h"
#include "params/bounds/security.h"
#include "params/names.h"
#include "params/text_lines.h"
#include "params/tfhe/checks.h"

namespace latticino {
namespace {

using params::text;

constexpr double kMinSigma = 3.19;
// log2 of the largest failure probability with which decryptions may be shared
constexpr double kMinShared = -128;

[[noreturn]] void refuse(const std::string& had, const std::string& needs,
                         const std::string& remedy = "correct the literal") {
  throw ParameterError("tfhe_params.check", had, needs, remedy);
}

void check_range(const char* what, double x, double least, double most) {
  if (!(least <= x && x <= most)) {
    refuse(std::string(what) + " " + text(x), text(least) + " to " + text(most));
  }
}

int modulus_bits(const TfheLiteral& x) {
  std::uint64_t q = 1;
  for (const std::uint32_t p : x.primes) q *= p;
  return bit_length(q);
}

void check_gadget(const char* what, Gadget g, int bits) {
  check_range((std::string(what) + " levels").c_str(), g.levels, 1, 16);
  check_range((std::string(what) + " log2 base").c_str(), g.log_base, 1, 30);
  if (g.levels * g.log_base > bits) {
    refuse(std::string(what) + " gadget of " + std::to_string(g.levels * g.log_base) + " bits",
           "at most the modulus' " + std::to_string(bits));
  }
}

void check_shape(const TfheLiteral& x) {
  check_range("log2(N)", x.log_n, 10, 13);
  check_range("GLWE dimension", x.glwe_dimension, 1, 4);
  check_range("LWE dimension", x.lwe_dimension, 1, 4096);
  check_range("group", x.group, 1, 4);
  if (x.ternary && x.group != 1) refuse("a ternary key in groups", "a binary key, or group 1");
  if (x.lwe_dimension % x.group != 0) {
    refuse("LWE dimension " + std::to_string(x.lwe_dimension),
           "a multiple of the group " + std::to_string(x.group));
  }
  check_range("number of primes", static_cast<double>(x.primes.size()), 1, 2);
  for (const std::uint32_t q : x.primes) {
    if (!is_ntt_prime(x.log_n, q) || q < (1u << 26)) {
      refuse("q = " + std::to_string(q), "primes of 27 to 31 bits, 1 modulo 2N");
    }
  }
  if (x.primes.size() == 2 && (x.primes[0] == x.primes[1] || x.primes[0] / 2 >= x.primes[1])) {
    refuse("primes " + std::to_string(x.primes[0]) + " and " + std::to_string(x.primes[1]),
           "distinct primes, the first below twice the second");
  }
  check_gadget("bootstrapping", x.bootstrap, modulus_bits(x));
  check_gadget("key switching", x.key_switch, bit_length(x.primes[0]));
  check_range("message bits", x.message_bits, 0, 8);
  check_range("carry bits", x.carry_bits, 0, 8);
  check_range("message and carry bits", x.message_bits + x.carry_bits, 0, x.log_n - 1);
  check_range("largest norm", x.max_norm, 1, 1e6);
  check_range("log2 of the failure probability", x.log_failure, -4096, -1);
}

void check_noise(const TfheLiteral& x, double log_lwe, double log_glwe) {
  check_range("LWE sigma", x.lwe_sigma, 0.5, std::exp2(30));
  check_range("GLWE sigma", x.glwe_sigma, 0.5, std::exp2(56));
  if (x.security != ParamsLiteral::Security::Bits128) return;
  if (x.lwe_sigma < kMinSigma || x.glwe_sigma < kMinSigma) {
    refuse("sigma " + text(std::min(x.lwe_sigma, x.glwe_sigma)), "at least 3.19");
  }
  const auto check_key = [](const char* what, int dimension, double log_noise) {
    const double least = min_log_lwe_noise_128(dimension);
    if (log_noise < least) {
      refuse(std::string(what) + " noise 2^" + text(log_noise) + " of the modulus at dimension " +
                 std::to_string(dimension),
             "at least 2^" + text(least) + " for 128 bits", "raise the dimension or the noise");
    }
  };
  check_key("LWE", x.lwe_dimension, log_lwe);
  check_key("GLWE", x.glwe_dimension << x.log_n, log_glwe);
}

TfheNoiseModel noise_model(const TfheLiteral& x) {
  TfheNoiseModel m;
  m.lwe_dimension = x.lwe_dimension;
  m.glwe_dimension = x.glwe_dimension;
  m.degree = 1 << x.log_n;
  m.log_lwe_modulus = std::log2(x.primes[0]);
  for (const std::uint32_t q : x.primes) m.log_ring_modulus += std::log2(q);
  m.lwe_sigma = x.lwe_sigma * std::exp2(-m.log_lwe_modulus);
  m.glwe_sigma = x.glwe_sigma * std::exp2(-m.log_ring_modulus);
  m.bootstrap = x.bootstrap;
  m.key_switch = x.key_switch;
  m.bootstrap_step = gadget_shift(x.bootstrap, modulus_bits(x)) - m.log_ring_modulus;
  m.key_switch_step = gadget_shift(x.key_switch, bit_length(x.primes[0])) - m.log_lwe_modulus;
  m.group = x.group;
  m.ternary = x.ternary;
  m.secret_mean = x.ternary ? 0 : 0.5;
  m.secret_square = x.ternary ? 2.0 / 3 : 0.5;
  return m;
}

}  // namespace

std::shared_ptr<const TfheParams> TfheParams::check(TfheLiteral literal) {
  params::check_name("tfhe_params.check", literal.name, literal.security);
  check_shape(literal);
  std::shared_ptr<TfheParams> p(new TfheParams());
  p->noise_ = noise_model(literal);
  p->literal_ = std::move(literal);
  check_noise(p->literal_, std::log2(p->noise_.lwe_sigma), std::log2(p->noise_.glwe_sigma));
  if (p->log_failure() > p->literal_.log_failure) {
    refuse("a failure probability of 2^" + text(p->log_failure()),
           "the stated 2^" + text(p->literal_.log_failure),
           "lower the noise or the norm, or state what holds");
  }
  p->hash_ = crypto::sha256_hex(p->canonical_text());
  params::check_preset_name(*p);
  return p;
}

double TfheParams::fresh_sigma() const {
  return std::max(kMinSigma, noise_.glwe_sigma * lwe_modulus());
}

double TfheParams::result_variance(bool fourier) const {
  return bootstrap_variance(noise_) + drop_variance(noise_) +
         (fourier ? fourier_variance(noise_) : 0);
}

double TfheParams::switch_variance(int log_many) const {
  return key_switch_variance(noise_) + mod_switch_variance(noise_, log_many);
}

double TfheParams::decision_variance(double norm, int log_many, bool fourier) const {
  return norm * norm * result_variance(fourier) + switch_variance(log_many);
}

double TfheParams::log_failure(bool fourier) const {
  return log_failure_of(result_variance(fourier), switch_variance());
}

double TfheParams::log_failure_of(double result_variance, double switch_variance) const {
  const auto failure = [&](double norm, double distance) {
    return latticino::log_failure(norm * norm * result_variance + switch_variance, distance);
  };
  if (booleans()) return std::max(failure(std::sqrt(2.0), 0.125), failure(std::sqrt(8.0), 0.25));
  return failure(literal_.max_norm, std::exp2(-(plain_bits() + 2)));
}

fourier::Refusal TfheParams::fourier_refusal() const {
  fourier::Rotation shape{log_n(), glwe_dimension(), literal_.group, literal_.ternary,
                          literal_.bootstrap};
  shape.primes = static_cast<int>(literal_.primes.size());
  shape.modulus = 1;
  for (const std::uint32_t q : literal_.primes) shape.modulus *= q;
  fourier::Refusal refusal = fourier::refusal(shape);
  if (!refusal.empty() || log_failure(true) <= literal_.log_failure) return refusal;
  return {"a failure probability of 2^" + text(log_failure(true)),
          "the stated 2^" + text(literal_.log_failure)};
}

double TfheParams::security_bits() const {
  return std::min(estimated_lwe_bits(lwe_dimension(), std::log2(noise_.lwe_sigma)),
                  estimated_lwe_bits(big_dimension(), std::log2(noise_.glwe_sigma)));
}

std::size_t TfheParams::bootstrap_key_bytes() const {
  const std::size_t k1 = glwe_dimension() + 1;
  return sizeof(std::uint32_t) * literal_.primes.size() * n() * steps() * keys_per_step() * k1 *
         k1 * literal_.bootstrap.levels;
}

std::size_t TfheParams::key_switch_key_bytes() const {
  return sizeof(std::uint32_t) * big_dimension() * literal_.key_switch.levels *
         (lwe_dimension() + 1);
}

std::string TfheParams::canonical_text() const { return params::to_text(literal_); }

std::string TfheParams::explain() const {
  const std::uint64_t bootstrap_in_files = bootstrap_key_bytes() / (glwe_dimension() + 1);
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out.precision(4);
  const auto bits = [](double variance) { return 0.5 * std::log2(variance); };
  const char* kept[] = {", at least 128", ": LEGACY set, not held to the curve",
                        ": INSECURE, for tests"};
  out << name() << "\n";
  if (booleans()) {
    out << "booleans at q/8 and -q/8\n";
  } else {
    out << "blocks of " << literal_.message_bits << " message and " << literal_.carry_bits
        << " carry bits; sums up to norm " << literal_.max_norm << " between bootstrappings\n";
  }
  out << "n = " << lwe_dimension() << (literal_.ternary ? " ternary" : " binary") << ", groups of "
      << literal_.group << "; k = " << glwe_dimension() << ", N = " << n() << ", modulus of "
      << noise_.log_ring_modulus << " bits\n"
      << "security: estimated " << security_bits() << " bits"
      << kept[static_cast<int>(literal_.security)] << "\n"
      << "log2 of deviations / q: bootstrapping " << bits(bootstrap_variance(noise_))
      << ", key switch " << bits(key_switch_variance(noise_)) << ", modulus switch "
      << bits(mod_switch_variance(noise_)) << "\nfailure probability of one bootstrapping 2^"
      << log_failure() << " (stated: 2^" << literal_.log_failure << ")\n"
      << (literal_.log_failure > kMinShared
              ? "above 2^-128: do NOT share decryptions under this set (docs/security.md)\n"
              : "")
      << "keys: bootstrapping " << bootstrap_key_bytes() / 1000000.0 << " MB, key switching "
      << key_switch_key_bytes() / 1000000.0 << " MB; in files " << bootstrap_in_files / 1000000.0
      << " MB in all\n"
      << "a ciphertext: " << 4 * (big_dimension() + 1)
      << " bytes, fresh in a file 4\nhash: " << hash_ << "\n";
  return out.str();
}

}  // namespace latticino
