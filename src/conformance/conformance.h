// Checks that a device computes what the records say. The suite runs every family of records on an
// oracle (the plain CPU backend) and on the device, and their words must be equal. The shapes are
// those that schemes use at each level of a parameter set. The inputs are random or adversarial.
// Each case runs immediately and from a recording. Outputs hold wrong words before a run and lie
// between guard limbs, so that missing and stray writes are found. The results of the oracle are
// also compared with big integers and definitions. This finds mistakes in constants that both
// backends share.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "params/params.h"

namespace latticino::conformance {

struct Options {
  std::uint64_t seed = 1;
  // 0: every level; otherwise this many levels, evenly spaced, with the lowest and the highest
  int levels = 0;
  int part = 0,
      parts = 1;  // to split the work: every parts-th of these levels, from the part-th on
  // Runs each case with random inputs, and one adversarial pattern in turn.
  bool adversarial = true;
  bool thorough = false;  // runs each case with all adversarial patterns, replayed as well
  int replays = 1;        // runs of each recorded case; 0: no recordings
  bool exact = true;      // also compares with big integers
  // Runs only cases of this record (for example "BlindRotate"); empty: of all records.
  std::string record;
  // Leaves out cases whose names contain this (for example "FP64"); empty: none.
  std::string without;
};

// The result of one comparison of one case.
struct Row {
  std::string set;      // name of the preset or ring
  int level = -1;       // -1 if the case belongs to no level
  std::string record;   // for example "KeyInner"
  std::string name;     // for example "three targets, Half outputs"
  std::string pattern;  // "random", "q-1", ...
  std::string mode;     // "immediate", "replayed", "exact"
  std::uint64_t words = 0, mismatches = 0;
  std::string detail;  // the first mismatch, or the exception
  bool passed() const { return mismatches == 0 && detail.empty(); }
  std::string str() const;
};

struct Report {
  std::vector<Row> rows;
  std::uint64_t failures() const;
  bool passed() const { return failures() == 0 && !rows.empty(); }
  std::string str() const;  // counts by record, then every failure
};

using Factory = std::function<std::unique_ptr<Backend>()>;
using Progress = std::function<void(const Row&)>;

// Runs all cases of a parameter set.
Report run(const std::shared_ptr<const Params>& params, const Factory& oracle,
           const Factory& device, const Options& options = {}, const Progress& progress = {});

// Runs the cases that need no parameters, for any ring (log N = 10 .. 17, primes below 2^31).
Report run(int log_n, const std::vector<std::uint32_t>& primes, const Factory& oracle,
           const Factory& device, const Options& options = {}, const Progress& progress = {});

}  // namespace latticino::conformance
