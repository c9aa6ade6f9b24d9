#include "ckks/ciphertext.h"
#include "math/text.h"

#include <cmath>

namespace latticino::ckks {

int Ciphertext::limbs() const { return parts.empty() ? 0 : parts.front().view.limbs(); }

std::string Ciphertext::str() const {
  return formatted("Ciphertext(level=%d, scale=2^%.4f, slots=%d, parts=%d)", level,
                   std::log2(scale), slots, static_cast<int>(parts.size()));
}

}  // namespace latticino::ckks
