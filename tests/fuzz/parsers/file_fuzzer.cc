// libFuzzer's entries for the reader that LATTICINO_PARSER names. A crash, a hang, an exception
// that is no Error, and an allocation of over twice the file (and a constant) end the run.
#include <cstdio>
#include <cstdlib>
#include <random>

#include "math/errors.h"
#include "parsers/input.h"
#include "parsers/parsers.h"

extern "C" {
std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);
int __sanitizer_install_malloc_and_free_hooks(void (*malloc_hook)(const volatile void*,
                                                                  std::size_t),
                                              void (*free_hook)(const volatile void*));
}

namespace latticino::fuzz {
namespace {

// Memory that does not grow with the file: rows of the smallest ring, streams, messages.
constexpr std::size_t kConstant = 64 << 10;

std::size_t g_most = 0;  // the most bytes of one allocation; 0: any

void on_malloc(const volatile void*, std::size_t size) {
  if (g_most == 0 || size <= g_most) return;
  std::fprintf(stderr, "an allocation of %zu bytes, where %zu are allowed\n", size, g_most);
  g_most = 0;
  std::abort();
}
void on_free(const volatile void*) {}

const Parser& target() {
  static const Parser& kTarget = parser(LATTICINO_PARSER);
  return kTarget;
}

void run(const Bytes& file) {
  io::MemorySource source(file);
  // A signature is read whether or not a verifier is set. Here one is set, and it accepts.
  source.verifier = [](io::Message, const std::optional<io::Signature>&) {};
  g_most = file.size() / 4 * std::max<std::size_t>(8, target().bytes_a_word) + kConstant;
  try {
    target().load(source);
  } catch (const Error&) {
  }
  g_most = 0;
}

using Random = std::minstd_rand;

// Lengths, versions and counts at the ends of their ranges.
constexpr std::uint64_t kEdges[] = {
    0,    1,        2,        3,          4,          1u << 10,   4096,
    8192, 1u << 16, 1u << 31, 0xffffffff, 1ull << 32, 1ull << 62, ~std::uint64_t{0}};

void alter_field(std::span<std::uint8_t> file, Random& random) {
  constexpr std::size_t kFields[] = {8, 12, 16, 20, 72, 80};  // see io/container.h
  const std::size_t at = kFields[random() % 6];
  std::uint64_t x = kEdges[random() % std::size(kEdges)];
  if (random() % 2 == 0) x = file[at] + random() % 3 - 1;
  for (std::size_t i = 0; i < (at >= 72 ? 8 : 4); ++i) {
    file[at + i] = static_cast<std::uint8_t>(x >> (8 * i));
  }
}

// Lengths that fit the size: that of the metadata if the payload is filled in, otherwise that of
// the payload.
void repair_lengths(std::uint8_t mode, std::span<std::uint8_t> file) {
  if ((mode & kFilled) != 0) {
    put64(file, test::kMetadataLengthAt, file.size() - io::kHeaderBytes);
    return;
  }
  if (file.size() < kFrame) return;
  std::uint64_t metadata = 0;
  for (int i = 7; i >= 0; --i) metadata = metadata << 8 | file[test::kMetadataLengthAt + i];
  if (metadata <= file.size() - kFrame) {
    put64(file, kPayloadLengthAt, file.size() - kFrame - metadata);
  }
}

std::size_t mutate(std::span<std::uint8_t> data, std::size_t size, Random& random) {
  if (size <= 1 + io::kHeaderBytes) return LLVMFuzzerMutate(data.data(), size, data.size());
  const std::size_t header = 1 + io::kHeaderBytes;
  switch (random() % 8) {
    case 0:
      size = LLVMFuzzerMutate(data.data(), size, data.size());
      break;
    case 1:
      data[0] = static_cast<std::uint8_t>(random() % 4);
      break;
    case 2:
      alter_field(data.subspan(1, size - 1), random);
      break;
    case 3:  // a length that a comparison in the reader looked for
      LLVMFuzzerMutate(data.data() + 1 + kPayloadLengthAt, 8, 8);
      break;
    default:
      size = header + LLVMFuzzerMutate(data.data() + header, size - header, data.size() - header);
  }
  if (size < 1 + io::kHeaderBytes) return size;
  if (random() % 8 != 0) repair_lengths(data[0], data.subspan(1, size - 1));
  if (random() % 16 != 0) {
    Bytes file(data.begin() + 1, data.begin() + static_cast<std::ptrdiff_t>(size));
    test::repair(file);
    std::copy(file.begin(), file.end(), data.begin() + 1);
  }
  return size;
}

}  // namespace
}  // namespace latticino::fuzz

using latticino::fuzz::Bytes;

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  // Objects that the reader needs are made before allocations are counted.
  for (const Bytes& seed : latticino::fuzz::target().seeds()) {
    latticino::io::MemorySource source(seed);
    latticino::fuzz::target().load(source);
  }
  __sanitizer_install_malloc_and_free_hooks(latticino::fuzz::on_malloc, latticino::fuzz::on_free);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace latticino::fuzz;
  run(target().container ? file_of({data, size}) : Bytes(data, data + size));
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  using namespace latticino::fuzz;
  if (!target().container) return LLVMFuzzerMutate(data, size, most);
  Random random(seed);
  return mutate({data, most}, size, random);
}
