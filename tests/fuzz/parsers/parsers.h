// Every reader of bytes from strangers, each with small valid inputs to start from. libFuzzer's
// targets (file_fuzzer.cc), one a reader, and the program that writes the seeds use it.
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
  // Throws Error for what it refuses.
  std::function<void(io::Source&)> load;
  std::function<std::vector<test::Bytes>()> seeds;
  // Bytes that one stored word may stand for: fresh TFHE ciphertexts are stored by seed.
  std::size_t bytes_a_word = 4;
};

// Throws std::out_of_range for a name that is none.
const Parser& parser(const std::string& name);
const std::vector<Parser>& parsers();

}  // namespace latticino::fuzz
