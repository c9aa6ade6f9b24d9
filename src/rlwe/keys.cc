#include "rlwe/keys.h"

#include "rlwe/galois.h"

namespace latticino::rlwe {

std::string KeyId::str() const {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string s;
  for (const std::uint8_t b : bytes) {
    s += kDigits[b >> 4];
    s += kDigits[b & 15];
  }
  return s;
}

std::string KeyLabel::str() const {
  switch (kind) {
    case KeyKind::Relinearize:
      return "relinearize";
    case KeyKind::Galois:
      return "galois(" + std::to_string(galois) + ")";
    case KeyKind::DenseToSparse:
      return "dense-to-sparse";
    case KeyKind::SparseToDense:
      return "sparse-to-dense";
    case KeyKind::OverRaise:
      return "over-raise(" + std::to_string(galois) + ")";
  }
  return "unknown";
}

std::string KeyLabel::describe(int log_n) const {
  if (kind != KeyKind::Galois) return str();
  const int steps = rotation_steps(galois, log_n);
  if (steps >= 0) return "rotation by " + std::to_string(steps);
  if (galois == conjugation_element(log_n)) return "conjugation";
  return str();
}

std::size_t SwitchKey::bytes() const {
  std::size_t words = 0;
  for (const auto& pair : digits) {
    for (const Poly& part : pair) {
      words += static_cast<std::size_t>(part.view.limbs()) * part.view.ring->n();
    }
  }
  return words * sizeof(std::uint32_t);
}

}  // namespace latticino::rlwe
