#include "rlwe/keys.h"

#include "rlwe/galois.h"

namespace latticino::rlwe {
namespace {

std::string text_of(KeyKind kind, std::uint32_t galois) {
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

}  // namespace

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
  return text_of(kind, galois) + (band == 0 ? "" : "[" + std::to_string(band) + "]");
}

std::string KeyLabel::describe(int log_n) const {
  std::string what = text_of(kind, galois);
  if (kind == KeyKind::Galois) {
    const int steps = rotation_steps(galois, log_n);
    if (steps >= 0) what = "rotation by " + std::to_string(steps);
    if (galois == conjugation_element(log_n)) what = "conjugation";
  }
  return band == 0 ? what : what + ", band " + std::to_string(band);
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
