// Notes of ciphertext files, as the Python package writes them (python/latticino/files/saving.py):
// equal values give equal characters.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "session/claims/range.h"

namespace latticino::wasm {

using Shape = std::vector<std::size_t>;

// A number as Python's repr writes it: 1.0, 1e-05, 0.1.
std::string number_text(double x);

// The note of a fresh array of CKKS with that expected error; that of an array of TFHE.
std::string ckks_note(const Shape& shape, double error, const session::Range& range);
std::string tfhe_note(const Shape& shape, const std::string& type);

// The content of a CKKS note. Notes come from outside: FileError for any other text.
struct CkksNote {
  Shape shape;
  bool real = false;                // true if no value has an imaginary part
  std::vector<std::size_t> places;  // the address of each value; empty: value i is at i
};
// For arrays in `count` ciphertexts of `slots` slots.
CkksNote read_ckks_note(std::string_view text, std::size_t slots, std::size_t count);

struct TfheNote {
  Shape shape;
  std::string type;
};
TfheNote read_tfhe_note(std::string_view text);

std::size_t size_of(const Shape& shape);  // OutOfMemoryError for more than 2^31 values

}  // namespace latticino::wasm
