// What the ciphertext files of both schemes have in common. Internal to src/io.
#pragma once

#include <span>
#include <string>

#include "io/codec.h"
#include "math/errors.h"

namespace latticino::io {

inline constexpr std::size_t kLongestNote = 1 << 16;

inline void require_note(const std::string& note) {
  if (!is_utf8(note)) {
    throw ValueError("io.save_ciphertexts", "a note that is not UTF-8", "text",
                     "encode other bytes as text");
  }
  if (note.size() <= kLongestNote) return;
  throw ValueError("io.save_ciphertexts", "a note of " + std::to_string(note.size()) + " bytes",
                   "at most " + std::to_string(kLongestNote), "shorten it");
}

// At least one, all of one context and one key.
template <class Ciphertext>
void require_alike(std::span<const Ciphertext> ciphertexts) {
  if (ciphertexts.empty()) {
    throw ValueError("io.save_ciphertexts", "no ciphertexts", "at least one", "pass some");
  }
  for (const Ciphertext& x : ciphertexts) {
    if (x.context != ciphertexts[0].context) {
      throw ContextError("io.save_ciphertexts", "ciphertexts of two contexts", "one context",
                         "save them in two files");
    }
    if (x.key != ciphertexts[0].key) {
      throw KeyError("io.save_ciphertexts", "ciphertexts under two keys", "one key",
                     "save them in two files");
    }
  }
}

}  // namespace latticino::io
