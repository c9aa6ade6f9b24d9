// Times the records of TFHE bootstrapping on one device, replayed:
//   bench_tfhe --device cuda --presets chameleon-630-legacy,tfhe-gates-v1 --batch 1,1024
// One bootstrapping is a modulus switch, a blind rotation, an extraction and a key switch, in the
// order of gates. Keys and ciphertexts are random words: the work does not depend on them.
#include <cstdio>
#include <random>

#include "common.h"
#include "params/tfhe_params.h"
#include "runtime/queue.h"
#include "sample.h"

namespace latticino::bench {
namespace {

struct LweBatch {
  Buffer buffer;
  LweView view;
};

class Bootstrapping {
 public:
  Bootstrapping(Queue& queue, std::shared_ptr<const TfheParams> params, std::uint32_t count)
      : queue_(queue),
        params_(std::move(params)),
        ring_(params_->log_n(), params_->literal().primes),
        basis_{{0, static_cast<std::uint16_t>(params_->literal().primes.size())}} {
    const TfheLiteral& set = params_->literal();
    const auto n = static_cast<std::uint32_t>(params_->n());
    const auto parts = static_cast<std::uint32_t>(set.glwe_dimension) + 1;
    const std::uint32_t q = params_->lwe_modulus();
    rotate_.gadget = set.bootstrap;
    rotate_.glwe_dimension = set.glwe_dimension;
    rotate_.group = set.group;
    rotate_.ternary = set.ternary;
    rotate_.key = polynomials(
        rotate_.key_index(static_cast<std::uint32_t>(params_->steps()), 0, 0, 0), Domain::Eval);
    const LweBatch small = ciphertexts(q, set.lwe_dimension, count);
    const LweBatch exponents = ciphertexts(2 * n, set.lwe_dimension, count);
    const LweBatch big = ciphertexts(q, set.glwe_dimension * n, count);
    const PolyArray out = polynomials(count * parts, Domain::Coeff);
    rotate_.items = {{exponents.view, polynomials(1, Domain::Coeff).first, out}};
    switch_ = {true, 0, {{small.view, exponents.view}}};
    extract_ = {set.glwe_dimension, {{out, {0}, big.view}}};
    key_switch_ = {
        ciphertexts(q, set.lwe_dimension,
                    big.view.dimension * static_cast<std::uint32_t>(set.key_switch.levels))
            .view,
        set.key_switch,
        {{big.view, small.view}}};
  }

  void rotate() { queue_.submit(rotate_); }
  void key_switch() { queue_.submit(key_switch_); }
  void gate() {
    queue_.submit(switch_);
    rotate();
    queue_.submit(extract_);
    key_switch();
  }

 private:
  // Random words below 2^20: residues of every modulus here, and exponents after a mask.
  Buffer words(std::size_t count, std::uint32_t below) {
    std::vector<std::uint32_t> host(count);
    std::mt19937 random(static_cast<unsigned>(count));
    for (std::uint32_t& x : host) x = static_cast<std::uint32_t>(random()) % below;
    buffers_.push_back(queue_.allocate(count * sizeof(std::uint32_t)));
    queue_.copy_in(buffers_.back()->data(), host.data(), count * sizeof(std::uint32_t));
    return buffers_.back();
  }
  LweBatch ciphertexts(std::uint32_t modulus, std::uint32_t dimension, std::uint32_t count) {
    const Buffer buffer = words(std::size_t{count} * (dimension + 1), modulus);
    return {buffer, {buffer->words(), modulus, dimension, count, dimension + std::size_t{1}}};
  }
  PolyArray polynomials(std::uint32_t count, Domain domain) {
    const std::size_t limbs = static_cast<std::size_t>(count) * basis_.size();
    std::uint32_t least = ring_.prime(0);
    for (int p = 1; p < basis_.size(); ++p) least = std::min(least, ring_.prime(p));
    const Buffer buffer = words(limbs * ring_.n(), least);
    return {PolyView::contiguous(buffer->words(), ring_, basis_, domain), count};
  }

  Queue& queue_;
  std::shared_ptr<const TfheParams> params_;
  Ring ring_;
  Basis basis_;
  std::vector<Buffer> buffers_;
  BlindRotate rotate_;
  ModSwitch switch_;
  SampleExtract extract_;
  LweKeySwitch key_switch_;
};

int run(const Arguments& arguments) {
  Queue queue(make_backend(arguments.text("device"), arguments.number("threads")));
  const DeviceInfo device = queue.device();
  std::vector<Row> rows;
  std::istringstream presets(arguments.text("presets"));
  for (std::string name; std::getline(presets, name, ',');) {
    const auto params = tfhe_preset(name);
    for (const int batch : numbers(arguments.text("batch"))) {
      Bootstrapping b(queue, params, static_cast<std::uint32_t>(batch));
      const auto measure = [&](const char* what, const auto& body) {
        const Sample sample = replayed(queue, arguments.number("replays"), body);
        const double each = 1e6 * sample.median / batch;
        Row row, shape;
        shape.add("N", params->n()).add("lwe_dimension", params->lwe_dimension());
        shape.add("glwe_dimension", params->glwe_dimension()).add("batch", batch);
        row.add("name", what);
        sample.over(1e-6).add_to(row, "us");
        row.add("device", device.name).add("backend", device.backend).add("mode", "replayed");
        row.add("preset", name).add("params", shape).add("per_second", 1e6 / each);
        row.add("commit", arguments.text("commit")).add("date", today());
        rows.push_back(row);
        std::printf("%-22s %-18s batch %-5d %10.1f us  %8.3f us each  %9.0f /s\n", name.c_str(),
                    what, batch, 1e6 * sample.median, each, 1e6 / each);
        std::fflush(stdout);
      };
      measure("tfhe.blind_rotate", [&] { b.rotate(); });
      measure("tfhe.key_switch", [&] { b.key_switch(); });
      measure("tfhe.gate", [&] { b.gate(); });
    }
  }
  write_rows(rows, arguments.text("output"));
  return 0;
}

}  // namespace
}  // namespace latticino::bench

int main(int argc, char** argv) {
  using namespace latticino;
  return bench::run_program(argc, argv,
                            {{"device", "cuda"},
                             {"threads", "0"},
                             {"presets", "tfhe-gates-v1,tfhe-2-2-v1,chameleon-630-legacy"},
                             {"batch", "1,132,1024,4096"},
                             {"replays", "5"}},
                            bench::run);
}
