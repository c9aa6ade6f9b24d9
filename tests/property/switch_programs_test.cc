// Random programs of both schemes: linear layers, products and random tables in any order. Every
// result is compared with the same step on the decrypted earlier results.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "ckks/linear/matrix.h"
#include "support/switch_world.h"

namespace latticino::switching {
namespace {

using ckks::Ciphertext;
using ckks::Evaluator;
using Values = SwitchWorld::Values;

struct Case {
  const char* set;
  Route route;
  int slots;
  friend std::ostream& operator<<(std::ostream& out, const Case& c) {
    return out << c.set << (c.route == Route::Ring ? ", ring, " : ", matvec, ") << c.slots;
  }
};

constexpr int kColumns = 8;  // of matrices, which are square
// Values stay in this part of the bound, to leave a margin for errors.
constexpr double kInside = 0.9;
constexpr int kTables = 3;

// A step as it is in the clear. One of CKKS takes a vector; a table's result is f of an argument
// nearby, in the slots of `which`.
struct Step {
  std::string name;
  std::function<Values(const Values&)> clear;
  std::function<double(double)> f = {};
  std::vector<int> which = {};
  TableReport report = {};
};

class SwitchPrograms : public testing::TestWithParam<Case> {
 protected:
  double uniform(double bound) {
    return std::uniform_real_distribution<double>(-bound, bound)(draw_);
  }
  int below(int count) { return static_cast<int>(draw_() % static_cast<unsigned>(count)); }

  Ciphertext mix(const Evaluator& e, const Ciphertext& x) {
    const int r = below(x.slots);
    steps_.push_back({"mix", [r](const Values& v) {
                        Values out;
                        for (std::size_t i = 0; i < v.size(); ++i) {
                          out.push_back((v[i] + v[(i + static_cast<std::size_t>(r)) % v.size()]) /
                                        2);
                        }
                        return out;
                      }});
    return e.multiply_scalar(e.add(x, e.rotate(x, r)), 0.5);
  }
  Ciphertext affine(const Evaluator& e, const Ciphertext& x) {
    const double c = uniform(1), d = uniform(1 - std::abs(c)) * kInside * bound_;
    steps_.push_back({"affine", [c, d](Values v) {
                        for (double& z : v) z = c * z + d;
                        return v;
                      }});
    return e.add_scalar(e.multiply_scalar(x, c), d);
  }
  // z_i = sum_k W[(i + k) mod n][i mod n] x_(i + k) (ckks/linear/matrix.h), with sums of at most 1.
  Ciphertext matrix(const Evaluator& e, const Ciphertext& x) {
    constexpr std::size_t n = kColumns;
    std::vector<ckks::Complex> w(n * n);
    for (ckks::Complex& z : w) z = uniform(1.0 / n);
    steps_.push_back({"matrix", [w](const Values& v) {
                        Values out(v.size(), 0.0);
                        for (std::size_t i = 0; i < v.size(); ++i) {
                          for (std::size_t k = 0; k < n; ++k) {
                            out[i] += w[(i + k) % n * n + i % n].real() * v[(i + k) % v.size()];
                          }
                        }
                        return out;
                      }});
    ckks::LinearTransform::Options options;
    options.level = x.level;
    return ckks::MatrixProduct(e.context(), w, kColumns, kColumns, x.slots, options).apply(e, x);
  }
  Ciphertext square(const Evaluator& e, const Ciphertext& x) {
    steps_.push_back({"square", [b = bound_](Values v) {
                        for (double& z : v) z *= z / b;
                        return v;
                      }});
    return e.multiply_scalar(e.square(x), 1 / bound_);
  }
  // Straight lines between random values, or steps.
  std::function<double(double)> random_function() {
    Values values;
    for (int k = 0; k < 8; ++k) values.push_back(uniform(kInside * bound_));
    return [values, b = bound_, steps = below(2) == 1](double x) {
      const double at = std::clamp((x / b + 1) / 2, 0.0, 1.0) * 7;
      const auto k = std::min<std::size_t>(static_cast<std::size_t>(at), 6);
      if (steps) return values[k];
      return values[k] + (at - static_cast<double>(k)) * (values[k + 1] - values[k]);
    };
  }
  Ciphertext look_up(const Evaluator& e, const Switcher& switcher, const Ciphertext& x) {
    Step step{"table", {}, random_function(), {}, {}};
    if (below(3) == 0 && x.level > switcher.input_level()) {  // values that stay lose a level
      step.name = "table of some";
      for (int i = 0; i < x.slots; ++i) {
        if (below(2) == 1) step.which.push_back(i);
      }
    }
    const Table table = make_table(switcher.context(), step.f, bound_);
    step.report = switcher.report(table);
    steps_.push_back(step);
    return switcher.apply(e, x, table, step.which);
  }

  ckks::World::Batch program(const Evaluator& e, const Switcher& switcher, const Ciphertext& in,
                             unsigned seed) {
    draw_.seed(seed);
    steps_.clear();
    ckks::World::Batch out = {in};
    for (int tables = 0;;) {
      const Ciphertext x = out.back();
      const int least = tables < kTables ? switcher.input_level() : 0;
      const bool room = x.level >= least + 2;
      if (tables < kTables && (!room || below(3) == 0)) {
        out.push_back(look_up(e, switcher, x));
        ++tables;
        continue;
      }
      if (!room) return out;
      const int kind = below(4);
      out.push_back(kind == 0   ? mix(e, x)
                    : kind == 1 ? affine(e, x)
                    : kind == 2 ? matrix(e, x)
                                : square(e, x));
    }
  }

  // f of one of the table's arguments within six deviations, and six of the rest.
  void check_table(const SwitchParams& params, const Step& step, const Values& x, const Values& y) {
    const std::vector<double> arguments = table_arguments(params, bound_);
    const double width = 6 * step.report.argument, rest = 6 * step.report.packed;
    std::vector<bool> looked_up(x.size(), step.which.empty());
    for (const int i : step.which) looked_up[static_cast<std::size_t>(i)] = true;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!looked_up[i]) {
        EXPECT_NEAR(y[i], x[i], bound_ * kCkks) << step.name << " " << i;
        continue;
      }
      const auto first = std::lower_bound(arguments.begin(), arguments.end(), x[i] - width);
      const auto last = std::upper_bound(first, arguments.end(), x[i] + width);
      ASSERT_LT(first, last);
      double least = step.f(*first), most = least;
      for (auto a = first; a != last; ++a) {
        least = std::min(least, step.f(*a)), most = std::max(most, step.f(*a));
      }
      EXPECT_GT(y[i], least - rest) << step.name << " " << i;
      EXPECT_LT(y[i], most + rest) << step.name << " " << i;
    }
  }

  static constexpr double kCkks = 0x1p-12;  // error of a CKKS step, divided by the bound
  double bound_ = 1;
  std::vector<Step> steps_;

 private:
  std::mt19937 draw_;
};

TEST_P(SwitchPrograms, AsInTheClear) {
  SwitchWorld& w = SwitchWorld::of(GetParam().set);
  SwitchOptions options{GetParam().slots};
  options.route = GetParam().route;
  if (options.route == Route::Matvec) {
    w.need({options.slots, w.params().ckks().max_slots()});
  }
  std::map<std::string, int> seen;
  for (unsigned seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(seed);
    bound_ = options.bound = seed == 1 ? 1 : seed == 2 ? 0.25 : 20;
    const SwitchPlan plan(
        w, options,
        [&](const Evaluator& e, const Switcher& s, const Ciphertext& x) {
          return program(e, s, x, seed);
        },
        w.params().ckks().default_level());
    const Ciphertext x = plan.encrypt(SwitchWorld::spread(options.slots, kInside * bound_));
    const ckks::World::Batch results = program(plan.evaluator(), plan.plan(), x, seed);
    ASSERT_EQ(results.size(), steps_.size() + 1);
    for (std::size_t k = 0; k < steps_.size(); ++k) {
      const Values before = w.decrypt(results[k]), after = w.decrypt(results[k + 1]);
      ++seen[steps_[k].name];
      if (steps_[k].f) {
        check_table(w.params(), steps_[k], before, after);
        continue;
      }
      EXPECT_LT(errors_of(after, steps_[k].clear(before)).largest, bound_ * kCkks)
          << k << " " << steps_[k].name;
    }
  }
  EXPECT_GE(seen["table"] + seen["table of some"], 3 * kTables);
  for (const char* name : {"mix", "affine", "matrix", "square", "table of some"}) {
    EXPECT_GT(seen[name], 0) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, SwitchPrograms,
                         testing::Values(Case{"test-switch-n10-insecure", Route::Ring, 128},
                                         Case{"test-switch-n10-insecure", Route::Matvec, 64},
                                         Case{"test-switch-n12-fp64-insecure", Route::Ring, 64}));

}  // namespace
}  // namespace latticino::switching
