// Ways to multiply the masks of LWE ciphertexts with the encrypted secret, the first half of a
// repacking (paper: Chameleon, Table 2), on a CPU:
//   bench_repack --sets test-switch-n12-insecure --rows 16,64,256 --output rows.json
// There are three ways:
// - "diagonals" rotates one encryption of the secret once for every diagonal of the matrix.
// - "pegasus" uses baby steps and giant steps. It rotates each plaintext back by its giant step.
// - "rotation-free" needs no rotation, because the key contains all rotations of the secret
//   (switch/matvec.h). The library uses this way.
// All three put the same phases into the slots. A run fails if one does not. The program counts the
// key switches that ran, and the products of a ciphertext and a plaintext. It measures processor
// time, so other programs may run at the same time.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "ckks/encoding/encoder.h"
#include "support/sample.h"
#include "support/trace.h"
#include "support/world.h"
#include "switch/client.h"
#include "switch/matvec.h"

namespace latticino::bench {
namespace {

using switching::MatvecKey;
using switching::MatvecPacker;
using switching::MatvecShape;

constexpr double kMinBits = 8;  // the least precision of phases, whose range is 1 / K

struct Counts {
  int key_switches = 0, products = 0;
};

Counts counted(const std::vector<Operation>& log) {
  Counts c;
  for (const Operation& op : log) {
    if (const auto* inner = std::get_if<KeyInner>(&op)) {
      for (const KeyInner::Group& group : inner->groups) {
        c.key_switches += static_cast<int>(group.targets.size());
      }
    }
    if (const auto* dot = std::get_if<Dot>(&op)) {
      for (const Dot::Output& output : dot->outputs) {
        c.products += static_cast<int>(output.terms.size());
      }
    }
  }
  return c;
}

class Repack {
 public:
  Repack(const Arguments& arguments, const std::string& set, int rows)
      : runs_(arguments.number("runs")),
        params_(switch_preset(set)),
        // As many slots as columns, so that every diagonal is a rotation.
        shape_{rows, params_->n()},
        world_(params_->ckks().name(),
               std::make_unique<Trace>(make_backend("cpu", arguments.number("threads")), log_)),
        context_(switching::Context::create(params_, world_.context())),
        secret_(switching::generate_secret(*params_, world_.random())),
        packer_(context_, shape_),
        key_(switching::make_matvec_key(*context_, world_.secret(), secret_, shape_,
                                        world_.random())),
        baby_(1 << (static_cast<int>(std::log2(rows)) + 1) / 2),
        lwe_(context_->tfhe()->allocate(static_cast<std::uint32_t>(params_->n()),
                                        static_cast<std::uint32_t>(rows),
                                        context_->tfhe()->ring().prime(0))) {
    if (rows < 2 || (rows & (rows - 1)) != 0 || rows > params_->n()) {
      throw ShapeError("bench.repack", std::to_string(rows) + " rows",
                       "a power of two from 2 to " + std::to_string(params_->n()),
                       "correct --rows");
    }
    std::mt19937 words(1);
    const LweView& v = lwe_.view;
    for (std::uint32_t r = 0; r < v.count; ++r) {
      for (std::uint32_t i = 0; i <= v.dimension; ++i) v.ciphertext(r)[i] = words() % v.modulus;
    }
    for (int r = 0; r < rows; ++r) rows_.push_back(r);
    const auto setup = [&](const auto&) -> Program1 {
      return [&](const ckks::Evaluator& e, const Ciphertext& x) {
        for (int d = 1; d < shape_.rows; ++d) e.rotate(x, d);
        const Ciphertext y = e.rescale(x);
        e.inner_sum(y, shape_.rows, shape_.slots / shape_.rows);
      };
    };
    world_.make_keys(
        dry_run(params_->shared_ckks(), packer_.plan().level, shape_.slots, setup).request);
  }

  void run(std::vector<Row>& rows) {
    const struct {
      const char* name;
      Ciphertext (Repack::*product)() const;
      int stored, keys;  // ciphertexts of the secret and of its rotations; rotation keys
      bool bodies;       // added to the products
    } ways[] = {{"diagonals", &Repack::diagonals, 1, shape_.rows - 1, false},
                {"pegasus", &Repack::pegasus, 1, baby_ + shape_.rows / baby_ - 2, false},
                {"rotation-free", &Repack::rotation_free, shape_.rows, 0, true}};
    for (const auto& way : ways) {
      Ciphertext y;
      const Program program = world_.queue().record([&] { y = (this->*way.product)(); });
      const Counts all = counted(*log_);
      // Summing the blocks afterwards is the same for all ways.
      const int blocks = static_cast<int>(std::log2(shape_.slots / shape_.rows));
      const Sample sample = replayed(
          world_.queue(), runs_, [&] { y = (this->*way.product)(); }, Clock::Processor);
      const double bits = bits_of(y, way.bodies);
      Row params, row;
      params.add("rows", shape_.rows).add("slots", shape_.slots).add("way", way.name);
      params.add("clock", "processor");
      params.add("N", params_->ckks().n())
          .add("limbs", params_->ckks().limbs(packer_.plan().level));
      row.add("name", "switch.repack_product");
      sample.over(1e-3).add_to(row, "ms");
      row.add("key_switches", all.key_switches - blocks).add("products", all.products);
      row.add("secret_ciphertexts", way.stored).add("rotation_keys", way.keys);
      row.add("error_bits", bits).add("device", world_.queue().device().name);
      row.add("backend", "cpu").add("mode", "replayed").add("preset", params_->name());
      row.add("params", params).add("commit", commit()).add("date", today());
      rows.push_back(row);
      std::printf("%-26s %5d rows  %-14s %5d key switches %5d products %9.1f ms  %.1f bits\n",
                  params_->name().c_str(), shape_.rows, way.name, all.key_switches - blocks,
                  all.products, sample.median * 1e3, bits);
      std::fflush(stdout);
      if (bits < kMinBits) {
        throw ValueError("bench.repack", std::string("wrong phases by ") + way.name,
                         "those of the LWE ciphertexts", "run the tests");
      }
    }
  }

 private:
  Ciphertext rotation_free() const {
    return packer_.product(world_.evaluator(), key_, lwe_.view, rows_, world_.secret().id());
  }

  // The secret in the slots: the first ciphertext of the key.
  Ciphertext encrypted_secret() const {
    const auto& parts = key_.diagonals[0].parts;
    return {world_.context(),     {parts[0], parts[1]}, packer_.plan().level,
            packer_.plan().scale, shape_.slots,         world_.secret().id()};
  }

  // The diagonals first .. first + count - 1 of the matrix, after its rows moved down by `turned`.
  std::vector<ckks::Plaintext> encoded(int first, int count, int turned) const {
    Queue& queue = world_.queue();
    const auto slots = static_cast<std::uint32_t>(shape_.slots);
    const Buffer values = queue.allocate(2 * sizeof(double) * std::size_t{slots} * count);
    auto* numbers = static_cast<double*>(values->data());
    std::vector<std::int32_t> rows(rows_.size());
    for (int r = 0; r < shape_.rows; ++r) rows[(r + turned) % shape_.rows] = rows_[r];
    LweSlots words;
    words.items.push_back({.in = lwe_.view,
                           .rows = rows,
                           .out = numbers,
                           .slots = slots,
                           .first = static_cast<std::uint32_t>(first),
                           .count = static_cast<std::uint32_t>(count)});
    queue.submit(std::move(words));
    return ckks::encode_resident(
        world_.context(), numbers, count, shape_.slots, packer_.plan().level,
        params_->ckks().rescale_factor(packer_.plan().level) / packer_.plan().sine.range_k);
  }

  // sum_k x[k] y[k] in one pass.
  Ciphertext summed(const std::vector<Ciphertext>& x, const std::vector<ckks::Plaintext>& y) const {
    Ciphertext out = x[0];
    for (Poly& part : out.parts) {
      part = world_.queue().allocate(world_.context()->ring(), part.view.basis(), Domain::Eval);
    }
    Dot dot;
    Dot::Output sum;
    sum.out = {out.parts[0].view, out.parts[1].view, {}};
    for (std::size_t k = 0; k < x.size(); ++k) {
      sum.terms.push_back({.input = static_cast<int>(k), .factor = y[k].poly.view});
      dot.inputs.push_back({x[k].parts[0].view, x[k].parts[1].view, {}});
    }
    dot.outputs.push_back(std::move(sum));
    world_.queue().submit(std::move(dot));
    return out;
  }

  // Rescaled, blocks summed, and the bodies added, as MatvecPacker::product does it.
  Ciphertext finished(Ciphertext x) const {
    const ckks::Evaluator& e = world_.evaluator();
    x.scale = packer_.plan().scale * params_->ckks().rescale_factor(packer_.plan().level);
    x = e.rescale(x);
    x = e.inner_sum(x, shape_.rows, shape_.slots / shape_.rows);
    x.slots = shape_.rows;
    x.scale = packer_.plan().scale;
    return x;
  }

  Ciphertext diagonals() const {
    std::vector<Ciphertext> rotated{encrypted_secret()};
    for (int d = 1; d < shape_.rows; ++d)
      rotated.push_back(world_.evaluator().rotate(rotated[0], d));
    return finished(summed(rotated, encoded(0, shape_.rows, 0)));
  }

  Ciphertext pegasus() const {
    const ckks::Evaluator& e = world_.evaluator();
    std::vector<Ciphertext> rotated{encrypted_secret()};
    for (int b = 1; b < baby_; ++b) rotated.push_back(e.rotate(rotated[0], b));
    Ciphertext total;
    for (int giant = 0; giant < shape_.rows; giant += baby_) {
      // This step needs the diagonals giant + b, rotated right by `giant` slots, because the sum is
      // rotated left by as many. Slot i then holds row i - giant and column i + b of the matrix:
      // the diagonal b of a matrix whose rows are rotated by `giant`.
      Ciphertext sum = summed(rotated, encoded(0, baby_, giant));
      if (giant > 0) sum = e.rotate(sum, giant);
      total = giant == 0 ? sum : e.add(total, sum);
    }
    return finished(total);
  }

  // Bits of precision of the sums over the masks (with bodies if a way has added them), compared
  // with the words.
  double bits_of(const Ciphertext& y, bool bodies) const {
    const std::vector<Complex> z = world_.decrypt(y);
    const LweView& v = lwe_.view;
    const double q = v.modulus;
    double worst = 0;
    for (int r = 0; r < shape_.rows; ++r) {
      const std::uint32_t* words = v.ciphertext(r);
      double mask = 0, all = 2.0 * words[v.dimension];
      for (std::uint32_t i = 0; i < v.dimension; ++i) {
        const double c = words[i] > q / 2 ? words[i] - q : words[i];
        mask += c / q * (secret_.glwe()[i] - 0.5);
        all += c;
      }
      double body = std::fmod(all, 2 * q);
      if (body > q) body -= 2 * q;
      if (body <= -q) body += 2 * q;
      const double k = packer_.plan().sine.range_k, have = z[r].real() * k;
      worst = std::max(worst, std::abs(have - mask - (bodies ? body / (2 * q) : 0)));
    }
    return -std::log2(worst);
  }

  int runs_;
  std::shared_ptr<const SwitchParams> params_;
  MatvecShape shape_;
  std::shared_ptr<std::vector<Operation>> log_ = std::make_shared<std::vector<Operation>>();
  World world_;
  std::shared_ptr<const switching::Context> context_;
  tfhe::SecretKey secret_;
  MatvecPacker packer_;
  MatvecKey key_;
  int baby_;
  tfhe::Context::Lwe lwe_;
  std::vector<std::int32_t> rows_;
};

std::vector<Row> run(const Arguments& arguments) {
  std::vector<Row> rows;
  for (const std::string& set : words(arguments.text("sets"))) {
    for (const int count : arguments.numbers("rows")) {
      Repack(arguments, set, count).run(rows);
    }
  }
  return rows;
}

}  // namespace
}  // namespace latticino::bench

int main(int argc, char** argv) {
  using namespace latticino;
  return bench::run_rows(argc, argv,
                         {{"sets", "test-switch-n12-insecure"},
                          {"rows", "16,64,256"},
                          {"threads", "1"},
                          {"runs", "3"}},
                         bench::run);
}
