// Own parameters. A set is made from a request. An impossible request is refused, with a request
// that is possible. A literal is checked, a mistake in it is explained, and a context computes with
// it.
#include <latticino/latticino.h>

#include <cmath>
#include <iostream>

namespace lt = latticino;

int main() {
  lt::ParameterRequest request;  // the library finds the primes
  request.n = 1 << 13;
  request.log_scale = 36;
  request.levels = 90;
  bool too_many = false;
  try {
    lt::ParameterSet::make(request);
  } catch (const lt::ParameterError& e) {
    std::cout << e.what() << "\n\n";
    too_many = true;
  }
  request.levels = 2;
  const lt::ParameterSet made = lt::ParameterSet::make(request);
  std::cout << made.name() << ": " << made.security_bits() << " bits of security, a key of "
            << made.key_bytes() << " bytes\n\n";

  // A small ring, for tests. It starts from a known set, because primes must fit the ring.
  lt::ParameterLiteral literal = lt::ParameterSet::preset("test-n10-leveled-insecure").literal();
  literal.name = "my-n10-insecure";
  literal.default_level = 3;  // fresh ciphertexts are smaller, with three levels

  literal.insecure = false;  // a set without 128 bits of security must say so
  bool refused = false;
  try {
    lt::ParameterSet::check(literal);
  } catch (const lt::ParameterError& e) {
    std::cout << e.what() << "\n\n";
    refused = true;
  }
  literal.insecure = true;
  const lt::ParameterSet own = lt::ParameterSet::check(literal);
  std::cout << own.explain() << "\n";

  lt::ContextOptions options;
  options.on_warning = [](const lt::Warning& w) { std::cout << "(" << w.message << ")\n"; };
  lt::Context context(own, options);
  lt::Client client(context);
  auto cube = [](const lt::Array& x) { return x.pow(3); };
  context.use(client.server_keys(lt::plan(context, cube, lt::Input({1}))));
  const double value = client.decrypt_real(cube(client.encrypt({0.5})))[0];
  std::cout << "0.5^3 = " << value << "\n";
  return too_many && made.secure() && refused && std::abs(value - 0.125) < 1e-4 ? 0 : 1;
}
