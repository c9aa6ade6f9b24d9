// Times every form of a transform between Coeff and Eval (backend/cuda/ntt/forms.h):
//   bench_transforms --log-n 10,11,12,13,14,15,16,17 --limbs 1,7,20 --polynomials 1,16
// A row for each form that the shape can take; "rule" tells which one runs without a table. Two
// launches (form 0) are measured with all twiddles of rows loaded as well, instead of made. Buffer
// sets take turns, so that the data of one run have left the cache when it comes round again.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "backend/features.h"
#include "math/primes.h"
#include "runtime/queue.h"
#include "support/common.h"
#include "support/sample.h"

namespace latticino::bench {
namespace {

constexpr std::size_t kFootprint = 200u << 20;  // for an H200: four times its L2
constexpr std::size_t kMaxSets = 64;

// The number of records, each with buffers of its own, so that they leave the cache.
struct Work {
  Work(Queue& queue, const Ring& ring, int limbs, int polynomials, bool forward)
      : bytes(std::size_t{8} * ring.n() * limbs * polynomials) {
    const Basis basis = {{0, static_cast<std::uint16_t>(limbs)}};
    const Domain from = forward ? Domain::Coeff : Domain::Eval;
    const Domain to = forward ? Domain::Eval : Domain::Coeff;
    const auto sets = static_cast<int>(std::clamp<std::size_t>(kFootprint / bytes, 2, kMaxSets));
    records.resize(sets);
    for (Transform& record : records) {
      for (int i = 0; i < polynomials; ++i) {
        const PolyView in = memory.emplace_back(queue.allocate(ring, basis, from)).view;
        const PolyView out = memory.emplace_back(queue.allocate(ring, basis, to)).view;
        queue.submit(ExpandUniform{{{{}, memory.size(), in.in(Domain::Eval)}}});
        record.items.push_back({in, out});
      }
    }
  }

  std::size_t bytes;  // bytes that one record reads and writes
  std::vector<Poly> memory;
  std::vector<Transform> records;
};

class Transforms {
 public:
  explicit Transforms(const Arguments& arguments)
      : arguments_(arguments),
        tuning_(std::make_shared<Tuning>()),
        features_(std::make_shared<Features>()),
        queue_(make_cuda_backend({.tuning = tuning_, .features = features_})) {}

  void measure(const Ring& ring, int limbs, int polynomials, bool forward) {
    Work work(queue_, ring, limbs, polynomials, forward);
    tuning_->watch(true);
    queue_.submit(Transform(work.records[0]));
    const Tuning::Question question = tuning_->seen().at(0);
    tuning_->watch(false);
    for (int form = 0; form < Tuning::kVariants; ++form) {
      if ((question.can_run >> form & 1) == 0) continue;
      tuning_->force(TunedKernel::Transform, form);
      const auto round = [&] {
        for (const Transform& record : work.records) queue_.submit(Transform(record));
      };
      const double sets = static_cast<double>(work.records.size());
      const Sample sample = replayed(queue_, arguments_.number("runs"), round).over(sets * 1e-6);
      add(question, form, sample, work.bytes);
      if (form != 0) continue;  // only this form can load all twiddles
      features_->twiddles = false;
      add(question, form, replayed(queue_, arguments_.number("runs"), round).over(sets * 1e-6),
          work.bytes);
      features_->twiddles = true;
    }
    tuning_->force(TunedKernel::Transform, -1);
  }
  const std::vector<Row>& rows() const { return rows_; }

 private:
  void add(const Tuning::Question& question, int form, const Sample& sample, std::size_t bytes) {
    const auto [direction, limbs, polynomials, unused] = question.key.shape;
    const char* name = direction == 0 ? "poly.ntt" : "poly.intt";
    const char* twiddles = features_->twiddles ? "made" : "loaded";
    Row params, row;
    params.add("N", 1 << question.key.log_n).add("limbs", limbs).add("polynomials", polynomials);
    params.add("form", form).add("rule", question.own);
    params.add("twiddles", twiddles);
    row.add("name", name);
    sample.add_to(row, "us");
    row.add("device", queue_.device().name).add("backend", "cuda").add("mode", "replayed");
    row.add("preset", "none").add("params", params).add("bytes_moved", bytes);
    row.add("commit", arguments_.text("commit")).add("date", today());
    rows_.push_back(row);
    std::printf("%-9s 2^%-2d limbs %-2d polynomials %-3d form %d%s %-6s %9.2f us  %6.0f GB/s\n",
                name, question.key.log_n, limbs, polynomials, form,
                form == question.own ? "*" : " ", twiddles, sample.median,
                1e-3 * static_cast<double>(bytes) / sample.median);
    std::fflush(stdout);
  }

  const Arguments& arguments_;
  std::shared_ptr<Tuning> tuning_;
  std::shared_ptr<Features> features_;
  Queue queue_;
  std::vector<Row> rows_;
};

std::vector<Row> run(const Arguments& arguments) {
  Transforms transforms(arguments);
  const std::vector<int> sizes = arguments.numbers("limbs");
  for (const int log_n : arguments.numbers("log-n")) {
    const Ring ring(
        log_n, ntt_primes_below(log_n, 1u << 30, *std::max_element(sizes.begin(), sizes.end())));
    for (const int limbs : sizes) {
      for (const int polynomials : arguments.numbers("polynomials")) {
        for (const bool forward : {true, false}) {
          transforms.measure(ring, limbs, polynomials, forward);
        }
      }
    }
  }
  return transforms.rows();
}

}  // namespace
}  // namespace latticino::bench

int main(int argc, char** argv) {
  using namespace latticino;
  return bench::run_rows(argc, argv,
                         {{"log-n", "10,11,12,13,14,15,16,17"},
                          {"limbs", "1,7,20"},
                          {"polynomials", "1,16"},
                          {"runs", "15"}},
                         bench::run);
}
