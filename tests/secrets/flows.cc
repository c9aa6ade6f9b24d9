#include "secrets/flows.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "ckks/encoding/client.h"
#include "ckks/encoding/encoder.h"
#include "crypto/gaussian.h"
#include "crypto/secure_memory.h"
#include "io/tfhe_files.h"
#include "math/interrupt.h"
#include "rlwe/client.h"
#include "secrets/poison.h"
#include "switch/client.h"
#include "switch/matvec.h"
#include "tfhe/client.h"
#include "tfhe/public_key.h"

// The library's own versions do nothing (crypto/secure_memory.h).
namespace latticino::crypto {
void mark_secret(const void* p, std::size_t bytes) noexcept { secrets::poison(p, bytes); }
void declassify(const void* p, std::size_t bytes) noexcept { secrets::unpoison(p, bytes); }
}  // namespace latticino::crypto

namespace latticino::secrets {
namespace {

rlwe::Random fixed_random(std::uint8_t first) {
  rlwe::Seed seed{};
  seed[0] = first;
  return rlwe::Random::insecure_from_seed(seed);
}

std::unique_ptr<Queue> queue(bool simd) {
  return std::make_unique<Queue>(make_cpu_backend({simd, 1}));
}

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "wrong result: %s\n", what);
  std::abort();
}

// Ciphertexts and keys are public, so their words may be used as soon as they are made.
void publish(const Poly& x) { unpoison(x.buffer->data(), x.buffer->bytes()); }

void publish(const ckks::Ciphertext& x) {
  for (const Poly& part : x.parts) publish(part);
}

// Key generation makes poisoned coefficients by itself (Random); decryption checks the result.
void ckks_client(const std::string& set, bool simd) {
  const auto params = preset(set);
  const auto context = ckks::Context::create(params, queue(simd));
  rlwe::Random random = fixed_random(1);
  const rlwe::SecretKey secret = rlwe::SecretKey::generate(params, random);
  const rlwe::Constants& constants = context->constants();
  Queue& q = context->queue();
  const rlwe::PublicKey key = rlwe::make_public_key(constants, q, secret, random);
  for (const Poly& part : key.parts) publish(part);
  rlwe::KeyGenerator generator(constants, q, secret, random);
  const int level = std::min(1, params->top_level());
  generator.make({rlwe::KeyKind::Relinearize}, level);
  generator.make({rlwe::KeyKind::Galois, 5}, level);
  if (params->bootstrap()) {
    generator.make({rlwe::KeyKind::DenseToSparse}, 0);
    generator.make({rlwe::KeyKind::SparseToDense}, params->top_level());
  }
  const std::vector<ckks::Complex> values(8, {0.5, -0.25});
  const ckks::Plaintext m = ckks::encode(context, values, level, params->scale(level));
  ckks::Ciphertext x = ckks::encrypt(secret, {&m, 1}, random).front();
  publish(x);
  rlwe::FreshPair pair = rlwe::encrypt_public(constants, q, key, m.poly.view, level, random);
  for (const Poly& part : pair.parts) publish(part);
  for (const auto& parts : {std::vector<PolyView>{x.parts[0].view, x.parts[1].view},
                            std::vector<PolyView>{pair.parts[0].view, pair.parts[1].view}}) {
    const std::vector<double> c =
        rlwe::decrypt(constants, q, secret, parts, level, params->scale(level));
    require(std::abs(c[0] - 0.5) < 1e-3, "CKKS decryption");
  }
  const rlwe::Flooding flooding{.noise_bound = 16, .queries = 1, .statistical_bits = 4};
  const std::array<PolyView, 2> parts{x.parts[0].view, x.parts[1].view};
  rlwe::decrypt_for_sharing(constants, q, secret, parts, level, params->scale(level), flooding,
                            random);
}

void tfhe_client(const std::string& set, bool simd) {
  const auto params = tfhe_preset(set);
  const auto context = tfhe::Context::create(params, queue(simd));
  rlwe::Random random = fixed_random(2);
  const tfhe::SecretKey secret = tfhe::SecretKey::generate(params, random);
  const auto keys = tfhe::make_server_keys(*context, secret, random);
  require(keys != nullptr, "TFHE keys");
  const tfhe::Encoding encoding =
      params->booleans() ? tfhe::Encoding::Boolean : tfhe::Encoding::Padded;
  std::vector<std::uint32_t> messages(32, 0);
  messages[1] = 1;
  const tfhe::Ciphertext x = tfhe::encrypt(context, secret, messages, encoding, random);
  unpoison(x.view.data, x.view.words() * sizeof(std::uint32_t));
  require(tfhe::decrypt(secret, x) == messages, "TFHE decryption");
  // Random values of an encryption under the public key are secrets of the sender.
  const tfhe::PublicKey key = tfhe::make_public_key(*context, secret, random);
  const tfhe::Context::Lwe zeros = tfhe::encrypt_zeros(*context, key, 4, random);
  require(zeros.view.count == 4, "encryptions of zero");
}

void switch_client(const std::string& set, bool simd) {
  const auto params = switch_preset(set);
  const auto ckks = ckks::Context::create(params->shared_ckks(), queue(simd));
  const auto context = switching::Context::create(params, ckks);
  rlwe::Random random = fixed_random(3);
  const rlwe::SecretKey secret = rlwe::SecretKey::generate(params->shared_ckks(), random);
  const tfhe::SecretKey between = switching::generate_secret(*params, random);
  const switching::MatvecShape shape{16, 1024};
  switching::make_switch_keys(*context, secret, between, random, {&shape, 1});
}

// Nothing of it is kept.
class NoSink : public io::Sink {
 public:
  void write(std::span<const std::uint8_t>) override {}
};

// Files of secret keys, unencrypted and encrypted.
void secret_files(const std::string& set, bool simd) {
  rlwe::Random random = fixed_random(5);
  const rlwe::SecretKey secret = rlwe::SecretKey::generate(preset(set), random);
  const tfhe::SecretKey other =
      tfhe::SecretKey::generate(tfhe_preset("test-tfhe-2-2-tiny-insecure"), random);
  std::array<std::uint8_t, crypto::kSealKeyBytes> key{};
  poison(key.data(), key.size());
  const io::SecretSeal seal{{}, key};
  NoSink sink;
  for (const io::SecretSeal* with : {static_cast<const io::SecretSeal*>(nullptr), &seal}) {
    io::save_secret_key(sink, secret, with);
    io::save_secret_key(sink, other, with);
  }
  static_cast<void>(simd);
}

#if !defined(LATTICINO_MSAN)
struct Interrupted {};

std::atomic<int> g_steps_left{0};

// The same work, interrupted after 1, 2, 4 .. of its steps: what was made until then must be
// cleared too.
void interrupted(void (*client)(const std::string&, bool), const std::string& set, bool simd) {
  interrupt::handle = +[] {
    if (--g_steps_left == 0) throw Interrupted();
  };
  interrupt::requested = true;
  bool done = false;
  int times = 0;
  for (int steps = 1; !done; steps *= 2) {
    g_steps_left = steps;
    try {
      client(set, simd);
      done = true;
    } catch (const Interrupted&) {
      ++times;
    }
  }
  require(times >= 4, "several steps");
  interrupt::requested = false;
  interrupt::handle = nullptr;
}
#endif

// Every version of the sampler that this processor supports, without the code that chooses the
// fastest.
void sampling() {
  const std::vector<crypto::Wide> table = crypto::gaussian_table(3.19);
  std::array<std::uint8_t, 16 * 1000> words{};
  poison(words.data(), words.size());
  std::array<std::int64_t, 1000> out;
  for (const crypto::GaussianScan& scan : crypto::gaussian_scans()) {
    if (scan.supported()) scan.run(table, words, out);
  }
  rlwe::Random random = fixed_random(4);
  const auto cleared = [](auto values) { const crypto::ClearOnExit clear(values); };
  cleared(random.gaussian(256, 1e6));
  cleared(random.binary(256));
  cleared(random.ternary(256));
  cleared(random.ternary_weight(256, 32));
}

}  // namespace

std::vector<Flow> flows(bool simd, bool all) {
  std::vector<Flow> out;
  const auto add = [&](const std::string& set, auto run, const std::string& what = "") {
    out.push_back({set + what, [=] { run(set, simd); }});
  };
  out.push_back({"sampling", sampling});
  add("test-n10-boot-insecure", ckks_client);
  add("test-tfhe-gates-insecure", tfhe_client);
  add("test-tfhe-2-2-tiny-insecure", tfhe_client);
  add("test-tfhe-ternary-insecure", tfhe_client);
  add("test-tfhe-group3-insecure", tfhe_client);
  add("test-n10-boot-insecure", secret_files, ", files");
#if !defined(LATTICINO_MSAN)  // it does not follow exceptions through an ordinary libstdc++
  const auto give_up = [](auto* client) {
    return [client](const std::string& set, bool with) { interrupted(client, set, with); };
  };
  add("test-n10-boot-insecure", give_up(&ckks_client), ", given up");
  add("test-tfhe-2-2-tiny-insecure", give_up(&tfhe_client), ", given up");
#endif
  if (all) add("test-switch-n12-insecure", switch_client);
  return out;
}

}  // namespace latticino::secrets
