// fuzz_seeds FOLDER: writes each reader's valid inputs into a folder of its name.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "parsers/input.h"
#include "parsers/parsers.h"

int main(int count, char** arguments) {
  using namespace latticino::fuzz;
  if (count != 2) {
    std::fprintf(stderr, "usage: fuzz_seeds FOLDER\n");
    return 2;
  }
  for (const Parser& p : parsers()) {
    const auto folder = std::filesystem::path(arguments[1]) / p.name;
    std::filesystem::create_directories(folder);
    int number = 0;
    for (const Bytes& seed : p.seeds()) {
      const Bytes input = p.container ? input_of(seed) : seed;
      std::ofstream out(folder / ("seed" + std::to_string(number++)), std::ios::binary);
      out.write(reinterpret_cast<const char*>(input.data()),
                static_cast<std::streamsize>(input.size()));
    }
  }
  return 0;
}
