// Makes a checked parameter set from scales, levels and a security level. All builders of chains
// are used through this interface. If a request is impossible, the error names the limit, and
// changes to the request that were tried and are accepted.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "params/params.h"

namespace latticino {

struct ParamsRequest {
  std::int64_t n = 65536;
  double log_scale = 40;  // log2 of the scale of every level, if no list is given
  // log2 of the scale of each level, from level 0 to the level of fresh ciphertexts. If empty,
  // log_scale everywhere.
  std::optional<std::vector<double>> level_log_scale;
  // The number of multiplications in sequence; with bootstrapping, of those that are left after it.
  // 0: as many as fit.
  std::int64_t levels = 0;
  std::int64_t word = 0;  // primes are below 2^word; 0: below 2^31
  bool bootstrapping = false;
  std::int64_t dnum = 0;  // number of key-switching digits; 0: the number with the least work
  std::int64_t hamming_weight = 0;  // Hamming weight of the secret; 0: uniform ternary
  std::int64_t security = 128;      // 128, 192 or 256; 0: no security, for tests
  bool quantum = false;
  std::string name;  // empty: made from the request

  bool operator==(const ParamsRequest&) const = default;
};

// Throws ParameterError.
std::shared_ptr<const Params> make_params(const ParamsRequest& request);

}  // namespace latticino
