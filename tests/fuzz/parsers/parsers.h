// Every reader of bytes from untrusted sources, each with small valid inputs to start from. It is
// used by libFuzzer's targets (file_fuzzer.cc), one per reader, and by the program that writes the
// seeds.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "io/stream.h"
#include "support/io_support.h"

namespace latticino::fuzz {

struct Parser {
  std::string name;
  // Whether it reads a container (io/container.h); otherwise it reads a text.
  bool container = true;
  // Throws Error for bytes that it refuses.
  std::function<void(io::Source&)> load;
  std::function<std::vector<test::Bytes>()> seeds;
  // Bytes that one stored word may expand to: fresh TFHE ciphertexts are stored with a seed.
  std::size_t bytes_a_word = 4;
};

// Throws std::out_of_range for an unknown name.
const Parser& parser(const std::string& name);
const std::vector<Parser>& parsers();

}  // namespace latticino::fuzz
