// The named TFHE sets. Noise of the default sets is the least that the security curve allows at
// their dimensions, rounded up to an integer; gadgets and dimensions were chosen by exhaustive
// search for the least arithmetic under the stated failure probability.
#include <cmath>

#include "math/errors.h"
#include "math/primes.h"
#include "params/bounds/security.h"
#include "params/names.h"
#include "params/tfhe/checks.h"
#include "params/tfhe/params.h"

namespace latticino {
namespace {

using Security = ParamsLiteral::Security;

TfheLiteral set(const char* name, int lwe, int glwe, int log_n, int primes, Gadget bootstrap,
                Gadget key_switch) {
  TfheLiteral x;
  x.name = name;
  x.lwe_dimension = lwe;
  x.glwe_dimension = glwe;
  x.log_n = log_n;
  // A prime of 30 bits leaves room for sums of products. tfhe-gates-v1 then fails with 2^-136; with
  // 31 bits it would fail with 2^-138. Two primes of 27 bits are precise enough for the larger
  // sets. Security relates the noise to the modulus, so their noise is 2^8 times smaller than with
  // two primes of 31 bits, and sampling it is faster.
  x.primes = ntt_primes_below(log_n, primes == 1 ? 1u << 30 : 1u << 27, primes);
  x.bootstrap = bootstrap;
  x.key_switch = key_switch;
  double log_ring = 0;
  for (const std::uint32_t q : x.primes) log_ring += std::log2(q);
  x.lwe_sigma = least_sigma_128(lwe, std::log2(x.primes[0]));
  x.glwe_sigma = least_sigma_128(glwe << log_n, log_ring);
  return x;
}

TfheLiteral integers(TfheLiteral x, double log_failure) {
  x.message_bits = x.carry_bits = 2;
  x.max_norm = 5;
  x.log_failure = log_failure;
  return x;
}

TfheLiteral failing(TfheLiteral x, double log_failure) {
  x.log_failure = log_failure;
  return x;
}

// The sets of Chameleon (Wang et al., Table 6). Two are those of the TFHE library of 2016 and of
// 2020. The noise of its own set is not published; we assume that of 2020.
TfheLiteral legacy(TfheLiteral x, double lwe_sigma, double glwe_sigma) {
  x.security = Security::Legacy;
  x.lwe_sigma = lwe_sigma * x.primes[0];
  x.glwe_sigma = glwe_sigma * x.primes[0];
  x.log_failure = -30;
  return x;
}

TfheLiteral insecure(TfheLiteral x) {
  x.security = Security::Insecure;
  x.lwe_sigma = x.glwe_sigma = 3.19;
  return x;
}

TfheLiteral grouped(TfheLiteral x, int group, bool ternary = false) {
  x.group = group;
  x.ternary = ternary;
  return x;
}

std::vector<TfheLiteral> literals() {
  return {
      // v1 is the faster one in exact arithmetic, v2 the faster one in FP64 (docs/tfhe.md).
      set("tfhe-gates-v1", 724, 2, 10, 1, {9, 2}, {4, 3}),
      failing(set("tfhe-gates-p64-v1", 700, 2, 10, 1, {9, 2}, {4, 3}), -64),
      set("tfhe-gates-v2", 721, 1, 11, 2, {23, 1}, {4, 3}),
      failing(set("tfhe-gates-p64-v2", 699, 1, 11, 2, {23, 1}, {4, 3}), -64),
      integers(set("tfhe-2-2-v1", 868, 1, 11, 2, {23, 1}, {3, 5}), -128),
      // Eight digits of two bits save 36 steps of a rotation compared with five digits of three
      // bits.
      integers(set("tfhe-2-2-v2", 832, 1, 11, 2, {23, 1}, {2, 8}), -128),
      integers(set("tfhe-2-2-p64-v1", 840, 1, 11, 2, {23, 1}, {4, 4}), -64),
      integers(grouped(set("tfhe-2-2-group3-v1", 870, 1, 11, 2, {23, 1}, {3, 5}), 3), -128),
      integers(grouped(set("tfhe-2-2-group3-fft64-v1", 876, 1, 11, 2, {23, 1}, {3, 5}), 3), -128),
      legacy(set("chameleon-500-legacy", 500, 1, 10, 1, {10, 2}, {2, 8}), 2.44e-5, 7.18e-9),
      legacy(set("chameleon-630-legacy", 630, 1, 10, 1, {7, 3}, {2, 8}), 0x1p-15, 0x1p-25),
      legacy(grouped(set("chameleon-630-group3-legacy", 630, 1, 10, 1, {7, 3}, {2, 8}), 3), 0x1p-15,
             0x1p-25),
      legacy(set("chameleon-592-legacy", 592, 1, 11, 1, {7, 3}, {2, 8}), 0x1p-15, 0x1p-25),
      // Small sets for tests.
      insecure(set("test-tfhe-gates-insecure", 64, 2, 10, 1, {9, 2}, {4, 3})),
      insecure(set("test-tfhe-gates-v2-insecure", 48, 1, 11, 2, {23, 1}, {4, 3})),
      insecure(grouped(set("test-tfhe-ternary-insecure", 48, 1, 10, 1, {7, 3}, {4, 3}), 1, true)),
      insecure(grouped(set("test-tfhe-group3-insecure", 48, 1, 10, 1, {7, 3}, {4, 3}), 3)),
      insecure(integers(set("test-tfhe-2-2-insecure", 48, 1, 11, 2, {23, 1}, {3, 5}), -128)),
      insecure(integers(set("test-tfhe-2-2-tiny-insecure", 8, 1, 10, 1, {10, 2}, {3, 5}), -128)),
  };
}

}  // namespace

void params::check_preset_name(const TfheParams& p) {
  params::check_plain_name("tfhe_params.check", p.name(), p.literal().security);
  params::check_name_of_other_schemes("tfhe_params.check", p.name(), params::Scheme::Tfhe);
  for (const TfheLiteral& x : literals()) {
    if (x.name == p.name() && params::to_text(x) != p.canonical_text()) {
      params::refuse_preset_name("tfhe_params.check", p.name());
    }
  }
}

std::shared_ptr<const TfheParams> tfhe_preset(const std::string& name) {
  for (TfheLiteral& x : literals()) {
    if (x.name == name) return TfheParams::check(std::move(x));
  }
  std::string names;
  for (const std::string& n : tfhe_preset_names()) names += (names.empty() ? "" : ", ") + n;
  throw ParameterError("params.tfhe_preset", "the name '" + name + "'", "one of " + names,
                       "choose one of them, or write a literal");
}

std::vector<std::string> tfhe_preset_names() {
  std::vector<std::string> names;
  for (const TfheLiteral& x : literals()) names.push_back(x.name);
  return names;
}

}  // namespace latticino
