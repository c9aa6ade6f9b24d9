// Runs programs on encrypted arrays. It uses the public headers alone. The test
// tests/python/arrays/test_front_doors.py runs the same programs in Python and compares the arrays.
//
//   array_programs PRESET AUTO_BOOTSTRAP KEYS FOLDER...
//
// AUTO_BOOTSTRAP is 1 if the context bootstraps by itself; KEYS is the file of the server keys. One
// context runs the program of each FOLDER, which contains files that Python wrote:
//
// - `x0`, `x1` and so on: the input arrays. They begin the list of arrays.
// - `program`: one step per line. A step computes from arrays of the list, and appends its results
//   to it. Its name and numbers are those that step() below reads.
//
// For each result the program writes two things:
//
// - the array, to the file `yN` in FOLDER, where N is its place in the list;
// - one line of the file `told` in FOLDER: the level, the scale, the mean and worst bits, the range
//   of real parts, the range of imaginary parts, and the number of range warnings so far.
//
// If a step raises an error, the line is "refused" and the program ends.
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "latticino/latticino.h"

namespace {

using latticino::Array;
using latticino::Complex;

// Numbers from -1 to 1 without a pattern, the same as the Python test makes.
std::vector<double> numbers(std::size_t count, std::uint64_t state) {
  std::vector<double> out;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    out.push_back(static_cast<double>(state >> 11) * 0x1p-52 - 1);
  }
  return out;
}

std::vector<double> rest_of(std::istringstream& line) {
  std::vector<double> out;
  for (double v; line >> v;) out.push_back(v);
  return out;
}

std::vector<Array> step(const std::vector<Array>& of, const std::string& text) {
  std::istringstream line(text);
  std::string name;
  std::size_t i = 0, j = 0, k = 0, m = 0;
  line >> name >> i;
  const Array& x = of.at(i);
  const auto other = [&]() -> const Array& {
    line >> j;
    return of.at(j);
  };
  const auto number = [&] {
    double re = 0, im = 0;
    line >> re >> im;
    return Complex(re, im);
  };
  const auto integer = [&] {
    long long n = 0;
    line >> n;
    return n;
  };
  const auto plain = [&] {
    std::uint64_t seed = 0;
    line >> seed;
    return latticino::Values(numbers(x.size(), seed), x.shape());
  };
  if (name == "add") return {x + other()};
  if (name == "subtract") return {x - other()};
  if (name == "multiply") return {x * other()};
  if (name == "plus_number") return {x + number()};
  if (name == "times_number") return {x * number()};
  if (name == "times_integer") return {latticino::times_integer(x, integer())};
  if (name == "plus_array") return {x + plain()};
  if (name == "times_array") return {x * plain()};
  if (name == "negative") return {-x};
  if (name == "conj") return {x.conj()};
  if (name == "to_level") return {x.to_level(static_cast<int>(integer()))};
  if (name == "rotate") return {x.rotate(integer())};
  if (name == "sum") return {x.sum()};
  if (name == "bootstrap") {
    latticino::BootstrapOptions options;
    const auto kind = integer();  // kind of values: chosen by the library, complex, real, merged
    if (kind == 1 || kind == 2) options.real = kind == 2;
    options.merged = kind == 3;
    return {x.bootstrap(options)};
  }
  if (name == "bootstrap_with") {
    auto [first, second] = x.bootstrap_with(other());
    return {first, second};
  }
  if (name == "declare") {
    const auto ends = rest_of(line);
    return {x.declare({.low = ends.at(0), .high = ends.at(1)})};
  }
  if (name == "polynomial") return {x.polynomial(rest_of(line))};
  if (name == "chebyshev") {
    const auto words = rest_of(line);
    const latticino::PolynomialBasis basis{
        .chebyshev = true, .lower = words.at(0), .upper = words.at(1)};
    return {x.polynomial(std::vector<double>(words.begin() + 2, words.end()), basis)};
  }
  if (name == "spread_sum") return {x.spread_sum(rest_of(line).at(0))};
  if (name == "matmul") {
    const auto columns = static_cast<std::size_t>(integer());
    const auto seed = static_cast<std::uint64_t>(integer());
    return {matmul(x, latticino::Values(numbers(x.size() * columns, seed), {x.size(), columns}))};
  }
  if (name == "dot") {
    line >> j >> k >> m;
    const std::vector<Array> xs{x, of.at(j)}, ys{of.at(k), of.at(m)};
    return {latticino::dot(xs, ys)};
  }
  throw std::runtime_error("no step " + name);
}

// Runs the program of a folder. `warnings` counts those of the context.
void run(const latticino::Context& context, const std::string& folder, std::size_t& warnings) {
  warnings = 0;
  std::vector<Array> arrays;
  for (int i = 0; std::ifstream(folder + "x" + std::to_string(i)).good(); ++i) {
    arrays.push_back(latticino::load_array(folder + "x" + std::to_string(i), context));
  }
  std::ifstream program(folder + "program");
  std::FILE* told = std::fopen((folder + "told").c_str(), "w");
  if (told == nullptr) throw std::runtime_error("cannot write to " + folder);
  for (std::string line; std::getline(program, line);) {
    try {
      for (const Array& y : step(arrays, line)) {
        const latticino::Bits bits = y.bits();
        const latticino::Range range = y.range();
        std::fprintf(told, "%d %.17g %.17g %.17g %.17g %.17g %.17g %.17g %zu\n", y.level(),
                     y.scale(), bits.mean, bits.worst, range.low, range.high, range.imag_low,
                     range.imag_high, warnings);
        latticino::save_array(folder + "y" + std::to_string(arrays.size()), y);
        arrays.push_back(y);
      }
    } catch (const latticino::Error&) {
      std::fprintf(told, "refused\n");
      break;
    }
  }
  std::fclose(told);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 4) return 2;
  latticino::ContextOptions options;
  options.device = "cpu";
  options.threads = 1;
  options.auto_bootstrap = std::string(arguments[2]) == "1";
  std::size_t warnings = 0;
  options.on_warning = [&](const latticino::Warning& w) {
    if (w.kind == latticino::Warning::Kind::Range) ++warnings;
  };
  const latticino::Context context(arguments[1], options);
  context.use(latticino::load_server_keys(arguments[3], context));
  for (int i = 4; i < count; ++i) run(context, std::string(arguments[i]) + "/", warnings);
  return 0;
}
