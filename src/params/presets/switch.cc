// The named sets of switching. Dimensions and gadgets were chosen for the least work with which the
// predicted error, with a normal distribution, meets the stated one: mean 2^-8 of the bound and
// 2^-6 for the worst of 10^4, or mean 2^-10.
#include <memory>
#include <string>
#include <utility>

#include "crypto/per_process.h"
#include "math/errors.h"
#include "params/names.h"
#include "params/switch/params.h"

namespace latticino {
namespace {

using Security = ParamsLiteral::Security;

struct SwitchRecipe {
  const char* ckks;
  SwitchLiteral literal;
};

std::vector<SwitchRecipe> switch_recipes() {
  constexpr double kFailure = -80;
  constexpr Security kSecure = Security::Bits128, kInsecure = Security::Insecure;
  return {
      {"n16-d40-boot-v1", {"switch-n16-d40-v1", 12, 880, {30, 1}, {2, 8}}},
      {"n16-d35-boot-v1", {"switch-n16-d35-v1", 12, 880, {30, 1}, {2, 8}}},
      {"n16-d40-boot-v1", {"switch-n16-d40-precise-v1", 13, 1012, {30, 1}, {2, 10}}},
      // Tables in FP64. They have two digits, because rounding errors grow with the number of
      // digits.
      {"n16-d40-boot-v1",
       {"switch-n16-d40-fp64-v1", 12, 880, {15, 2}, {2, 8}, 0, kFailure, kSecure, true}},
      {"n16-d35-boot-v1",
       {"switch-n16-d35-fp64-v1", 12, 880, {15, 2}, {2, 8}, 0, kFailure, kSecure, true}},
      // Small sets for tests.
      {"test-n10-boot-insecure",
       {"test-switch-n10-insecure", 10, 64, {30, 1}, {4, 5}, 3.19, kFailure, kInsecure}},
      {"test-n12-boot-insecure",
       {"test-switch-n12-insecure", 10, 64, {30, 1}, {4, 5}, 3.19, kFailure, kInsecure}},
      {"test-n12-boot-insecure",
       {"test-switch-n12-fp64-insecure", 10, 64, {15, 2}, {4, 5}, 3.19, kFailure, kInsecure, true}},
  };
}

}  // namespace

// The name of the CKKS set already stands for its parameters.
void check_switch_preset_name(const Params& ckks, const SwitchLiteral& literal) {
  params::check_plain_name("switch_params.check", literal.name, literal.security);
  params::check_name_of_other_schemes("switch_params.check", literal.name,
                                      params::Scheme::Switching);
  for (const SwitchRecipe& r : switch_recipes()) {
    if (r.literal.name == literal.name && !(r.literal == literal && r.ckks == ckks.name())) {
      params::refuse_preset_name("switch_params.check", literal.name);
    }
  }
}

// Stored like the sets of preset(): every context asks for all of them, to find those of its
// parameters.
std::shared_ptr<const SwitchParams> switch_preset(const std::string& name) {
  constexpr std::size_t kMaxNames = 64;  // more than there are
  static auto& checked =
      *new crypto::PerProcess<std::string, std::shared_ptr<const SwitchParams>>(kMaxNames);
  return checked.get(name, [&] {
    for (SwitchRecipe& r : switch_recipes()) {
      if (r.literal.name == name) {
        return SwitchParams::check(preset(r.ckks), std::move(r.literal));
      }
    }
    std::string names;
    for (const std::string& n : switch_preset_names()) names += (names.empty() ? "" : ", ") + n;
    throw ParameterError("params.switch_preset", "the name '" + name + "'", "one of " + names,
                         "choose one of them, or write a literal");
  });
}

std::vector<std::string> switch_preset_names() {
  std::vector<std::string> names;
  for (const SwitchRecipe& r : switch_recipes()) names.push_back(r.literal.name);
  return names;
}

}  // namespace latticino
