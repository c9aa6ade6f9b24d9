/* Preloaded into one process of a test: the system's randomness is a fixed seed there, so that its files can be compared
 * with those of the WebAssembly client. INSECURE, and no part of the library. */
#include <stddef.h>
#include <stdlib.h>

int getentropy(void* out, size_t bytes) {
  const char* seed = getenv("LATTICINO_TEST_ENTROPY"); /* 64 hex digits */
  if (seed == NULL) return -1;
  for (size_t i = 0; i < bytes; ++i) {
    unsigned x = 0;
    for (size_t k = 0; k < 2; ++k) {
      const char c = seed[2 * (i % 32) + k];
      x = 16 * x + (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    ((unsigned char*)out)[i] = (unsigned char)x;
  }
  return 0;
}
