// The internal state of a plan.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "latticino/plan.h"
#include "rlwe/keys.h"
#include "switch/keys.h"

namespace latticino::session {

struct PlanState {
  std::string params_hash;
  int log_n = 0;
  rlwe::KeyRequest keys;  // highest level for each label
  std::map<rlwe::KeyLabel, std::uint64_t> bytes_by_key;
  // Bytes of each set's keys, without those of products.
  std::map<std::string, std::uint64_t> switching;
  using Product = std::pair<std::string, switching::MatvecShape>;
  std::map<Product, std::uint64_t> products;  // bytes of the keys of route Matvec
  // Bytes of route Matvec in addition to keys and constants.
  std::uint64_t constant_bytes = 0, working_bytes = 0;
  std::vector<int> levels;
  std::vector<Bits> bits;
  std::uint64_t bootstraps = 0, lookups = 0, bytes_moved = 0, operations = 0;
  double seconds = 0, prepared_seconds = 0;
  std::vector<std::string> notes;
  std::uint64_t key_bytes() const;
};

}  // namespace latticino::session
