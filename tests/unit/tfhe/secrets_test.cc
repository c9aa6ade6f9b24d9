// The records that a backend gets while a client works: none of them depends on a key.
#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "support/rlwe_support.h"
#include "support/witness_backend.h"
#include "tfhe/client.h"

namespace latticino::tfhe {
namespace {

// Writes down every number of the linear records that it gets.
class Numbers {
 public:
  explicit Numbers(std::string& seen) : seen_(seen) {}
  void operator()(const Operation& op) {
    seen_ += name(op);
    if (const auto* linear = std::get_if<Linear>(&op)) note(*linear);
  }

 private:
  void note(const std::vector<std::uint32_t>& constants) {
    for (const std::uint32_t c : constants) seen_ += " " + std::to_string(c);
    seen_ += ";";
  }
  void note(const Linear& op) {
    for (const Linear::Item& item : op.items) {
      for (const Linear::Term& t : item.terms) {
        seen_ += "\n" + std::to_string(t.small);
        note(t.residues);
        note(t.upper);
      }
      note(item.constant);
      note(item.constant_upper);
    }
  }
  std::string& seen_;
};

// Everything that a client does with a key made from `seed`.
std::string records(const std::string& set, std::uint8_t seed) {
  std::string seen;
  const auto params = tfhe_preset(set);
  const auto context = Context::create(
      params, std::make_unique<Queue>(std::make_unique<test::WitnessBackend>(Numbers(seen))));
  rlwe::Random random = test::fixed_random(seed);
  const SecretKey secret = SecretKey::generate(params, random);
  make_server_keys(*context, secret, random);
  return seen;
}

TEST(TfheSecrets, NoConstantOfARecordDependsOnTheKey) {
  for (const char* set : {"test-tfhe-gates-insecure", "test-tfhe-2-2-tiny-insecure",
                          "test-tfhe-ternary-insecure", "test-tfhe-group3-insecure"}) {
    const std::string one = records(set, 1);
    EXPECT_NE(one.find("Linear"), std::string::npos);
    EXPECT_TRUE(one == records(set, 2)) << set;
  }
}

}  // namespace
}  // namespace latticino::tfhe
