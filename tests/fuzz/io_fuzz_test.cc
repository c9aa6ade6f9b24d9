// Hostile files. Every altered byte string must end in a FileError, ContextError or ParameterError;
// nothing may crash, hang or allocate more than a small multiple of the file. Checks have no
// key, so the second half repairs them after every mutation, and the parsers behind them are
// reached.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "io/bundle_file.h"
#include "io/files.h"
#include "io/final_ciphertext.h"
#include "io/switch_files.h"
#include "io/tfhe_files.h"
#include "math/errors.h"
#include "support/io_support.h"
#include "support/tfhe_support.h"
#include "switch/client.h"

namespace latticino::io {
namespace {

using test::Bytes;
using test::FileWorld;
using test::get64;
using test::kMetadataLengthAt;
using test::repair;
using test::saved;

FileWorld& world() {
  static FileWorld w(preset("test-n10-boot-insecure"));
  return w;
}

test::TfheWorld& tfhe_world() {
  static test::TfheWorld w("test-tfhe-2-2-tiny-insecure");
  return w;
}

// On the context of world(), whose parameter set it belongs to.
const std::shared_ptr<const switching::Context>& switching_context() {
  static const auto kContext =
      switching::Context::create(switch_preset("test-switch-n10-insecure"), world().context);
  return kContext;
}

struct Kind {
  Scheme scheme;
  ObjectType type;
};
std::string name(const Kind& kind) {
  return std::string(io::name(kind.type)) + " of " + io::name(kind.scheme);
}
// Kind number i of all kinds. Public keys exist for CKKS only, and are refused for TFHE. Switching
// has only keys.
Kind kind_of(unsigned i) {
  i %= 13;
  if (i == 10) return {Scheme::Switching, ObjectType::EvaluationKeys};
  if (i > 10) return {i == 11 ? Scheme::Ckks : Scheme::Tfhe, ObjectType::Bundle};
  return {i < 5 ? Scheme::Ckks : Scheme::Tfhe, static_cast<ObjectType>(1 + i % 5)};
}
// And the reverse.
std::uint8_t number(const Kind& kind) {
  std::uint8_t i = 0;
  while (kind_of(i).scheme != kind.scheme || kind_of(i).type != kind.type) ++i;
  return i;
}

// The results of loading altered bytes.
enum class Outcome { Loaded, Refused };

void load_bundle(Source& source, Scheme scheme) {
  BundleReader reader(source, scheme);
  for (std::size_t i = 0; i < reader.names().size(); ++i) {
    reader.next([&](Source& part) {
      if (scheme == Scheme::Tfhe) {
        load_server_keys(part, *tfhe_world().context);
      } else {
        load_keys(part, world().constants(), world().queue());
      }
    });
  }
  reader.finish();
}

void load_tfhe(ObjectType type, Source& source) {
  test::TfheWorld& w = tfhe_world();
  switch (type) {
    case ObjectType::Params:
      load_tfhe_params(source);
      break;
    case ObjectType::EvaluationKeys:
      load_server_keys(source, *w.context);
      break;
    case ObjectType::Ciphertexts:
      load_tfhe_ciphertexts(source, w.context);
      break;
    case ObjectType::SecretKey:
      load_tfhe_secret_key(source, w.params);
      break;
    case ObjectType::Bundle:
      load_bundle(source, Scheme::Tfhe);
      break;
    case ObjectType::PublicKey:
      throw FileError("test", "a public key", "another kind", "none");
  }
}

Outcome load_any(const Kind& kind, std::span<const std::uint8_t> bytes) {
  FileWorld& w = world();
  MemorySource source(bytes);
  try {
    if (kind.scheme == Scheme::Tfhe) {
      load_tfhe(kind.type, source);
      return Outcome::Loaded;
    }
    if (kind.scheme == Scheme::Switching) {
      load_switch_keys(source, *switching_context());
      return Outcome::Loaded;
    }
    switch (kind.type) {
      case ObjectType::Params:
        load_params(source);
        break;
      case ObjectType::EvaluationKeys:
        load_keys(source, w.constants(), w.queue());
        break;
      case ObjectType::PublicKey:
        load_public_key(source, w.constants(), w.queue());
        break;
      case ObjectType::Ciphertexts:
        load_ciphertexts(source, w.context);
        break;
      case ObjectType::SecretKey:
        load_secret_key(source, w.params);
        break;
      case ObjectType::Bundle:
        load_bundle(source, Scheme::Ckks);
        break;
    }
  } catch (const FileError&) {
    return Outcome::Refused;
  } catch (const ContextError&) {
    return Outcome::Refused;
  } catch (const ParameterError&) {
    return Outcome::Refused;
  }
  return Outcome::Loaded;
}

const std::vector<std::pair<Kind, Bytes>>& corpus() {
  static const auto kCorpus = [] {
    FileWorld& w = world();
    const auto keys = w.keys({{{rlwe::KeyKind::Relinearize, 1}, 0},
                              {{rlwe::KeyKind::Galois, 5}, 0},
                              {{rlwe::KeyKind::DenseToSparse, 1}, 0}});
    std::vector<ckks::Ciphertext> x{w.encrypt(w.message(), 0), w.encrypt(w.message(), 1)};
    x[1].seed.reset();
    const auto pk = rlwe::make_public_key(w.constants(), w.queue(), w.secret, w.random);
    test::TfheWorld& t = tfhe_world();
    std::vector<tfhe::Ciphertext> y{t.encrypt({1, 2, 3}, tfhe::Encoding::Padded),
                                    t.encrypt({15}, tfhe::Encoding::Full)};
    y[1].seed.reset();
    const switching::Context& both = *switching_context();
    const auto inner = switching::generate_secret(both.params(), w.random);
    const switching::MatvecShape shape{1, 512};
    const auto switch_keys =
        switching::make_switch_keys(both, w.secret, inner, w.random, {&shape, 1});
    return std::vector<std::pair<Kind, Bytes>>{
        {{Scheme::Ckks, ObjectType::Params}, saved([&](Sink& s) { save_params(s, *w.params); })},
        {{Scheme::Ckks, ObjectType::EvaluationKeys},
         saved([&](Sink& s) { save_keys(s, w.constants(), w.queue(), *keys); })},
        {{Scheme::Ckks, ObjectType::PublicKey},
         saved([&](Sink& s) { save_public_key(s, w.constants(), w.queue(), pk); })},
        {{Scheme::Ckks, ObjectType::Ciphertexts},
         saved([&](Sink& s) { save_ciphertexts(s, x, "note"); })},
        {{Scheme::Ckks, ObjectType::SecretKey},
         saved([&](Sink& s) { save_secret_key(s, w.secret); })},
        {{Scheme::Tfhe, ObjectType::Params}, saved([&](Sink& s) { save_params(s, *t.params); })},
        {{Scheme::Tfhe, ObjectType::EvaluationKeys},
         saved([&](Sink& s) { save_keys(s, *t.context, *t.keys); })},
        {{Scheme::Tfhe, ObjectType::Ciphertexts},
         saved([&](Sink& s) { save_ciphertexts(s, y, "note"); })},
        {{Scheme::Tfhe, ObjectType::SecretKey},
         saved([&](Sink& s) { save_secret_key(s, t.secret); })},
        {{Scheme::Switching, ObjectType::EvaluationKeys},
         saved([&](Sink& s) { save_keys(s, both, *switch_keys); })},
        {{Scheme::Ckks, ObjectType::Bundle}, saved([&](Sink& s) {
           const BundlePart part{"keys",
                                 [&](Sink& p) { save_keys(p, w.constants(), w.queue(), *keys); }};
           save_bundle(s, Scheme::Ckks, w.params->hash(), keys->id(), {&part, 1});
         })},
        {{Scheme::Tfhe, ObjectType::Bundle}, saved([&](Sink& s) {
           const BundlePart part{"keys", [&](Sink& p) { save_keys(p, *t.context, *t.keys); }};
           save_bundle(s, Scheme::Tfhe, t.params->hash(), t.keys->id, {&part, 1});
         })},
        {{Scheme::Ckks, ObjectType::Ciphertexts}, saved([&](Sink& s) {
           save_final(s, std::span(x).first(1), "note", {3, 12, 4});
         })}};
  }();
  return kCorpus;
}

void put64(Bytes& b, std::size_t at, std::uint64_t x) {
  for (int i = 0; i < 8; ++i) b[at + i] = static_cast<std::uint8_t>(x >> (8 * i));
}
constexpr std::size_t kPayloadLengthAt = 80;

TEST(Fuzz, TheCorpusLoads) {
  for (const auto& [kind, bytes] : corpus()) {
    EXPECT_EQ(load_any(kind, bytes), Outcome::Loaded) << name(kind);
    Bytes repaired = bytes;
    repair(repaired);
    EXPECT_EQ(repaired, bytes) << name(kind);
  }
}

// Every length up to the end of the metadata, then steps through the payload, and one byte more.
TEST(Fuzz, TruncationIsRefused) {
  for (const auto& [kind, bytes] : corpus()) {
    const std::size_t dense =
        std::min(bytes.size(), kHeaderBytes + get64(bytes, kMetadataLengthAt) + 2 * kDigestBytes);
    for (std::size_t n = 0; n < bytes.size(); n += n < dense ? 1 : 997) {
      ASSERT_EQ(load_any(kind, std::span(bytes).first(n)), Outcome::Refused) << name(kind) << n;
    }
    for (std::size_t n = bytes.size() - 40; n < bytes.size(); ++n) {
      ASSERT_EQ(load_any(kind, std::span(bytes).first(n)), Outcome::Refused) << name(kind) << n;
    }
    Bytes longer = bytes;
    longer.push_back(0);
    EXPECT_EQ(load_any(kind, longer), Outcome::Refused);
  }
}

TEST(Fuzz, BitFlipsAreRefused) {
  std::mt19937_64 random(1);
  for (const auto& [kind, bytes] : corpus()) {
    const std::size_t dense = kHeaderBytes + get64(bytes, kMetadataLengthAt) + kDigestBytes;
    Bytes b = bytes;
    const auto flip = [&](std::size_t at) {
      const auto bit = static_cast<std::uint8_t>(1u << (random() % 8));
      b[at] ^= bit;
      ASSERT_EQ(load_any(kind, b), Outcome::Refused) << name(kind) << " byte " << at;
      b[at] ^= bit;
    };
    for (std::size_t at = 0; at < dense; ++at) flip(at);
    for (int i = 0; i < 100; ++i) flip(dense + random() % (b.size() - dense));
  }
}

TEST(Fuzz, HostileLengthsAreRefusedBeforeAllocation) {
  for (const auto& [kind, bytes] : corpus()) {
    for (const std::size_t at : {kMetadataLengthAt, kPayloadLengthAt}) {
      for (const std::uint64_t x :
           {std::uint64_t{0}, std::uint64_t{1}, get64(bytes, at) + 1, get64(bytes, at) - 1,
            std::uint64_t{1} << 31, std::uint64_t{1} << 32, std::uint64_t{1} << 62,
            ~std::uint64_t{0}, ~std::uint64_t{0} - 200}) {
        Bytes b = bytes;
        put64(b, at, x);
        if (b == bytes) continue;
        repair(b);
        EXPECT_EQ(load_any(kind, b), Outcome::Refused) << name(kind) << " " << x;
      }
    }
  }
}

TEST(Fuzz, ResiduesAboveTheirPrimeAreRefused) {
  for (const auto& [kind, bytes] : corpus()) {
    if (kind.type == ObjectType::Params) continue;
    // Its payload has no residues: see tests/unit/io/final_test.cc.
    if (bytes[8] == kFinalVersion) continue;
    Bytes b = bytes;
    // As the top byte of a residue, 0xff is above every prime below 2^31. As a coefficient of a
    // secret key it is -1, which is valid, so that byte becomes 127.
    b[b.size() - kDigestBytes - 1] = kind.type == ObjectType::SecretKey ? 127 : 0xff;
    repair(b);
    EXPECT_EQ(load_any(kind, b), Outcome::Refused) << name(kind);
  }
}

TEST(Fuzz, UnknownVersionsAndSchemesAreNamed) {
  for (const std::size_t at : {std::size_t{8}, std::size_t{16}}) {  // version and scheme
    Bytes b = corpus()[3].second;
    b[at] = 0x7f;
    repair(b);
    MemorySource source(b);
    try {
      load_ciphertexts(source, world().context);
      FAIL();
    } catch (const FileError& error) {
      EXPECT_NE(std::string(error.what()).find("update the library"), std::string::npos);
    }
  }
}

TEST(Fuzz, FilesOfTheOtherSchemeAreRefused) {
  for (const auto& [kind, bytes] : corpus()) {
    Kind other = kind;
    other.scheme = kind.scheme == Scheme::Ckks ? Scheme::Tfhe : Scheme::Ckks;
    EXPECT_EQ(load_any(other, bytes), Outcome::Refused) << name(kind);
  }
}

// A word per ciphertext stands for thousands: the size that a seeded batch states is compared with
// the memory.
TEST(Fuzz, SeededBatchesAskForNoMoreThanThereIs) {
  test::TfheWorld& w = tfhe_world();
  const Bytes bytes = saved([&](Sink& s) {
    save_ciphertexts(s, std::vector{w.encrypt({1}, tfhe::Encoding::Padded)}, "");
  });
  // A part of all memory, because free memory grows when another program ends.
  const std::uint64_t count = w.context->queue().device().total_bytes / 4096 / 4;
  if (count > (1u << 22)) GTEST_SKIP() << "a file of over 64 MiB for 64 GiB of memory";
  Bytes b(bytes.begin(), bytes.end() - kDigestBytes - 4);
  for (int i = 0; i < 4; ++i)
    b[kHeaderBytes + 8 + i] = static_cast<std::uint8_t>(4 * count >> 8 * i);
  put64(b, kPayloadLengthAt, 16 * count);
  b.resize(b.size() + 16 * count + kDigestBytes);
  repair(b);
  MemorySource source(b);
  EXPECT_THROW(load_tfhe_ciphertexts(source, w.context), OutOfMemoryError);
}

// Random mutations with repaired checks: parsers see them. Most are refused; those that load
// describe some other valid object (a changed scale, seed, note or residue).
TEST(Fuzz, RandomMutationsBehindTheChecks) {
  std::mt19937_64 random(2);
  int refused = 0;
  for (int round = 0; round < 1500; ++round) {
    const auto& [kind, original] = corpus()[random() % corpus().size()];
    Bytes b = original;
    const std::size_t metadata = get64(b, kMetadataLengthAt);
    for (int k = static_cast<int>(random() % 4); k >= 0; --k) {
      const std::size_t reach = random() % 4 == 0 ? b.size() : kHeaderBytes + metadata;
      const std::size_t at = random() % reach;
      switch (random() % 4) {
        case 0:
          b[at] = static_cast<std::uint8_t>(random());
          break;
        case 1:
          b[at] = random() % 2 == 0 ? 0 : 0xff;
          break;
        case 2:
          b.erase(b.begin() + at, b.begin() + std::min(b.size(), at + random() % 9));
          break;
        default:
          b.insert(b.begin() + at, random() % 9, static_cast<std::uint8_t>(random()));
      }
      if (b.size() <= kHeaderBytes + metadata) break;
    }
    // In half of the cases the lengths match the file's new size.
    if (random() % 2 == 0 && b.size() >= kHeaderBytes + 2 * kDigestBytes + metadata) {
      put64(b, kMetadataLengthAt, metadata);
      put64(b, kPayloadLengthAt, b.size() - kHeaderBytes - 2 * kDigestBytes - metadata);
    }
    repair(b);
    refused += load_any(kind, b) == Outcome::Refused ? 1 : 0;
  }
  EXPECT_GT(refused, 600);
  EXPECT_LT(refused, 1500);
}

TEST(Fuzz, NoiseIsRefused) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round) {
    Bytes b(random() % 4096);
    for (auto& x : b) x = static_cast<std::uint8_t>(random());
    if (round % 2 == 0 && b.size() > kHeaderBytes) {
      std::copy_n(corpus()[0].second.begin(), 24, b.begin());
      repair(b);
    }
    EXPECT_EQ(load_any(kind_of(static_cast<unsigned>(round)), b), Outcome::Refused);
  }
}

}  // namespace
}  // namespace latticino::io

// The entry that libFuzzer and its kin call, driven here by a generator of structured mutations;
// the first byte picks the type. Anything but a typed refusal escapes and fails the run.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace latticino::io;
  if (size == 0) return 0;
  static_cast<void>(load_any(kind_of(data[0]), {data + 1, size - 1}));
  return 0;
}

namespace latticino::io {
namespace {

TEST(Fuzz, EngineEntryTakesSplicedInputs) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 300; ++round) {
    const auto& [kind, head] = corpus()[random() % corpus().size()];
    const Bytes& tail = corpus()[random() % corpus().size()].second;
    Bytes b(head.begin(), head.begin() + random() % std::min<std::size_t>(head.size(), 2000));
    b.insert(b.end(), tail.end() - random() % std::min<std::size_t>(tail.size(), 20000),
             tail.end());
    repair(b);
    b.insert(b.begin(), number(kind));
    EXPECT_EQ(LLVMFuzzerTestOneInput(b.data(), b.size()), 0);
  }
}

}  // namespace
}  // namespace latticino::io
