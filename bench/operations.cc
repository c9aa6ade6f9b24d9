// CKKS operations of one parameter set as replayed programs, at several numbers of limbs:
//   bench_operations --device cuda --preset n16-d40-boot-v1 --limbs 47,23,13,7 --output rows.json
// A program works through several ciphertexts with keys in turn, so that what one operation reads
// has left the cache since it was written, as in a user's program; its time is divided by their
// number. --batches: independent rotations by one key, one call for so many.
#include <cstdio>
#include <sstream>

#include "support/sample.h"
#include "support/world.h"

namespace latticino::bench {
namespace {

constexpr int kKeys = 6;          // different rotations, used in turn
constexpr int kHoisted = 8;       // rotations that share one decomposition
constexpr double kBytes = 240e6;  // bytes that one round over the ciphertexts moves at least

using Body = std::function<void(std::vector<Ciphertext>&)>;  // results are written there

class Operations {
 public:
  explicit Operations(const Arguments& arguments)
      : arguments_(arguments),
        runs_(arguments.number("runs")),
        world_(arguments.text("preset"),
               make_backend(arguments.text("device"), arguments.number("threads"),
                            arguments.text("tuning"), arguments.number("shared-limit"),
                            arguments.number("arch"))),
        params_(*world_.params()) {
    for (const int limbs : arguments.numbers("limbs")) levels_.push_back(level_of(params_, limbs));
    if (levels_.empty()) levels_.push_back(params_.default_level());
    const int most = *std::max_element(levels_.begin(), levels_.end());
    const auto everything = [](const ckks::Evaluator& e, const Ciphertext& x) {
      e.relinearize(e.tensor(x, x));
      for (int step = 1; step <= std::max(kKeys, kHoisted); ++step) e.rotate(x, step);
    };
    world_.make_keys(
        dry_run(world_.params(), most, params_.max_slots(), [&](const auto&) -> Program1 {
          return everything;
        }).request);
  }

  std::vector<Row> run() {
    for (const int level : levels_) {
      single(level);
      for (const int batch : arguments_.numbers("batches")) batched(level, batch);
    }
    return std::move(rows_);
  }

 private:
  // Ciphertexts of their own memory, enough to leave the cache in one round.
  std::vector<Ciphertext> inputs(int level, int least) {
    const double bytes = 4.0 * sizeof(std::uint32_t) * params_.n() * params_.limbs(level);
    const int count = std::max({least, 4, static_cast<int>(kBytes / bytes)});
    std::vector<Ciphertext> x{
        world_.encrypt(world_.message("complex", params_.max_slots()), level)};
    while (static_cast<int>(x.size()) < count) {
      Ciphertext y = x[0];
      for (Poly& part : y.parts) {
        part =
            world_.queue().allocate(world_.context()->ring(), params_.basis(level), Domain::Eval);
      }
      world_.copy(x[0], y);
      x.push_back(std::move(y));
    }
    return x;
  }

  void single(int level) {
    const ckks::Evaluator& e = world_.evaluator();
    const std::vector<Ciphertext> x = inputs(level, 1);
    const auto each = [&](const auto& operation) {
      return [&x, operation](std::vector<Ciphertext>& out) {
        for (std::size_t k = 0; k < x.size(); ++k) {
          out.push_back(operation(x[k], x[(k + 1) % x.size()], static_cast<int>(k % kKeys) + 1));
        }
      };
    };
    const int n = static_cast<int>(x.size());
    using C = Ciphertext;
    time("ckks.add", level, 1, n, each([&](const C& a, const C& b, int) { return e.add(a, b); }));
    if (level > 0) {
      time("ckks.rescale", level, 1, n,
           each([&](const C& a, const C&, int) { return e.rescale(a); }));
      time("ckks.mul_relin_rescale", level, 1, n,
           each([&](const C& a, const C& b, int) { return e.multiply(a, b); }));
    }
    time("ckks.mul_relin", level, 1, n,
         each([&](const C& a, const C& b, int) { return e.relinearize(e.tensor(a, b)); }));
    time("ckks.rotate", level, 1, n,
         each([&](const C& a, const C&, int step) { return e.rotate(a, step); }));
    std::vector<int> steps;
    for (int i = 1; i <= kHoisted; ++i) steps.push_back(i);
    time("ckks.rotate_hoisted", level, 1, 2 * kHoisted, [&](std::vector<C>& out) {
      for (int k = 0; k < 2; ++k) {
        for (C& y : e.rotate_hoisted(x[k], steps)) out.push_back(std::move(y));
      }
    });
  }

  // Independent rotations by one key, one call for each batch.
  void batched(int level, int batch) {
    const std::vector<Ciphertext> x = inputs(level, batch);
    const int rounds = static_cast<int>(x.size()) / batch;
    time("ckks.rotate", level, batch, rounds * batch, [&](std::vector<Ciphertext>& out) {
      for (int k = 0; k < rounds; ++k) {
        const auto part = std::span(x).subspan(k * batch, batch);
        for (Ciphertext& y : world_.evaluator().rotate(part, k % kKeys + 1)) {
          out.push_back(std::move(y));
        }
      }
    });
  }

  void time(const std::string& name, int level, int batch, int count, const Body& body) {
    Queue& queue = world_.queue();
    std::vector<Ciphertext> out;
    queue.reset_peak();
    const std::uint64_t before = queue.live_bytes();
    const Sample sample = replayed(queue, runs_, [&] {
                            out.clear();
                            body(out);
                          }).over(count * 1e-6);
    const DeviceInfo device = queue.device();
    Row sizes;
    sizes.add("N", params_.n()).add("limbs", params_.limbs(level));
    const int digits = static_cast<int>(params_.digit_groups(level).size());
    sizes.add("digits", digits).add("aux", params_.aux_basis(level).size());
    sizes.add("batch", batch);
    add_limits(sizes, arguments_);
    if (name == "ckks.rotate_hoisted") sizes.add("rotations", kHoisted);
    Row row;
    row.add("name", name);
    sample.add_to(row, "us");
    row.add("device", device.name).add("backend", device.backend).add("mode", "replayed");
    row.add("preset", params_.name()).add("params", sizes);
    row.add("program_bytes", std::uint64_t{queue.peak_bytes() - before});
    row.add("commit", arguments_.text("commit")).add("date", today());
    std::printf("%-24s %2d limbs, %d digits, batch %2d: %9.2f us (%.2f .. %.2f)\n", name.c_str(),
                params_.limbs(level), digits, batch, sample.median, sample.low, sample.high);
    std::fflush(stdout);
    rows_.push_back(row);
  }

  const Arguments& arguments_;
  int runs_;
  World world_;
  const Params& params_;
  std::vector<int> levels_;
  std::vector<Row> rows_;
};

}  // namespace
}  // namespace latticino::bench

int main(int argc, char** argv) {
  using namespace latticino;
  return bench::run_rows(
      argc, argv,
      {{"device", "cuda"},
       {"threads", "0"},
       {"tuning", ""},
       {"shared-limit", "0"},
       {"arch", "0"},
       {"preset", "n16-d40-boot-v1"},
       {"limbs", "47,23,13,7"},
       {"batches", "16"},
       {"runs", "15"}},
      [](const bench::Arguments& arguments) { return bench::Operations(arguments).run(); });
}
