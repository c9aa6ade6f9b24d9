// Gates and tables of TFHE, and the records of one bootstrapping.
//   bench_gates --device cpu --threads 1 --sets tfhe-gates-v1,tfhe-2-2-v1 --batches 1,16
//   bench_gates --device cuda --mode replayed --batches 1,4096 --variants all
//   bench_gates --device cuda --arithmetic fft64 --sets switch-n16-d40-fp64-v1 --batches 1056
// The name of a switching set stands for the TFHE parameters of its tables.
// --cpu-time counts what the process used instead of the time that passed: for one thread of a
// machine that is busy with other work. --variants: own (what the backend chooses), all, or numbers
// of kernels that can run a blind rotation (backend/tuning.h). Keys are real. Rows named gate are
// all of a gate or table; those named pbs leave the key switch out: modulus switch, rotation and
// extraction as one program.
#include <cstdio>

#include "support/sample.h"
#include "support/tfhe_world.h"

namespace latticino::bench {
namespace {

// `tuning`: the object that chooses variants, if variants are asked for.
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

class TfheBench {
 public:
  TfheBench(const Arguments& arguments, const std::string& set)
      : arguments_(arguments),
        world_(tfhe_params_of(set), backend(arguments, tuning_),
               tfhe::arithmetic_of(arguments.text("arithmetic"))) {}

  void run(int batch, std::vector<Row>& rows) {
    const TfheFlips flips(world_, batch);
    tfhe::Ciphertext y;
    const auto gate = [&] { y = flips(); };
    each_variant(gate, [&] {
      measure(rows, "gate", batch, gate);
      flips.check(y);
      records(rows, batch, flips.x);
    });
  }

 private:
  // Times every variant that was asked for and that can run the blind rotation of `work`.
  template <class Work, class Body>
  void each_variant(const Work& work, const Body& body) {
    const std::string wanted = arguments_.text("variants");
    if (wanted == "own") return body();
    tuning_->watch(true);
    work();
    tuning_->watch(false);
    const std::vector<int> list =
        wanted == "all" ? std::vector<int>() : arguments_.numbers("variants");
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
    const TfheRecords records(world_, x);
    Queue& queue = world_.context->queue();
    measure(rows, "key_switch", batch, [&] { queue.submit(records.key_switch); });
    measure(rows, "mod_switch", batch, [&] { queue.submit(records.mod_switch); });
    measure(rows, "blind_rotate", batch, [&] { queue.submit(records.rotate); });
    measure(rows, "extract", batch, [&] { queue.submit(records.extract); });
    measure(rows, "pbs", batch, [&] {
      queue.submit(records.mod_switch);
      queue.submit(records.rotate);
      queue.submit(records.extract);
    });
  }

  template <class Work>
  void measure(std::vector<Row>& rows, const char* what, int batch, const Work& work) {
    const int runs = arguments_.number("runs");
    Queue& queue = world_.context->queue();
    work();  // tables must exist before recording
    queue.synchronize();
    const Clock clock = arguments_.flag("cpu-time") ? Clock::Processor : Clock::Wall;
    const Sample sample = arguments_.text("mode") == "replayed"
                              ? replayed(queue, runs, work, clock)
                              : timed(
                                    runs, work, [&] { queue.synchronize(); }, clock);
    add(rows, what, batch, sample);
  }

  void add(std::vector<Row>& rows, const char* what, int batch, const Sample& seconds) {
    const DeviceInfo device = world_.context->queue().device();
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
    row.add("preset", world_.params->name()).add("params", params);
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
  TfheWorld world_;
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
                             for (const int batch : arguments.numbers("batches")) {
                               run.run(batch, rows);
                             }
                           }
                           return rows;
                         });
}
