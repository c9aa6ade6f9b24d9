// From CKKS through tables of TFHE and back: a function without a good polynomial, and the larger
// of two numbers, on real numbers.
#include <latticino/latticino.h>

#include <cmath>
#include <iostream>

namespace lt = latticino;

int main(int argc, char** argv) {
  lt::Context server(argc > 1 ? argv[1] : "n16-d40-boot-v1");
  lt::Client client(server);
  auto step = [](double v) { return v < -0.5 ? -1.0 : v < 0.5 ? 0.0 : 1.0; };
  auto program = [&](const lt::Array& x, const lt::Array& y) {
    return std::vector<lt::Array>{lt::apply_lut(x, step), lt::maximum(x, y)};
  };
  lt::Plan plan = lt::plan(server, program, lt::Input({4}), lt::Input({4}));
  std::cout << plan << "\n\n";
  server.use(client.server_keys(plan));

  const std::vector<double> a = {-0.9, -0.2, 0.1, 0.8}, b = {0.4, -0.6, 0.5, 0.2};
  const auto results = program(client.encrypt(a), client.encrypt(b));
  const auto steps = client.decrypt_real(results[0]), larger = client.decrypt_real(results[1]);
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    worst = std::max(
        {worst, std::abs(steps[i] - step(a[i])), std::abs(larger[i] - std::max(a[i], b[i]))});
    std::cout << a[i] << ": " << steps[i] << ", " << larger[i] << "\n";
  }
  std::cout << "largest error " << worst << "\n";
  return worst < 0.1 ? 0 : 1;
}
