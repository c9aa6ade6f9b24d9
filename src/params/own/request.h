// Parameters of your own: from scales, levels and a security level to a checked set. One interface
// serves all builders of chains. If a request is impossible, the error names the limit, and changes
// to the request that were tried and are accepted.
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
  double log_scale = 40;  // of every level, where no list is given
  // From level 0 to the level of fresh ciphertexts; none: log_scale everywhere.
  std::optional<std::vector<double>> level_log_scale;
  // Multiplications in sequence; with bootstrapping, those left after it. 0: as many as fit.
  std::int64_t levels = 0;
  std::int64_t word = 0;  // primes below 2^word; 0: 2^31
  bool bootstrapping = false;
  std::int64_t dnum = 0;            // key-switching digits; 0: those of the least work
  std::int64_t hamming_weight = 0;  // of the secret; 0: uniform ternary
  std::int64_t security = 128;      // 192, 256; 0: none, for tests
  bool quantum = false;
  std::string name;  // empty: made from the request

  bool operator==(const ParamsRequest&) const = default;
};

// Throws ParameterError.
std::shared_ptr<const Params> make_params(const ParamsRequest& request);

}  // namespace latticino
