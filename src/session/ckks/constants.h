// Where operations get encoded constants from. A constant that is used again soon is encoded once.
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
  // `name` identifies what `make` gives: if a constant of that name is kept, `make` is not called.
  virtual ckks::Plaintext encode_named(const std::string& name,
                                       const std::function<std::vector<ckks::Complex>()>& make,
                                       int level, double scale) = 0;
  // Of `rows` x `columns` entries `w`, row by row.
  virtual std::shared_ptr<const ckks::MatrixProduct> matrix_product(
      std::span<const ckks::Complex> w, int rows, int columns, int slots, int level) = 0;
  // What to do if levels are missing, for messages.
  virtual std::string more_levels() const = 0;
};

}  // namespace latticino::session
