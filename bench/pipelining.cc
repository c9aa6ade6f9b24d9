// Measures complementary pipelining, section IV-B of the paper Theodosian. A rotation multiplies
// its digits by a key. The result has two parts. The sums on the auxiliary primes are converted to
// the primes of Q next. The sums on the primes of Q are not needed before the last step. So the
// conversion and the products on the primes of Q can run at the same time.
//   bench_pipelining --device cuda --output rows.json
// The next command compares the bits on a CPU:
//   bench_pipelining --device cpu --forms whole,split --log-n 13
// A graph has several rotations. All rotations of a graph have the same form, one of four:
// whole: the rotation that the library uses.
// split: two records of products, one for each part. All kernels run one after the other.
// tile-first: the conversion and the products on Q are two branches of the graph. Blocks of the
//   conversion start first.
// keys-first: the same, but blocks of the products start first.
// The program compares the results of all forms bit by bit. Operands are cold or warm. Cold ones
// have left the cache, because each rotation has its own. Warm ones are those of the rotation
// before. With one digit, the library uses fewer auxiliary primes and multiplies on Q in the last
// step. Where the limbs fit one digit, this rotation is measured as well.
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <memory>
#include <utility>

#include "backend/branches.h"
#include "math/primes.h"
#include "ops/views.h"
#include "record_cases.h"
#include "split_inner.h"
#include "support/sample.h"

namespace latticino::bench {
namespace {

using Branch = Branches::Branch;

enum class Form { Whole, Split, TileFirst, KeysFirst };
constexpr const char* kForms[] = {"whole", "split", "tile-first", "keys-first"};

bool has_branches(Form form) { return form == Form::TileFirst || form == Form::KeysFirst; }

// One of several rotations with operands of their own.
struct Rotation {
  std::vector<Operation> whole;
  SplitRotation split;
};

struct Measured {
  Form form;
  std::unique_ptr<Backend::Replay> replay;
  std::vector<double> seconds;
};

class Pipelining {
 public:
  explicit Pipelining(const Arguments& arguments)
      : arguments_(arguments),
        runs_(arguments.number("runs")),
        aux_(arguments.number("aux")),
        queue_(make_backend(arguments.text("device"), arguments.number("threads"))) {
    for (const std::string& name : words(arguments.text("forms"))) {
      const auto* known = std::find(std::begin(kForms), std::end(kForms), name);
      if (known == std::end(kForms)) {
        throw UnsupportedError("bench pipelining", "form '" + name + "'",
                               "whole, split, tile-first or keys-first", "check the name");
      }
      forms_.push_back(static_cast<Form>(known - kForms));
      if (has_branches(forms_.back())) {
        branches_ = &Branches::of(*queue_.backend(), "bench pipelining");
      }
    }
  }

  int run() {
    for (const int limbs : arguments_.numbers("limbs")) {
      const int log_n = arguments_.number("log-n");
      const Ring ring(log_n, ntt_primes_below(log_n, 1u << 30, limbs + aux_));
      Shapes shapes(queue_, ring, limbs, aux_);
      rotations(ring, limbs, shapes.rotations(1), shapes.sets());
      for (const Case& c : shapes.cases()) {
        if (c.name == "ckks.rotate_one_digit") rotations(ring, limbs, c, shapes.sets());
      }
    }
    write_rows(rows_, arguments_.text("output"));
    return good_ ? 0 : 1;
  }

 private:
  void rotations(const Ring& ring, int limbs, const Case& c, int sets) {
    std::vector<Poly> spare;
    std::vector<Rotation> rotations;
    for (int k = 0; k < sets; ++k) {
      const std::vector<Operation> ops = c.make(k);
      const Basis q = std::get<ModDownFinish>(ops.back()).items[0].out.basis();
      for (int h = 0; h < 2; ++h) spare.push_back(queue_.allocate(ring, q, Domain::Eval));
      const std::size_t at = spare.size() - 2;
      rotations.push_back({ops, split_rotation(ops, {spare[at].view, spare[at + 1].view})});
      // Checks the records, and makes the tables that a recording needs.
      for (const Operation& op : rotations.back().whole) queue_.submit(Operation(op));
      for (const Operation& op : rotations.back().split.in_turn()) queue_.submit(Operation(op));
    }
    queue_.synchronize();
    for (const bool warm : {false, true}) measure(ring, limbs, rotations, warm);
  }

  // A form that fails is reported, and the others are measured.
  void measure(const Ring& ring, int limbs, std::vector<Rotation> rotations, bool warm) {
    if (warm) std::fill(rotations.begin() + 1, rotations.end(), rotations.front());
    std::vector<Measured> all;
    std::vector<std::uint32_t> want;
    for (const Form form : forms_) {
      try {
        auto replay = record(form, rotations);
        const std::vector<std::uint32_t> words = words_of(*replay, rotations, warm);
        if (want.empty()) want = words;
        if (words == want) {
          all.push_back({form, std::move(replay), {}});
        } else {
          fail(form, limbs, "WRONG RESULT: other words than the first form");
        }
      } catch (const Error& error) {
        fail(form, limbs, error.what());
      }
    }
    // The forms take turns, so that a change of clock rates affects all of them alike.
    for (int i = 0; i < runs_; ++i) {
      for (Measured& m : all) {
        m.replay->launch();  // so that every form starts with the same caches
        queue_.synchronize();
        const Stopwatch watch;
        m.replay->launch();
        queue_.synchronize();
        m.seconds.push_back(watch.seconds());
      }
    }
    for (Measured& m : all) {
      const Sample sample = sample_of(std::move(m.seconds));
      add(ring, limbs, rotations[0], m.form, warm, sample.over(1e-6 * rotations.size()));
    }
  }

  std::unique_ptr<Backend::Replay> record(Form form, const std::vector<Rotation>& rotations) {
    const auto lock = queue_.lock();
    Backend& backend = *queue_.backend();
    backend.begin_record();
    try {
      for (const Rotation& r : rotations) submit(backend, form, r);
      return backend.end_record();
    } catch (...) {
      backend.abandon_record();
      throw;
    }
  }

  void submit(Backend& backend, Form form, const Rotation& r) {
    if (!has_branches(form)) {
      for (const Operation& op : form == Form::Whole ? r.whole : r.split.in_turn()) backend.run(op);
      return;
    }
    const bool tile_first = form == Form::TileFirst;
    for (const Operation& op : r.split.before) backend.run(op);
    backend.run(r.split.auxiliary);
    branches_->fork();
    branches_->choose(Branch::Second);
    backend.run(tile_first ? Operation(r.split.down) : Operation(r.split.main));
    branches_->choose(Branch::First);
    backend.run(tile_first ? Operation(r.split.main) : Operation(r.split.down));
    branches_->join();
    backend.run(r.split.last);
  }

  // The results of one run into memory that holds no residues.
  std::vector<std::uint32_t> words_of(Backend::Replay& replay,
                                      const std::vector<Rotation>& rotations, bool warm) {
    const auto lock = queue_.lock();
    Backend& backend = *queue_.backend();
    const std::size_t different = warm ? 1 : rotations.size();
    for (std::size_t k = 0; k < different; ++k) {
      for (const std::vector<Operation>& ops : {rotations[k].whole, rotations[k].split.in_turn()}) {
        for (const Operation& op : ops) poison(backend, op);
      }
    }
    replay.launch();
    backend.synchronize();
    std::vector<std::uint32_t> words;
    for (std::size_t k = 0; k < different; ++k) {
      for (const ModDownFinish::Item& item : rotations[k].split.last.items) {
        const std::size_t at = words.size();
        words.resize(at + static_cast<std::size_t>(item.out.limbs()) * item.out.ring->n());
        backend.download(words.data() + at, item.out);
      }
    }
    return words;
  }

  static void poison(Backend& backend, const Operation& op) {
    constexpr std::uint8_t kByte = 0xA5;  // words that are larger than every prime
    for_each_view(op, [&](const PolyView& v, bool written) {
      for (int s = 0; written && s < v.segments; ++s) {
        const std::size_t bytes = sizeof(std::uint32_t) * v.ring->n() * v.segment[s].count;
        backend.fill(v.limb(v.segment[s].prime), bytes, kByte);
      }
    });
  }

  void fail(Form form, int limbs, const char* message) {
    good_ = false;
    std::fprintf(stderr, "%s, %d limbs: %s\n", kForms[static_cast<int>(form)], limbs, message);
  }

  void add(const Ring& ring, int limbs, const Rotation& r, Form form, bool warm,
           const Sample& sample) {
    const KeyInner& auxiliary = r.split.auxiliary;
    const int aux = auxiliary.groups[0].targets[0].half[0].limbs();
    const int digits = static_cast<int>(auxiliary.groups[0].digits.size());
    const bool in_last = std::get<ModDownFinish>(r.whole.back()).items[0].times.segments > 0;
    std::uint64_t bytes = 0;
    for (const Operation& op : form == Form::Whole ? r.whole : r.split.in_turn()) {
      bytes += bytes_moved(op);
    }
    const DeviceInfo device = queue_.device();
    const char *name = kForms[static_cast<int>(form)], *operands = warm ? "warm" : "cold";
    Row params, row;
    params.add("N", ring.n()).add("limbs", limbs).add("aux", aux).add("digits", digits);
    row.add("name", in_last ? "pipelining.rotate_one_digit" : "pipelining.rotate");
    row.add("form", name).add("operands", operands);
    sample.add_to(row, "us");
    row.add("device", device.name).add("backend", device.backend).add("mode", "replayed");
    row.add("preset", "none").add("params", params).add("bytes_moved", bytes);
    row.add("commit", arguments_.text("commit")).add("date", today());
    rows_.push_back(row);
    std::printf("%2d limbs, %2d auxiliary, %d digits%s, %s: %-10s %9.2f us  %9.2f to %9.2f\n",
                limbs, aux, digits, in_last ? " (products in the last step)" : "", operands, name,
                sample.median, sample.low, sample.high);
    std::fflush(stdout);
  }

  const Arguments& arguments_;
  int runs_, aux_;
  Queue queue_;
  std::vector<Form> forms_;
  Branches* branches_ = nullptr;
  bool good_ = true;
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
       {"log-n", "16"},
       {"aux", "12"},
       {"limbs", "47,35,23,13,7"},
       {"forms", "whole,split,tile-first,keys-first"},
       {"runs", "15"}},
      [](const bench::Arguments& arguments) { return bench::Pipelining(arguments).run(); });
}
