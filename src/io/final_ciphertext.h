// Ciphertexts of CKKS as final answers: level 0, two parts, and of every coefficient the bits that
// the answer's precision needs. For their owner to decrypt, and for nothing else: coefficients of
// the first part that the slots do not read are not in the file, and are zero when it is loaded.
//
// Format versions 4 and 6 of ciphertexts; 6 is for a note that states a calibrated range. Metadata:
// note, count, then per ciphertext slots u32, scale f64, shifts u8 of both parts. Payload per
// ciphertext: 2 slots coefficients of the first part (those at multiples of N / (2 slots)), then N
// of the second, each in Coeff order as an integer
//   y = floor((c + 2^(shift - 1)) / 2^shift)    (c where shift is 0)
// of c in [0, q0), in the fewest bits that hold every such y, packed from the lowest bit up. Each
// part starts at a byte, and bits behind it are zero. The reader takes c = y 2^shift mod q0.
#pragma once

#include <span>
#include <string>

#include "ckks/ciphertext.h"
#include "io/container.h"
#include "io/files.h"

namespace latticino::io {

inline constexpr std::uint32_t kFinalVersion = 4, kCalibratedFinalVersion = 6;
constexpr bool is_final(std::uint32_t version) {
  return version == kFinalVersion || version == kCalibratedFinalVersion;
}

// How an answer is shortened. It is multiplied by `factor`, which fills the modulus and is included
// in the scale. Then the first and the second part lose so many low bits.
struct FinalForm {
  std::uint64_t factor = 1;
  int shift_b = 0, shift_a = 0;
};

// Writes ciphertexts that are all at level 0.
void save_final(Sink& sink, std::span<const ckks::Ciphertext> ciphertexts, const std::string& note,
                const FinalForm& form, std::uint32_t version = kFinalVersion);

// Follows the note of a file of these versions. Internal to src/io.
std::vector<ckks::Ciphertext> load_final(Reader& reader, Decoder& metadata,
                                         const std::shared_ptr<const ckks::Context>& context);

}  // namespace latticino::io
