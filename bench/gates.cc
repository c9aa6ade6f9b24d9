// Gates and tables of TFHE, and the records of one bootstrapping.
//   bench_gates --device cpu --threads 1 --sets tfhe-gates-v1,tfhe-2-2-v1 --batches 1,16
// --cpu-time counts what the process used instead of the time that passed: for one thread of a
// machine that is busy with other work. Keys are real, messages are random. pbs rows leave the key
// switch out, gate rows do not.
#include <cstdio>

#include "common.h"
#include "tfhe/client.h"
#include "tfhe/evaluator.h"

namespace latticino::bench {
namespace {

BlindRotateArithmetic arithmetic(const std::string& name) {
  if (name == "exact") return BlindRotateArithmetic::Exact;
  if (name == "fft64") return BlindRotateArithmetic::Fft64;
  throw ValueError("bench.gates", "--arithmetic " + name, "exact or fft64", "choose one of them");
}

class TfheBench {
 public:
  TfheBench(const Arguments& arguments, const std::string& set)
      : arguments_(arguments),
        params_(tfhe_preset(set)),
        context_(tfhe::Context::create(params_,
                                       std::make_unique<Queue>(make_backend(
                                           arguments.text("device"), arguments.number("threads"))),
                                       arithmetic(arguments.text("arithmetic")))),
        secret_(tfhe::SecretKey::generate(params_, random_)) {
    const Stopwatch watch;
    keys_ = tfhe::make_server_keys(*context_, secret_, random_);
    context_->queue().synchronize();
    std::printf("%s: keys in %.2f s\n", set.c_str(), watch.seconds());
  }

  void run(int batch, std::vector<Row>& rows) {
    const tfhe::Encoding encoding =
        params_->booleans() ? tfhe::Encoding::Boolean : tfhe::Encoding::Padded;
    std::vector<std::uint32_t> messages;
    for (int i = 0; i < batch; ++i) messages.push_back(static_cast<std::uint32_t>(i % 2));
    const tfhe::Ciphertext x = tfhe::encrypt(context_, secret_, messages, encoding, random_);
    const tfhe::Evaluator evaluator(context_, keys_);
    const tfhe::Table table = params_->booleans()
                                  ? tfhe::Table{}
                                  : make_table(context_, [](std::uint32_t m) { return m ^ 1; });
    tfhe::Ciphertext y;
    const double whole = timed(rows, "gate", batch, [&] {
      y = params_->booleans() ? evaluator.gate(tfhe::Gate::Nand, x, x) : evaluator.apply(x, table);
    });
    if (tfhe::decrypt(secret_, y)[0] != 1) {
      throw ValueError("bench.tfhe", "a wrong result", "the right one", "run the tests");
    }
    records(rows, batch, x, whole);
  }

 private:
  void records(std::vector<Row>& rows, int batch, const tfhe::Ciphertext& x, double whole) {
    const auto count = static_cast<std::uint32_t>(batch);
    const auto n = static_cast<std::uint32_t>(params_->lwe_dimension());
    const auto parts = static_cast<std::uint32_t>(params_->glwe_dimension()) + 1;
    const auto switched = context_->allocate(n, count);
    const auto exponents = context_->allocate(n, count, 2u * params_->n());
    const auto rotated = context_->allocate_polys(count * parts, Domain::Coeff);
    const auto out =
        context_->allocate(static_cast<std::uint32_t>(params_->big_dimension()), count);
    const Poly tv = tfhe::constant_polynomial(*context_, params_->lwe_modulus() / 8);
    BlindRotate rotate = tfhe::blind_rotation(*context_, *keys_);
    rotate.items = {{exponents.view, tv.view, rotated.view}};
    Queue& queue = context_->queue();
    const double key_switch = timed(rows, "key_switch", batch, [&] {
      queue.submit(LweKeySwitch{
          keys_->key_switch.view, params_->literal().key_switch, {{x.view, switched.view}}});
    });
    timed(rows, "mod_switch", batch, [&] {
      queue.submit(ModSwitch{true, 0, {{switched.view, exponents.view}}});
    });
    timed(rows, "blind_rotate", batch, [&] { queue.submit(rotate); });
    timed(rows, "extract", batch, [&] {
      queue.submit(SampleExtract{params_->glwe_dimension(), {{rotated.view, {0}, out.view}}});
    });
    add(rows, "pbs", batch, whole - key_switch);
  }

  template <class Work>
  double timed(std::vector<Row>& rows, const char* what, int batch, const Work& work) {
    std::vector<double> seconds;
    for (int i = -1; i < arguments_.number("runs"); ++i) {  // one to warm up
      const Stopwatch watch;
      const std::clock_t start = std::clock();
      work();
      context_->queue().synchronize();
      const double used = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
      if (i >= 0) seconds.push_back(arguments_.flag("cpu-time") ? used : watch.seconds());
    }
    add(rows, what, batch, median(seconds));
    return median(seconds);
  }

  void add(std::vector<Row>& rows, const char* what, int batch, double seconds) {
    const DeviceInfo device = context_->queue().device();
    Row params, row;
    params.add("batch", batch).add("threads", arguments_.number("threads"));
    params.add("arithmetic", arguments_.text("arithmetic"));
    row.add("name", std::string("tfhe.") + what + (batch == 1 ? "_latency" : "_throughput"));
    row.add("value", batch == 1 ? seconds * 1e3 : batch / seconds);
    row.add("unit", batch == 1 ? "ms" : "1/s").add("median_of", arguments_.number("runs"));
    row.add("device", device.name).add("backend", device.backend).add("mode", "immediate");
    row.add("clock", arguments_.flag("cpu-time") ? "cpu" : "wall");
    row.add("preset", params_->name()).add("params", params);
    row.add("commit", arguments_.text("commit")).add("date", today());
    rows.push_back(row);
    std::printf("  batch %4d %-12s %9.3f ms, %9.1f /s\n", batch, what, seconds * 1e3,
                batch / seconds);
    std::fflush(stdout);
  }

  const Arguments& arguments_;
  std::shared_ptr<const TfheParams> params_;
  std::shared_ptr<const tfhe::Context> context_;
  rlwe::Random random_;
  tfhe::SecretKey secret_;
  std::shared_ptr<const tfhe::ServerKeys> keys_;
};

}  // namespace
}  // namespace latticino::bench

int main(int argc, char** argv) {
  using namespace latticino;
  return bench::run_rows(argc, argv,
                         {{"device", "cpu"},
                          {"threads", "1"},
                          {"cpu-time", "0"},
                          {"sets", "tfhe-gates-v1,tfhe-2-2-v1"},
                          {"batches", "1,16"},
                          {"arithmetic", "exact"},
                          {"runs", "20"}},
                         [](const bench::Arguments& arguments) {
                           std::vector<bench::Row> rows;
                           for (const std::string& set : bench::words(arguments.text("sets"))) {
                             bench::TfheBench run(arguments, set);
                             for (const int batch : bench::numbers(arguments.text("batches"))) {
                               run.run(batch, rows);
                             }
                           }
                           return rows;
                         });
}
