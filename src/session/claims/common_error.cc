#include "session/claims/common_error.h"

#include <cmath>

namespace latticino::session {

std::complex<double> common_error(NumbersView means, double scale) {
  std::complex<double> sum = 0;
  double squares = 0;
  for (const std::complex<double>& mean : means) {
    const std::complex<double> exact = mean * scale;
    const std::complex<double> error(std::nearbyint(exact.real()) - exact.real(),
                                     std::nearbyint(exact.imag()) - exact.imag());
    sum += error;
    squares += std::norm(error);
  }
  const double together = std::norm(sum);
  return together > squares ? sum * (std::sqrt(1 - squares / together) / scale) : 0;
}

}  // namespace latticino::session
