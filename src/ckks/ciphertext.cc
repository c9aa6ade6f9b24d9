#include "ckks/ciphertext.h"

#include <cmath>
#include <cstdio>

namespace latticino::ckks {

int Ciphertext::limbs() const { return parts.empty() ? 0 : parts.front().view.limbs(); }

std::string Ciphertext::str() const {
  char text[128];
  std::snprintf(text, sizeof text, "Ciphertext(level=%d, scale=2^%.4f, slots=%d, parts=%d)", level,
                std::log2(scale), slots, static_cast<int>(parts.size()));
  return text;
}

}  // namespace latticino::ckks
