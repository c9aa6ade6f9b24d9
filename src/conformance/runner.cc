#include <algorithm>
#include <exception>
#include <map>
#include <sstream>

#include "conformance/conformance.h"
#include "conformance/side.h"
#include "math/errors.h"

namespace latticino::conformance {
namespace {

class Runner {
 public:
  Runner(std::string set, Side& oracle, Side& device, const Options& options,
         const Progress& progress)
      : set_(std::move(set)),
        oracle_(oracle),
        device_(device),
        options_(options),
        progress_(progress) {}

  void run(const std::vector<Case>& cases, int level) {
    for (const Case& c : cases) {
      if (!chosen(c)) continue;
      const int turn = 1 + cases_++ % (kPatterns - 1);
      run(c, level, Pattern::Random);
      for (int p = 1; p < kPatterns; ++p) {
        if (options_.thorough || (options_.adversarial && p == turn)) {
          run(c, level, static_cast<Pattern>(p));
        }
      }
    }
  }
  Report report() { return std::move(report_); }

 private:
  bool chosen(const Case& c) const {
    const std::string &record = options_.record, &without = options_.without;
    return (record.empty() || c.record == record) &&
           (without.empty() || c.name.find(without) == std::string::npos);
  }
  void run(const Case& c, int level, Pattern pattern) {
    Row row{set_, level, c.record, c.name, name(pattern), "immediate", 0, 0, {}};
    try {
      SharedInputs inputs{pattern, mix(options_.seed) + mix(cases_), {}, {}, {}};
      const std::vector<Words> expected = immediate(oracle_, c, inputs, row);
      compare(expected, immediate(device_, c, inputs, row), row);
      if (row.detail.empty()) row.detail = device_.changed_inputs();
      add(row);
      const bool replayed = options_.thorough || pattern == Pattern::Random;
      if (options_.replays > 0 && replayed) replay(expected, row);
      if (options_.exact && c.exact && pattern == Pattern::Random) {
        row.mode = "exact";
        row.words = row.mismatches = 0;
        row.detail = c.exact(oracle_.observed(expected));
        add(row);
      }
    } catch (const Error& e) {  // an interrupt is not caught
      row.detail = e.what();
      add(row);
    }
    oracle_.begin(nullptr);
    device_.begin(nullptr);
  }

  std::vector<Words> immediate(Side& side, const Case& c, SharedInputs& inputs, Row& row) {
    side.begin(&inputs);
    operations_ = c.build(side);
    side.reset();
    for (const Operation& op : operations_) side.queue().submit(op);
    return side.results(row.detail);
  }

  // Uses the operations that the device built last.
  void replay(const std::vector<Words>& expected, Row row) {
    row.mode = "replayed";
    Program program = device_.queue().record([&] {
      for (const Operation& op : operations_) device_.queue().submit(op);
    });
    for (int i = 0; i < options_.replays; ++i) {
      row.words = row.mismatches = 0;
      device_.reset();
      program.run();
      compare(expected, device_.results(row.detail), row);
      add(row);
    }
  }

  static void compare(const std::vector<Words>& expected, const std::vector<Words>& got, Row& row) {
    for (std::size_t k = 0; k < expected.size(); ++k) {
      row.words += expected[k].size();
      if (expected[k] == got[k]) continue;
      for (std::size_t i = 0; i < expected[k].size(); ++i) {
        if (expected[k][i] == got[k][i]) continue;
        if (row.mismatches++ == 0) {
          row.detail = "output " + std::to_string(k) + " word " + std::to_string(i) + ": " +
                       std::to_string(got[k][i]) + ", expected " + std::to_string(expected[k][i]);
        }
      }
    }
  }

  void add(const Row& row) {
    report_.rows.push_back(row);
    if (progress_) progress_(row);
  }

  std::string set_;
  Side &oracle_, &device_;
  const Options& options_;
  const Progress& progress_;
  int cases_ = 0;
  std::vector<Operation> operations_;
  Report report_;
};

std::vector<int> chosen_levels(int top, int count) {
  std::vector<int> levels;
  if (count <= 0 || count > top) {
    for (int l = 0; l <= top; ++l) levels.push_back(l);
  } else if (count == 1) {
    levels.push_back(top);
  } else {
    for (int i = 0; i < count; ++i) levels.push_back(i * top / (count - 1));
  }
  return levels;
}

}  // namespace

std::string Row::str() const {
  std::ostringstream out;
  out << set << (level >= 0 ? " level " + std::to_string(level) : "") << " " << record << " ("
      << name << ") on " << pattern << ", " << mode << ": " << words << " words, " << mismatches
      << " differ" << (detail.empty() ? "" : "; ") << detail;
  return out.str();
}

std::uint64_t Report::failures() const {
  return static_cast<std::uint64_t>(
      std::count_if(rows.begin(), rows.end(), [](const Row& row) { return !row.passed(); }));
}

std::string Report::str() const {
  struct Count {
    std::uint64_t rows = 0, words = 0, failures = 0;
  };
  std::map<std::string, Count> counts;
  for (const Row& row : rows) {
    Count& c = counts[row.record + ", " + row.mode];
    ++c.rows;
    c.words += row.words;
    c.failures += !row.passed();
  }
  std::ostringstream out;
  for (const auto& [what, c] : counts) {
    out << what << ": " << c.rows << " comparisons, " << c.words << " words, " << c.failures
        << " failed\n";
  }
  for (const Row& row : rows) {
    if (!row.passed()) out << "FAILED " << row.str() << "\n";
  }
  return out.str();
}

Report run(const std::shared_ptr<const Params>& params, const Factory& oracle,
           const Factory& device, const Options& options, const Progress& progress) {
  if (options.parts < 1 || options.part < 0 || options.part >= options.parts) {
    throw ValueError(
        "conformance",
        "part " + std::to_string(options.part) + " of " + std::to_string(options.parts),
        "a part from 0 below their number", "number the parts from 0");
  }
  Side reference(oracle(), params), tested(device(), params);
  Runner runner(params->name(), reference, tested, options, progress);
  const std::vector<int> levels = chosen_levels(params->top_level(), options.levels);
  for (std::size_t i = options.part; i < levels.size(); i += options.parts) {
    const int level = levels[i];
    runner.run(ring_cases(reference.ring(), params->basis(level)), level);
    runner.run(level_cases(*params, level), level);
  }
  if (options.part == 0) runner.run(set_cases(*params), -1);
  return runner.report();
}

Report run(int log_n, const std::vector<std::uint32_t>& primes, const Factory& oracle,
           const Factory& device, const Options& options, const Progress& progress) {
  Side reference(oracle(), log_n, primes), tested(device(), log_n, primes);
  Runner runner("N = 2^" + std::to_string(log_n), reference, tested, options, progress);
  runner.run(ring_cases(reference.ring(), {{0, static_cast<std::uint16_t>(primes.size())}}), -1);
  constexpr int kLargestTfheDegree = 13;
  if (log_n <= kLargestTfheDegree) runner.run(lwe_cases(reference.ring()), -1);
  return runner.report();
}

}  // namespace latticino::conformance
