#pragma once

#include <cstddef>
#include <cstdint>

namespace latticino {

// A batch of LWE ciphertexts in backend memory: ciphertext i has its mask a_0 .. a_(n-1) at
// data + i * stride and its body b behind it, canonical residues modulo `modulus`. It decrypts to
// b + <a, s>, as a polynomial pair does. After a modulus switch the words are exponents modulo 2N.
// stride >= dimension + 1; the words between ciphertexts are not used. `data` is null in a dry run.
struct LweView {
  std::uint32_t* data = nullptr;
  std::uint32_t modulus = 0;
  std::uint32_t dimension = 0;
  std::uint32_t count = 0;
  std::size_t stride = 0;

  std::uint32_t* ciphertext(std::size_t i) const {
    return data == nullptr ? nullptr : data + i * stride;
  }
  LweView part(std::uint32_t begin, std::uint32_t size) const {
    return {ciphertext(begin), modulus, dimension, size, stride};
  }
  // Words from the beginning of the first ciphertext to the end of the last one.
  std::size_t words() const {
    return count == 0 ? 0 : (count - std::size_t{1}) * stride + dimension + 1;
  }
};

}  // namespace latticino
