// What a backend is told while a client works: no record depends on a key.
#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "support/rlwe_support.h"
#include "tfhe/client.h"

namespace latticino::tfhe {
namespace {

// A CPU that writes down every number of the linear records it is given.
class Witness : public Backend {
 public:
  explicit Witness(std::string& seen) : seen_(seen), inner_(make_cpu_backend({true, 1})) {}
  DeviceInfo info() const override { return inner_->info(); }
  void* allocate(std::size_t bytes) override { return inner_->allocate(bytes); }
  void release(void* p, std::size_t bytes) noexcept override { inner_->release(p, bytes); }
  void fill(void* p, std::size_t bytes, std::uint8_t v) override { inner_->fill(p, bytes, v); }
  MemoryUse memory() const override { return inner_->memory(); }
  void reset_memory_peak() override { inner_->reset_memory_peak(); }
  void trim() noexcept override { inner_->trim(); }
  void clear(void* p, std::size_t bytes) override { inner_->clear(p, bytes); }
  void copy_in(void* d, const void* h, std::size_t bytes) override { inner_->copy_in(d, h, bytes); }
  void copy_out(void* h, const void* d, std::size_t bytes) override {
    inner_->copy_out(h, d, bytes);
  }
  void upload(const PolyView& to, const std::uint32_t* host) override { inner_->upload(to, host); }
  void download(std::uint32_t* h, const PolyView& from) override { inner_->download(h, from); }
  void synchronize() override { inner_->synchronize(); }
  void begin_record() override { inner_->begin_record(); }
  std::unique_ptr<Replay> end_record() override { return inner_->end_record(); }
  void abandon_record() noexcept override { inner_->abandon_record(); }
  void run(const Operation& op) override {
    seen_ += name(op);
    if (const auto* linear = std::get_if<Linear>(&op)) note(*linear);
    inner_->run(op);
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
  std::unique_ptr<Backend> inner_;
};

// Everything a client does with a key made from `seed`.
std::string records(const std::string& set, std::uint8_t seed) {
  std::string seen;
  const auto params = tfhe_preset(set);
  const auto context =
      Context::create(params, std::make_unique<Queue>(std::make_unique<Witness>(seen)));
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
