// Encrypts four numbers, computes (x * y) ^ 8 - x on them with a bootstrapping on the way,
// decrypts. The name of another parameter set may be given, for instance test-n10-boot-insecure to
// try it out.
#include <latticino/latticino.h>

#include <cmath>
#include <iostream>

namespace lt = latticino;

int main(int argc, char** argv) {
  lt::Context server(argc > 1 ? argv[1] : "n16-d40-boot-v1");
  lt::Client client(server);  // holds the secret key

  auto program = [](const lt::Array& x, const lt::Array& y) {
    return (x * y).bootstrap().pow(8) - x;
  };
  lt::Plan plan = lt::plan(server, program, lt::Input({4}), lt::Input({4}));
  std::cout << plan << "\n\n";
  server.use(client.server_keys(plan));  // exactly the keys that the program needs

  std::vector<double> a = {0.9, -0.5, 0.25, 0.0}, b = {1.0, 0.75, -1.0, 0.5};
  lt::Array result = program(client.encrypt(a), client.encrypt(b));
  std::cout << result << "\n";

  std::vector<double> values = client.decrypt_real(result);
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    worst = std::max(worst, std::abs(values[i] - (std::pow(a[i] * b[i], 8) - a[i])));
    std::cout << values[i] << "  ";
  }
  std::cout << "\nlargest error " << worst << "\n";
  return worst < 0.01 ? 0 : 1;
}
