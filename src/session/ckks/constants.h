// The source of encoded constants for operations. A constant that is used again soon is encoded
// only once.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ckks/linear/matrix.h"

namespace latticino::session {

class Constants {
 public:
  virtual ~Constants() = default;
  // `name` identifies the result of `make`: if a constant of that name is kept, `make` is not
  // called.
  virtual ckks::Plaintext encode_named(const std::string& name,
                                       const std::function<std::vector<ckks::Complex>()>& make,
                                       int level, double scale) = 0;
  // `w` has `rows` x `columns` entries, row by row.
  virtual std::shared_ptr<const ckks::MatrixProduct> matrix_product(
      std::span<const ckks::Complex> w, int rows, int columns, int slots, int level) = 0;
  // The advice in messages if levels are missing.
  virtual std::string more_levels() const = 0;
};

}  // namespace latticino::session
