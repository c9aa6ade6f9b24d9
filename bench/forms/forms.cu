// Times the forward transforms of Chameleon's paper (Sec. 5; Table 3, Figs. 11, 13, 14) and this
// library's. They transform one limb again and again, in the same memory.
//   bench_transform_forms --log-n 12,13,14,15,16 --output rows.json
//   --mode launched: kernels are launched one by one, as in the paper, and not in a graph
//   --profile 1: nothing is timed. A profiler counts one transform of each row, in the same order
//   --syncs grid,local --chunks 0,64: these alone; chunks are 0 where all memory is global
// Forms have the paper's names. BASE-NTT is the radix-2 transform. BD-NTT-2 is butterfly
// decomposition, and TA-NTT-2 is thread aggregation: both compute two stages between barriers. With
// OSSP the transform has a switching point: from then on each block computes a chunk of the
// polynomial without the others. `chunks` is the number of chunks. With PCS the coefficients of the
// stages before that point are shuffled. docs/lab/transform-forms.md explains them by an example.
// The program fails if a form gives other words than the library.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "backend/cuda/device/tables.h"
#include "backend/cuda/launch/memory.h"
#include "forms/steps.cuh"
#include "math/primes.h"
#include "support/common.h"
#include "support/profiler.h"
#include "support/sample.h"

namespace latticino::bench {
namespace {

using namespace forms;
using Words = std::vector<std::uint32_t>;

constexpr int kRepeats = 50;           // transforms of a timed run
constexpr std::uint32_t kBlock = 256;  // threads per block if all memory is global
constexpr char kName[] = "bench.transform_forms";

template <class Form>
__global__ void __launch_bounds__(1024) transform(const __grid_constant__ Args a) {
  extern __shared__ std::uint32_t shared[];
  run_steps<Form>(a, shared);
}

// An array of words on the device.
class DeviceWords {
 public:
  explicit DeviceWords(std::size_t count) : block_(0, count * sizeof(std::uint32_t)) {
    cuda::check(cudaMemset(get(), 0, block_.bytes()), kName);
  }
  explicit DeviceWords(const Words& words) : DeviceWords(words.size()) {
    cuda::check(cudaMemcpy(get(), words.data(), block_.bytes(), cudaMemcpyDefault), kName);
  }
  std::uint32_t* get() const { return block_.as<std::uint32_t>(); }
  Words words() const {
    Words out(block_.bytes() / sizeof(std::uint32_t));
    cuda::check(cudaMemcpy(out.data(), get(), block_.bytes(), cudaMemcpyDefault), kName);
    return out;
  }

 private:
  cuda::DeviceBlock block_;
};

struct Way {
  std::string form;
  Plan plan;
  std::uint32_t blocks, threads;
  Sync sync;
  bool shuffles = false;
};

class Degree {
 public:
  Degree(const Arguments& arguments, Queue& queue, int log_n, std::vector<Row>& rows)
      : arguments_(arguments),
        mode_(arguments.choice("mode", {"replayed", "launched"})),
        profile_(arguments.flag("profile")),
        syncs_(words(arguments.text("syncs"))),
        chunks_(arguments.numbers("chunks")),
        queue_(queue),
        rows_(rows),
        log_n_(log_n),
        ring_(log_n, ntt_primes_below(log_n, 1u << 30, 1)),
        out_(std::size_t{1} << log_n),
        replica_(std::size_t{1} << log_n) {
    cuda::check(cudaGetDeviceProperties(&device_, 0), kName);
    cuda::check(cudaStreamCreate(&stream_), kName);
  }
  Degree(const Degree&) = delete;
  Degree& operator=(const Degree&) = delete;
  ~Degree() { cudaStreamDestroy(stream_); }

  void measure() {
    measure_ours();
    measure_global<Aggregated<1>>("BASE-NTT");
    measure_global<Decomposed<2>>("BD-NTT-2");
    measure_global<Decomposed<3>>("BD-NTT-3");
    measure_global<Aggregated<2>>("TA-NTT-2");
    measure_global<Aggregated<3>>("TA-NTT-3");
    measure_switching<Decomposed<2>>("BD-NTT-2");
    measure_switching<Aggregated<2>>("TA-NTT-2");
  }

 private:
  // Constants of the library: its twiddles and its prime. measure_ours() has made them.
  const cuda::RingTables& tables() const {
    return dynamic_cast<const cuda::RingTables&>(*ring_.backend_table());
  }

  void measure_ours() {
    const Poly x = queue_.allocate(ring_, kOnePrime, Domain::Coeff);
    const Poly y = queue_.allocate(ring_, kOnePrime, Domain::Eval);
    std::mt19937 random(5);
    Words words(ring_.n());
    for (std::uint32_t& w : words) w = random() % ring_.prime(0);
    queue_.upload(x.view, words.data());
    in_ = std::make_unique<DeviceWords>(words);
    const auto once = [&] { queue_.submit(Transform{{{x.view, y.view}}}); };
    Sample sample;
    if (profile_) {
      once();
      profiled(once, [&] { queue_.synchronize(); });
    } else {
      sample = replayed(queue_, arguments_.number("runs"), [&] {
                 for (int i = 0; i < kRepeats; ++i) once();
               }).over(kRepeats * 1e-6);
    }
    want_.resize(words.size());
    queue_.download(want_.data(), y.view);
    add({"ours", {}, 0, 0, Sync::Launches}, sample);
  }

  static int chunks_of(const Way& way) {
    const int count = way.plan.count;
    const bool chunked = count > 0 && way.plan.step[count - 1].kind != Kind::Global;
    return chunked ? 1 << way.plan.log_chunks : 0;
  }

  bool wanted(const Way& way) const {
    const auto listed = [](const auto& list, const auto& value) {
      return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
    };
    return listed(syncs_, kSyncNames[static_cast<int>(way.sync)]) &&
           listed(chunks_, chunks_of(way));
  }

  // Transforms in global memory only (Fig. 11).
  template <class Form>
  void measure_global(const char* name) {
    const Plan plan = global_plan(log_n_, Form::kFused, Form::kDecomposed);
    const std::uint32_t all = plan.threads(log_n_, Form::kFused);
    for (const Sync sync :
         {Sync::Launches, Sync::Simple, Sync::Tree, Sync::LockFree, Sync::Grid, Sync::Local}) {
      measure<Form>({name, plan, all / kBlock, kBlock, sync});
    }
  }

  // Transforms with every switching point (Table 3, Figs. 13 and 14).
  template <class Form>
  void measure_switching(const std::string& name) {
    for (int first = 0; Form::kFused * first < log_n_; ++first) {
      for (const bool shuffles : {false, true}) {
        if (shuffles && first == 0) continue;
        const Plan plan = switching_plan(log_n_, Form::kFused, Form::kDecomposed, first, shuffles);
        const std::uint32_t blocks = 1u << plan.log_chunks;
        const std::uint32_t threads = plan.threads(log_n_, Form::kFused) / blocks;
        if (threads < 1 || threads > 1024) continue;
        const std::string form = (shuffles ? "OSSP-PCS-" : "OSSP-") + name;
        measure<Form>({form, plan, blocks, threads, Sync::Local, shuffles});
        if (shuffles) measure<Form>({form, plan, blocks, threads, Sync::Launches, shuffles});
      }
    }
  }

  template <class Form>
  void measure(const Way& way) {
    if (!wanted(way)) return;
    const std::size_t bytes = sizeof(std::uint32_t) * shared_words<Form>(way.plan);
    int at_once = 0;
    cuda::check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&at_once, transform<Form>,
                                                              static_cast<int>(way.threads), bytes),
                kName);
    if (way.blocks > static_cast<std::uint32_t>(at_once * device_.multiProcessorCount)) {
      std::printf("%-20s 2^%d: %u blocks of %u threads are not on the device at once\n",
                  way.form.c_str(), log_n_, way.blocks, way.threads);
      return;
    }
    const bool local = way.sync == Sync::Local;
    const Neighbours n = local ? neighbours_of(way.plan, way.blocks, way.threads) : Neighbours{};
    Words lists(n.block.size() / 2 + 1);
    std::copy(n.block.begin(), n.block.end(), reinterpret_cast<std::uint16_t*>(lists.data()));
    const DeviceWords neighbours(lists), words(sync_words(way.blocks));
    const Args args{
        way.plan,
        0,
        way.plan.count,
        tables().view().psi,
        in_->get(),
        out_.get(),
        replica_.get(),
        tables().modulus(0),
        {way.sync, words.get(), reinterpret_cast<const std::uint16_t*>(neighbours.get()), n.width}};
    cuda::check(cudaMemset(out_.get(), 0xFF, sizeof(std::uint32_t) * ring_.n()), kName);
    cuda::check(cudaDeviceSynchronize(), kName);
    run<Form>(args, way, bytes);
    synchronize();
    if (out_.words() != want_) {
      throw ValueError(kName, way.form + " with wrong words, " + kSyncNames[int(way.sync)],
                       "those of our transform", "run the emulation tests");
    }
    const auto once = [&] { run<Form>(args, way, bytes); };
    if (profile_) {
      profiled(once, [&] { synchronize(); });
      add(way, {});
    } else {
      add(way, timed_runs(once));
    }
    if (out_.words() != want_) {
      throw ValueError(kName,
                       way.form + " with wrong words after many runs, " + kSyncNames[int(way.sync)],
                       "those of our transform", "look for a barrier that is too weak");
    }
  }

  template <class Form>
  void run(Args args, const Way& way, std::size_t bytes) {
    const bool launches = way.sync == Sync::Launches;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(way.blocks);
    config.blockDim = dim3(way.threads);
    config.dynamicSmemBytes = bytes;
    config.stream = stream_;
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
    config.attrs = &attribute;
    config.numAttrs = launches ? 0 : 1;
    const int steps = launches ? 1 : way.plan.count;
    for (args.first = 0; args.first < way.plan.count; args.first += steps) {
      args.last = args.first + steps;
      cuda::check(cudaLaunchKernelEx(&config, transform<Form>, args), kName);
    }
  }

  void synchronize() { cuda::check(cudaStreamSynchronize(stream_), kName); }

  // Microseconds of one of the kRepeats transforms.
  template <class Body>
  Sample timed_runs(const Body& body) {
    const auto all = [&] {
      for (int i = 0; i < kRepeats; ++i) body();
    };
    const int runs = arguments_.number("runs");
    if (mode_ == "launched") {
      all();
      synchronize();
      return timed(runs, all, [&] { synchronize(); }).over(kRepeats * 1e-6);
    }
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t program = nullptr;
    cuda::check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), kName);
    all();
    cuda::check(cudaStreamEndCapture(stream_, &graph), kName);
    cuda::check(cudaGraphInstantiate(&program, graph, 0), kName);
    const auto replay = [&] { cuda::check(cudaGraphLaunch(program, stream_), kName); };
    replay();
    synchronize();
    const Sample sample = timed(runs, replay, [&] { synchronize(); }).over(kRepeats * 1e-6);
    cuda::check(cudaGraphExecDestroy(program), kName);
    cuda::check(cudaGraphDestroy(graph), kName);
    return sample;
  }

  void add(const Way& way, const Sample& sample) {
    const bool ours = way.form == "ours";
    const int chunks = chunks_of(way);
    const char* sync = ours ? "none" : kSyncNames[static_cast<int>(way.sync)];
    Row params, row;
    params.add("N", ring_.n()).add("limbs", 1).add("form", way.form).add("sync", sync);
    params.add("chunks", chunks);
    params.add("blocks", static_cast<int>(way.blocks))
        .add("threads", static_cast<int>(way.threads));
    row.add("name", "ntt.form");
    sample.add_to(row, "us");
    row.add("device", device_.name).add("backend", "cuda");
    row.add("mode", profile_ ? "profiled" : ours ? "replayed" : mode_);
    row.add("launches", way.sync == Sync::Launches ? way.plan.count : 1);
    row.add("preset", "none").add("params", params);
    row.add("commit", arguments_.text("commit")).add("date", today());
    rows_.push_back(row);
    std::printf("2^%-2d %-18s %-9s chunks %-5d %4u x %-4u %8.2f us\n", log_n_, way.form.c_str(),
                sync, chunks, way.blocks, way.threads, sample.median);
    std::fflush(stdout);
  }

  inline static const Basis kOnePrime = {{0, 1}};
  const Arguments& arguments_;
  const std::string mode_;
  const bool profile_;
  const std::vector<std::string> syncs_;  // empty: all
  const std::vector<int> chunks_;         // empty: all
  Queue& queue_;
  std::vector<Row>& rows_;
  int log_n_;
  Ring ring_;
  DeviceWords out_, replica_;
  std::unique_ptr<DeviceWords> in_;
  Words want_;
  cudaDeviceProp device_{};
  cudaStream_t stream_ = nullptr;
};

std::vector<Row> run(const Arguments& arguments) {
  std::vector<Row> rows;
  Queue queue(make_cuda_backend());
  for (const int log_n : arguments.numbers("log-n")) {
    Degree(arguments, queue, log_n, rows).measure();
  }
  return rows;
}

}  // namespace
}  // namespace latticino::bench

int main(int argc, char** argv) {
  using namespace latticino;
  return bench::run_rows(argc, argv,
                         {{"log-n", "12,13,14,15,16"},
                          {"runs", "15"},
                          {"mode", "replayed"},
                          {"profile", "0"},
                          {"syncs", ""},
                          {"chunks", ""}},
                         bench::run);
}
