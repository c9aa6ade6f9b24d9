// The owner's operations end to end, from values on the host to values on the host: encoding,
// encryption under the secret key, decryption, decoding; one vector and a batch, full slots.
//   bench_client --device cuda --preset n16-d40-boot-v1 --limbs 47,13 --batch 64 --output rows.json
// It also measures what limits them: the transform on the host, the sampling of one error there and
// as a record, and encoding from the device's own memory, replayed.
#include "ckks/encoding/client.h"
#include "crypto/gaussian.h"
#include "support/world.h"

namespace latticino::bench {
namespace {

using ckks::Plaintext;

class Benchmark {
 public:
  explicit Benchmark(const Arguments& arguments)
      : arguments_(arguments),
        world_(arguments.text("preset"),
               make_backend(arguments.text("device"), arguments.number("threads"),
                            arguments.text("tuning"))),
        context_(world_.context()) {}

  int run() {
    host_rows();
    for (const int limbs : arguments_.numbers("limbs")) {
      level_ = world_.params()->top_level();
      while (level_ > 0 && world_.params()->limbs(level_) > limbs) --level_;
      for (const int batch : {1, arguments_.number("batch")}) {
        error_row(batch);
        client_rows(batch);
      }
      resident_row(arguments_.number("batch"));
    }
    write_rows(rows_, arguments_.text("output"));
    return 0;
  }

 private:
  // Milliseconds for each vector of a batch.
  void add(const std::string& name, int batch, const std::function<void()>& body,
           const char* mode = "at once") {
    const int runs = arguments_.number("runs");
    const double ms = 1e3 * median_seconds(context_->queue(), runs, body) / batch;
    Row params;
    params.add("N", world_.params()->n()).add("limbs", world_.params()->limbs(level_));
    params.add("batch", batch);
    Row row = world_.row(name, ms, "ms", runs);
    row.add("mode", mode).add("params", params);
    row.add("commit", arguments_.text("commit")).add("date", today());
    rows_.push_back(row);
    std::printf("%-22s L=%-3d batch %-3d %9.4f ms\n", name.c_str(), world_.params()->limbs(level_),
                batch, ms);
    std::fflush(stdout);
  }

  void host_rows() {
    const std::vector<Complex> z = world_.message("complex", slots());
    level_ = 0;
    add("ckks.encoder.embed_host", 1, [&] { context_->encoder().embed(z, 0x1p40); });
    add("rlwe.gaussian_host", 1,
        [&] { world_.random().gaussian(world_.params()->n(), kErrorSigma); });
  }

  // The record alone, on all limbs of the level.
  void error_row(int batch) {
    Queue& queue = context_->queue();
    const Params& params = *world_.params();
    std::vector<std::uint8_t> fresh(32);
    world_.random().fill(fresh);
    const Buffer seed = queue.allocate(fresh.size());
    queue.copy_in(seed->data(), fresh.data(), fresh.size());
    std::vector<Poly> errors;
    SampleGaussian sample{&table_, {}};
    for (int i = 0; i < batch; ++i) {
      errors.push_back(
          queue.allocate(context_->constants().ring(), params.basis(level_), Domain::Coeff));
      sample.items.push_back({static_cast<const std::uint8_t*>(seed->data()),
                              static_cast<std::uint64_t>(i), errors.back().view});
    }
    add("rlwe.sample_errors", batch, [&] { queue.submit(sample); });
  }

  void client_rows(int batch) {
    std::vector<std::vector<Complex>> values;
    for (int i = 0; i < batch; ++i) values.push_back(world_.message("complex", slots()));
    const std::vector<ckks::Values> views(values.begin(), values.end());
    const double scale = world_.params()->scale(std::min(level_, world_.params()->default_level()));
    std::vector<Plaintext> plain;
    std::vector<Ciphertext> encrypted;
    std::vector<std::vector<Complex>> back;
    add("ckks.encode", batch, [&] {
      plain.clear();
      plain = ckks::encode_all(context_, views, level_, scale);
    });
    add("ckks.decode", batch, [&] {
      for (const Plaintext& p : plain) back.assign(1, ckks::decode(p));
    });
    add("ckks.encrypt", batch, [&] {
      encrypted.clear();
      encrypted = ckks::encrypt(world_.secret(), plain, world_.random());
    });
    add("ckks.decrypt", batch, [&] { back = ckks::decrypt(world_.secret(), encrypted); });
    Errors errors;
    for (int i = 0; i < batch; ++i) errors.add(values[i], back[i]);
    if (errors.mean_bits() < 10) {
      throw ValueError("bench_client",
                       "a decryption right to " + std::to_string(errors.mean_bits()) + " bits",
                       "10 or more", "run the tests");
    }
  }

  void resident_row(int batch) {
    const std::vector<Complex> z = world_.message("complex", slots());
    Queue& queue = context_->queue();
    const std::size_t bytes = z.size() * sizeof(Complex);
    const Buffer values = queue.allocate(bytes * batch);
    for (int i = 0; i < batch; ++i) {
      queue.copy_in(static_cast<char*>(values->data()) + i * bytes, z.data(), bytes);
    }
    std::vector<Plaintext> plain;
    Program program = queue.record([&] {
      plain.clear();
      plain = ckks::encode_resident(context_, static_cast<const double*>(values->data()), batch,
                                    slots(), level_, 0x1p30);
    });
    add(
        "ckks.encode_resident", batch, [&] { program.run(); }, "replayed");
  }

  int slots() const { return world_.params()->max_slots(); }

  const Arguments& arguments_;
  World world_;
  std::shared_ptr<const ckks::Context> context_;
  const crypto::GaussianTable table_{kErrorSigma};
  int level_ = 0;
  std::vector<Row> rows_;
};

}  // namespace
}  // namespace latticino::bench

int main(int argc, char** argv) {
  using namespace latticino;
  return bench::run_program(
      argc, argv,
      {{"device", "cuda"},
       {"threads", "0"},
       {"tuning", ""},
       {"preset", "n16-d40-boot-v1"},
       {"limbs", "47,13"},
       {"batch", "64"},
       {"runs", "10"}},
      [](const bench::Arguments& arguments) { return bench::Benchmark(arguments).run(); });
}
