// Gates and tables of TFHE, and the records of one bootstrapping.
//   bench_gates --device cpu --threads 1 --sets tfhe-gates-v1,tfhe-2-2-v1 --batches 1,16
//   bench_gates --device cuda --mode replayed --batches 1,4096 --variants all
//   bench_gates --device cuda --arithmetic fft64 --sets switch-n16-d40-fp64-v1 --batches 1056
// A switching set stands for its tables, which are rotated for gates here.
// --cpu-time counts what the process used instead of the time that passed: for one thread of a
// machine that is busy with other work. --variants: own (what the backend chooses), all, or numbers
// of kernels that can run a blind rotation (backend/tuning.h). Keys are real. gate rows
// are all of a gate or table; pbs rows leave the key switch out: modulus switch, rotation and
// extraction as one program.
#include <cstdio>

#include "params/switch_params.h"
#include "sample.h"
#include "tfhe/client.h"
#include "tfhe/evaluator.h"

namespace latticino::bench {
namespace {

// `tuning`: what chooses variants, where any are asked for.
std::unique_ptr<Backend> backend(const Arguments& arguments, std::shared_ptr<Tuning> tuning) {
  if (arguments.text("variants") == "own") {
    return make_backend(arguments.text("device"), arguments.number("threads"));
  }
  if (arguments.text("device") != "cuda") {
    throw UnsupportedError("bench.gates", "--variants on " + arguments.text("device"),
                           "--device cuda", "leave it out");
  }
  return make_cuda_backend({.tuning = std::move(tuning)});
}

std::shared_ptr<const TfheParams> params_of(const std::string& set) {
  return set.starts_with("switch-") || set.starts_with("test-switch-") ? switch_preset(set)->tfhe()
                                                                       : tfhe_preset(set);
}

class TfheBench {
 public:
  TfheBench(const Arguments& arguments, const std::string& set)
      : arguments_(arguments),
        params_(params_of(set)),
        context_(tfhe::Context::create(params_,
                                       std::make_unique<Queue>(backend(arguments, tuning_)),
                                       tfhe::arithmetic_of(arguments.text("arithmetic")))),
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
    const auto gate = [&] {
      y = params_->booleans() ? evaluator.gate(tfhe::Gate::Nand, x, x) : evaluator.apply(x, table);
    };
    each_variant(gate, [&] {
      measure(rows, "gate", batch, gate);
      const std::vector<std::uint32_t> results = tfhe::decrypt(secret_, y);
      for (std::size_t i = 0; i < results.size(); ++i) {
        if (results[i] == (messages[i] ^ 1)) continue;
        throw ValueError("bench.tfhe", "a wrong result", "the right one", "run the tests");
      }
      records(rows, batch, x);
    });
  }

 private:
  // With every variant asked for that can run the blind rotation of `work`.
  template <class Work, class Body>
  void each_variant(const Work& work, const Body& body) {
    const std::string wanted = arguments_.text("variants");
    if (wanted == "own") return body();
    tuning_->watch(true);
    work();
    tuning_->watch(false);
    const std::vector<int> list = numbers(wanted);
    bool found = false;
    for (const Tuning::Question& question : tuning_->seen()) {
      if (question.key.kernel != TunedKernel::BlindRotate) continue;
      for (variant_ = 0; variant_ < Tuning::kVariants; ++variant_) {
        const bool chosen =
            wanted == "all" || std::find(list.begin(), list.end(), variant_) != list.end();
        if (!chosen || (question.can_run >> variant_ & 1) == 0) continue;
        found = true;
        tuning_->set(question.key, variant_);
        body();
      }
      tuning_->erase(question.key);
      variant_ = -1;
    }
    if (!found) {
      throw UnsupportedError("bench.gates", "--variants " + wanted,
                             "variants that this device has for the set and arithmetic", "say own");
    }
  }

  void records(std::vector<Row>& rows, int batch, const tfhe::Ciphertext& x) {
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
    const auto key_switch = [&] {
      queue.submit(LweKeySwitch{
          keys_->key_switch.view, params_->literal().key_switch, {{x.view, switched.view}}});
    };
    const auto mod_switch = [&] {
      queue.submit(ModSwitch{true, 0, {{switched.view, exponents.view}}});
    };
    const auto blind_rotate = [&] { queue.submit(rotate); };
    const auto extract = [&] {
      queue.submit(SampleExtract{params_->glwe_dimension(), {{rotated.view, {0}, out.view}}});
    };
    measure(rows, "key_switch", batch, key_switch);
    measure(rows, "mod_switch", batch, mod_switch);
    measure(rows, "blind_rotate", batch, blind_rotate);
    measure(rows, "extract", batch, extract);
    measure(rows, "pbs", batch, [&] { mod_switch(), blind_rotate(), extract(); });
  }

  template <class Work>
  void measure(std::vector<Row>& rows, const char* what, int batch, const Work& work) {
    const int runs = arguments_.number("runs");
    Queue& queue = context_->queue();
    work();  // tables exist before recording
    queue.synchronize();
    const Clock clock = arguments_.flag("cpu-time") ? Clock::Processor : Clock::Wall;
    const Sample sample = arguments_.text("mode") == "replayed"
                              ? replayed(queue, runs, work, clock)
                              : timed(
                                    runs, work, [&] { queue.synchronize(); }, clock);
    add(rows, what, batch, sample);
  }

  void add(std::vector<Row>& rows, const char* what, int batch, const Sample& seconds) {
    const DeviceInfo device = context_->queue().device();
    Row params, row;
    params.add("batch", batch).add("threads", arguments_.number("threads"));
    params.add("arithmetic", arguments_.text("arithmetic"));
    if (variant_ >= 0) params.add("variant", variant_);
    row.add("name", std::string("tfhe.") + what + (batch == 1 ? "_latency" : "_throughput"));
    const Sample rate{batch / seconds.median, batch / seconds.high, batch / seconds.low,
                      seconds.runs};
    (batch == 1 ? seconds.over(1e-3) : rate).add_to(row, batch == 1 ? "ms" : "1/s");
    row.add("device", device.name).add("backend", device.backend);
    row.add("mode", arguments_.text("mode"));
    row.add("clock", arguments_.flag("cpu-time") ? "cpu" : "wall");
    row.add("preset", params_->name()).add("params", params);
    row.add("commit", arguments_.text("commit")).add("date", today());
    rows.push_back(row);
    if (variant_ >= 0) std::printf("  variant %d", variant_);
    std::printf("  batch %4d %-12s %9.3f ms, %9.1f /s\n", batch, what, seconds.median * 1e3,
                rate.median);
    std::fflush(stdout);
  }

  const Arguments& arguments_;
  std::shared_ptr<Tuning> tuning_ = std::make_shared<Tuning>();
  int variant_ = -1;  // -1: the backend's choice
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
                          {"mode", "immediate"},
                          {"variants", "own"},
                          {"sets", "tfhe-gates-v1,tfhe-gates-v2,tfhe-2-2-v1"},
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
