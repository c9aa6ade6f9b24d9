// Which records an operation submits, in which order, on which primes and in which domains, the
// bytes that each counts, and how much memory all hold at once: known answers. A change of the code
// must change none of them, unless that is intended.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ckks/encoding/client.h"
#include "ckks/linear/linear_transform.h"
#include "crypto/sha256.h"
#include "ops/views.h"
#include "support/bootstrap_world.h"
#include "support/switch_world.h"
#include "support/tfhe_support.h"
#include "support/witness_backend.h"

namespace latticino {
namespace {

using ckks::BootstrapOptions;
using ckks::Ciphertext;
using ckks::Evaluator;
using ckks::World;

// For example "Transform[2]": a record with its views; `shapes` says which primes and domains these
// have.
struct Seen {
  std::vector<std::string> names;
  std::string shapes;

  void note(const Operation& op) {
    int views = 0;
    shapes += name(op);
    for_each_view(op, [&](const PolyView& v, bool written) {
      ++views;
      shapes += (written ? " >" : " <") + v.basis().str() + name(v.domain);
      shapes += std::to_string(v.ring->log_n());
    });
    for_each_address(op, [&](const void* address) { shapes += address != nullptr ? " *" : " 0"; });
    shapes += " " + std::to_string(bytes_moved(op)) + "\n";
    names.push_back(std::string(name(op)) + "[" + std::to_string(views) + "]");
  }
  std::string list() const {
    std::string out;
    for (const std::string& n : names) out += (out.empty() ? "" : " ") + n;
    return out;
  }
};

// The records that a piece of work submits, the bytes in use at once (with results), and a digest
// of the shapes.
struct Known {
  const char* what;
  std::size_t records;
  std::uint64_t peak;
  const char* digest;
};

class RecordSequences : public testing::Test {
 protected:
  using Work = std::function<void()>;
  static std::unique_ptr<Backend> witness() {
    return std::make_unique<test::WitnessBackend>([](const Operation& op) { seen().note(op); });
  }
  static Seen& seen() {
    static Seen all;
    return all;
  }
  void TearDown() override { seen() = {}; }

  // Runs each piece of work twice, because the first run makes tables and sums of digits.
  static void expect(const Known& known, Queue& queue, const std::vector<Work>& works) {
    Seen all;
    std::uint64_t peak = 0;
    for (const Work& work : works) {
      work();
      seen() = {};
      const std::uint64_t before = queue.live_bytes();
      queue.reset_peak();
      work();
      peak = std::max(peak, queue.peak_bytes() - before);
      all.names.insert(all.names.end(), seen().names.begin(), seen().names.end());
      all.shapes += seen().shapes;
    }
    const std::string digest = crypto::sha256_hex(all.shapes).substr(0, 16);
    EXPECT_TRUE(all.names.size() == known.records && peak == known.peak && digest == known.digest)
        << "had {\"" << known.what << "\", " << all.names.size() << ", " << peak << ", \"" << digest
        << "\"},\n"
        << all.list();
  }
};

using Program = World::Program;
using Batch = World::Batch;

Batch one(Ciphertext x) { return {std::move(x)}; }
Batch turned(const Batch& b) { return {b.rbegin(), b.rend()}; }

// Operations on three ciphertexts.
const std::map<std::string, Program>& programs() {
  static const std::map<std::string, Program> all = {
      {"multiply", [](const Evaluator& e, const Batch& b) { return one(e.multiply(b[0], b[1])); }},
      {"square", [](const Evaluator& e, const Batch& b) { return one(e.square(b[0])); }},
      {"multiply three",
       [](const Evaluator& e, const Batch& b) { return e.multiply(b, turned(b)); }},
      {"relinearize",
       [](const Evaluator& e, const Batch& b) { return one(e.relinearize(e.tensor(b[0], b[1]))); }},
      {"relinearize_rescale",
       [](const Evaluator& e, const Batch& b) {
         return one(e.relinearize_rescale(e.tensor(b[0], b[1])));
       }},
      {"dot",
       [](const Evaluator& e, const Batch& b) {
         const std::vector<Batch> x{b, turned(b)}, y{turned(b), b};
         return e.dot(x, y);
       }},
      {"rotate", [](const Evaluator& e, const Batch& b) { return one(e.rotate(b[0], 3)); }},
      {"rotate three", [](const Evaluator& e, const Batch& b) { return e.rotate(b, 5); }},
      {"rotate_hoisted",
       [](const Evaluator& e, const Batch& b) {
         const int steps[] = {0, 1, 2, 7};
         return e.rotate_hoisted(b[0], steps);
       }},
      {"conjugate three", [](const Evaluator& e, const Batch& b) { return e.conjugate(b); }},
      {"inner_sum",
       [](const Evaluator& e, const Batch& b) { return one(e.inner_sum(b[0], 1, 8)); }},
      {"rescale three", [](const Evaluator& e, const Batch& b) { return e.rescale(b); }},
  };
  return all;
}

// Operations at every level of a set, one level after the other.
class OperationSequences : public RecordSequences {
 protected:
  static void check(const char* set, const std::vector<Known>& known) {
    World world(preset(set), witness());
    ASSERT_EQ(known.size(), programs().size());
    for (const Known& k : known) {
      SCOPED_TRACE(set);
      std::vector<Work> works;
      for (int level = 1; level <= world.params().top_level(); ++level) {
        Batch x;
        for (unsigned i = 0; i < 3; ++i) {
          x.push_back(world.encrypt(world.values(world.params().max_slots(), i), level));
        }
        rlwe::KeyRequest request;
        const Program& program = programs().at(k.what);
        world.dry_run(program, x, &request);
        const auto evaluator =
            std::make_shared<Evaluator>(world.context(), world.make_keys(request));
        works.push_back([=] { program(*evaluator, x); });
      }
      expect(k, world.context()->queue(), works);
    }
  }
};

TEST_F(OperationSequences, OfABootstrappingSet) {
  check("test-n10-boot-insecure", {
                                      {"multiply", 95, 1740800, "501d0cfcccff8295"},
                                      {"square", 95, 1740800, "ecc03533ad893467"},
                                      {"multiply three", 95, 5222400, "68eabd60d1758de3"},
                                      {"relinearize", 114, 2203648, "19e8b85267a919a3"},
                                      {"relinearize_rescale", 114, 2170880, "9d48363338cba399"},
                                      {"dot", 114, 6512640, "30fcbe0e8f356d25"},
                                      {"rotate", 95, 1773568, "d95ece36ece09dec"},
                                      {"rotate three", 95, 5320704, "d8d62d5355dda6bf"},
                                      {"rotate_hoisted", 95, 3592192, "39bd1ae7d2a765e7"},
                                      {"conjugate three", 95, 5320704, "d8d62d5355dda6bf"},
                                      {"inner_sum", 342, 2060288, "004da8159f0c9b5e"},
                                      {"rescale three", 57, 1671168, "f9c363f0e9e48fa9"},
                                  });
}

TEST_F(OperationSequences, OfASetWithBands) {
  check("test-n10-bands-insecure", {
                                       {"multiply", 95, 1740800, "3141857fe8ded0b9"},
                                       {"square", 95, 1740800, "b100489e2ddf647d"},
                                       {"multiply three", 95, 5222400, "8cc3835fbb93e319"},
                                       {"relinearize", 114, 2203648, "5edd2bd36830348e"},
                                       {"relinearize_rescale", 114, 2170880, "071d3741ac76253c"},
                                       {"dot", 114, 6512640, "10fdeff3752843cb"},
                                       {"rotate", 95, 1773568, "630021bdbb8d86cf"},
                                       {"rotate three", 95, 5320704, "c0bc1e57f244fd86"},
                                       {"rotate_hoisted", 95, 3592192, "ee8ad8317bd31b1a"},
                                       {"conjugate three", 95, 5320704, "c0bc1e57f244fd86"},
                                       {"inner_sum", 342, 2060288, "f7100c33c14f567d"},
                                       {"rescale three", 57, 1671168, "f9c363f0e9e48fa9"},
                                   });
}

TEST_F(OperationSequences, OfALeveledSet) {
  check("test-n10-leveled-insecure", {
                                         {"multiply", 30, 425984, "9985fb41f3b33eaf"},
                                         {"square", 30, 425984, "c1085f1def193f58"},
                                         {"multiply three", 30, 1277952, "be4e228737e1518a"},
                                         {"relinearize", 36, 565248, "6c127168e10d9a64"},
                                         {"relinearize_rescale", 36, 548864, "047f467113219f27"},
                                         {"dot", 36, 1646592, "b0f5370e69f91efd"},
                                         {"rotate", 30, 442368, "477500a2d0dae46d"},
                                         {"rotate three", 30, 1327104, "6fcd531e25826a22"},
                                         {"rotate_hoisted", 30, 983040, "b9b4799907333bb0"},
                                         {"conjugate three", 30, 1327104, "6fcd531e25826a22"},
                                         {"inner_sum", 108, 524288, "63a999e73aed96d3"},
                                         {"rescale three", 18, 516096, "fe0f54ecb6832cf0"},
                                     });
}

TEST_F(OperationSequences, OfDoubleRescaling) {
  check("test-n10-dr-insecure", {
                                    {"multiply", 20, 409600, "07271db4beeb9532"},
                                    {"square", 20, 409600, "0bce05b72b110ef0"},
                                    {"multiply three", 20, 1228800, "31528cb54f1558fc"},
                                    {"relinearize", 24, 565248, "5f29d56643c921b2"},
                                    {"relinearize_rescale", 24, 532480, "e2e61b5909914bf4"},
                                    {"dot", 24, 1597440, "7bb881f601ea3199"},
                                    {"rotate", 20, 442368, "9405ff8d82f30acc"},
                                    {"rotate three", 20, 1327104, "a0d90ace44575c83"},
                                    {"rotate_hoisted", 20, 983040, "027dd93920461333"},
                                    {"conjugate three", 20, 1327104, "a0d90ace44575c83"},
                                    {"inner_sum", 72, 524288, "3838e1b55369b1ad"},
                                    {"rescale three", 12, 442368, "fa818badc2e889ef"},
                                });
}

// Matrices by diagonals: hoisted with one division or two, of one ciphertext and of several, and
// with the fewest keys.
TEST_F(RecordSequences, OfMatrices) {
  World world(preset("test-n10-boot-insecure"), witness());
  const int slots = 32, level = 3;
  ckks::Diagonals diagonals;
  for (const int d : {0, 1, 2, 3, 5, 8, 9, 13, 21}) diagonals[d] = world.values(slots, 40u + d);
  Batch x;
  for (unsigned i = 0; i < 2; ++i) x.push_back(world.encrypt(world.values(slots, i), level));
  const std::pair<Known, ckks::LinearTransform::Options> all[] = {
      {{"merged", 14, 1769472, "bf59c84680bcf8ff"}, {.level = level, .merged = true}},
      {{"divided twice", 20, 1769472, "419a9ec89886ad94"}, {.level = level, .merged = false}},
      {{"minimal keys", 144, 507904, "a48fa44c115e2f71"},
       {.level = level, .baby_steps = 4, .hoisted = false}},
  };
  for (const auto& [known, options] : all) {
    const ckks::LinearTransform transform(world.context(), diagonals, slots, options);
    const auto program = [&](const Evaluator& e, const Batch& b) {
      return ckks::LinearTransform(e.context(), diagonals, slots, options).apply(e, b);
    };
    rlwe::KeyRequest request;
    world.dry_run(program, x, &request);
    const Evaluator evaluator(world.context(), world.make_keys(request));
    expect(known, world.context()->queue(),
           {[&] { transform.apply(evaluator, x[0]); }, [&] { transform.apply(evaluator, x); }});
  }
}

TEST_F(RecordSequences, OfBootstrapping) {
  using Message = BootstrapOptions::Message;
  const std::pair<Known, BootstrapOptions> all[] = {
      {{"complex", 195, 5095424, "e19e1328867d7feb"}, {}},
      {{"sparse slots", 180, 2547712, "622a6b16338ef2ec"}, {.slots = 16}},
      {{"real, minimal keys", 267, 3305472, "101f53ab0d5d1004"},
       {.slots = 64, .message = Message::Real, .minimal_keys = true}},
      {{"slots first", 176, 5095424, "a31b4fe48ef7e5e5"},
       {.slots = 32, .slot_to_coeff_first = true}},
      {{"over-raised", 183, 2547712, "850e04a40081377f"}, {.slots = 16, .over_mod_raise = true}},
  };
  World world(preset("test-n10-boot-insecure"), witness());
  for (const auto& [known, options] : all) {
    const ckks::BootstrapWorld b(world, options);
    const Ciphertext x = world.encrypt(world.values(b.slots(), 7), b.plan().input_level());
    expect(known, world.context()->queue(), {[&] { b.bootstrap(x); }});
  }
}

TEST_F(RecordSequences, OfSwitching) {
  using switching::Route;
  switching::SwitchWorld w("test-switch-n12-insecure", witness());
  w.need({16, 1024});
  const std::pair<Known, Route> all[] = {
      {{"ring", 262, 10470400, "160f4d1888d7d607"}, Route::Ring},
      {{"matvec", 165, 13289472, "e2dc9faaada69e37"}, Route::Matvec},
  };
  for (const auto& [known, route] : all) {
    const switching::SwitchPlan plan(w, {.slots = 16, .bound = 1, .route = route});
    const Ciphertext x = plan.encrypt(switching::SwitchWorld::spread(16, 1));
    const switching::Table table = switching::make_table(
        w.context(), [](double v) { return v * v; }, 1);
    expect(known, w.ckks().context()->queue(),
           {[&] { plan.plan().apply(plan.evaluator(), x, table); }});
  }
}

// What a client does: keys, encryption, decryption for itself and for others.
TEST_F(RecordSequences, OfClients) {
  World world(preset("test-n10-boot-insecure"), witness());
  Queue& queue = world.context()->queue();
  const std::vector<ckks::Plaintext> plain{
      ckks::encode(world.context(), world.values(64, 1), 3, world.params().scale(3)),
      ckks::encode(world.context(), world.values(64, 2), 2, world.params().scale(2))};
  const Batch x = ckks::encrypt(world.secret(), plain, world.random());
  const rlwe::PublicKey key =
      rlwe::make_public_key(world.context()->constants(), queue, world.secret(), world.random());
  expect({"encode", 2, 25600, "15b3c2186bb70e30"}, queue,
         {[&] { ckks::encode(world.context(), world.values(64, 1), 3, world.params().scale(3)); }});
  expect({"encrypt", 14, 151552, "e7790c4efe4edbe6"}, queue,
         {[&] { ckks::encrypt(world.secret(), plain, world.random()); }});
  expect({"encrypt with a public key", 10, 122880, "736ab2093fdc6cb5"}, queue, {[&] {
           rlwe::encrypt_public(world.context()->constants(), queue, key, plain[0].poly.view, 3,
                                world.random());
         }});
  expect({"decrypt", 12, 73728, "4e79c27ca2d8ada1"}, queue,
         {[&] { ckks::decrypt(world.secret(), x); }});
  expect({"decrypt for sharing", 8, 73728, "d22d5e2adbe0177c"}, queue, {[&] {
           ckks::decrypt_for_sharing(world.secret(), x[0], {.noise_bound = 1e4, .queries = 10},
                                     world.random());
         }});
  expect({"keys", 30, 770048, "cafd1f17e495ad36"}, queue, {[&] {
           world.make_keys({{{rlwe::KeyKind::Relinearize, 1}, 3}, {{rlwe::KeyKind::Galois, 5}, 2}});
         }});
}

TEST_F(RecordSequences, OfTfhe) {
  using Arithmetic = BlindRotateArithmetic;
  const std::pair<Known, std::pair<const char*, Arithmetic>> all[] = {
      {{"one prime", 329, 6828032, "6b0a17a03be45415"},
       {"test-tfhe-gates-insecure", Arithmetic::Exact}},
      {{"one prime in FP64", 329, 6828032, "0aaff044dca5bd98"},
       {"test-tfhe-gates-insecure", Arithmetic::Fft64}},
      {{"ternary", 487, 5632000, "42652b9b4fb100a2"},
       {"test-tfhe-ternary-insecure", Arithmetic::Exact}},
  };
  for (const auto& [known, set] : all) {
    const auto params = tfhe_preset(set.first);
    session::TfheKeyHolder own(
        tfhe::Context::create(params, std::make_unique<Queue>(witness()), set.second),
        test::fixed_random(1));
    std::shared_ptr<tfhe::ServerKeys> keys = own.server_keys();
    const std::vector<std::uint32_t> bits{0, 1, 1, 0, 1};
    const tfhe::Ciphertext x = own.encrypt(bits, tfhe::Encoding::Boolean);
    expect(known, own.context->queue(),
           {[&] { keys = own.server_keys(); }, [&] { own.encrypt(bits, tfhe::Encoding::Boolean); },
            [&] { tfhe::Evaluator(own.context, keys).gate(tfhe::Gate::Nand, x, x); }});
  }
}

}  // namespace
}  // namespace latticino
