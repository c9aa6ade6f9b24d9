// Looks for branches and addresses that depend on secrets, and for heap memory that is freed with
// secrets in it.
//   secrets_tests            follows them through key generation, encryption and decryption: under
//                            valgrind, or built with MemorySanitizer; status 77 where neither is
//   secrets_tests --all      of larger sets as well: switching
//   secrets_tests --timing S timing tests, S seconds for each function
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "backend/cpu_choice.h"
#include "secrets/flows.h"
#include "secrets/heap.h"
#include "secrets/poison.h"
#include "secrets/timing.h"

namespace latticino::secrets {
namespace {

constexpr int kSkipped = 77;

#if defined(LATTICINO_MEMCHECK)
long errors() { return static_cast<long>(VALGRIND_COUNT_ERRORS); }
#else
long errors() { return 0; }  // MemorySanitizer sets the status of the process at its end
#endif

// Branches on a secret. A checker that does not notice this does not work.
[[gnu::noinline]] int leak() {
  volatile int secret = std::rand();
  poison(const_cast<const int*>(&secret), sizeof secret);
  return secret > 1000 ? std::puts("") : 0;
}

#if defined(LATTICINO_MEMCHECK)
// A vector that is not cleared.
[[gnu::noinline]] void leave_behind() {
  std::vector<char> secret(100);
  poison(secret.data(), secret.size());
  asm volatile("" : : "r"(secret.data()) : "memory");
}
#endif

// Follows both kernel tables: the plain one, and the one that the checker lets this processor run.
int follow(bool all) {
#if defined(LATTICINO_MEMCHECK)
  const long before_leak = errors();
  leak();
  if (errors() == before_leak) {
    std::puts("self-test: a branch on a secret was not seen");
    return 1;
  }
  const long before_leaving = blocks_left_with_secrets();
  leave_behind();
  if (blocks_left_with_secrets() != before_leaving + 1) {
    std::puts("self-test: a vector with a secret was not seen");
    return 1;
  }
#endif
  int failed = 0;
  for (const bool simd : {false, true}) {
    const std::string kernels = cpu_choice({simd, 1}).kernels;
    for (const Flow& flow : flows(simd, all)) {
      const long before = errors(), blocks = blocks_left_with_secrets();
      flow.run();
      const long found = errors() - before, left = blocks_left_with_secrets() - blocks;
      failed += found != 0 || left != 0;
      std::printf("%-40s %-10s %s: %ld found, %ld blocks left with secrets\n", flow.name.c_str(),
                  kernels.c_str(), checker(), found, left);
      std::fflush(stdout);
    }
  }
  return failed != 0;
}

int run(int count, char** arguments) {
  if (count == 3 && std::strcmp(arguments[1], "--timing") == 0) {
    const double seconds = std::atof(arguments[2]);
    if (seconds > 0) return run_timing(seconds) ? 0 : 1;
  }
#if defined(LATTICINO_MSAN)
  if (count == 2 && std::strcmp(arguments[1], "--leak") == 0) return leak();
#endif
  const bool all = count == 2 && std::strcmp(arguments[1], "--all") == 0;
  if (count > 1 && !all) {
    std::puts("usage: secrets_tests [--all | --timing SECONDS]");
    return 2;
  }
  if (checker() == nullptr) {
    std::puts("skipped: nothing follows secrets in this run; run it under valgrind");
    return kSkipped;
  }
  give_defined_memory();
  return follow(all);
}

}  // namespace
}  // namespace latticino::secrets

int main(int count, char** arguments) { return latticino::secrets::run(count, arguments); }
