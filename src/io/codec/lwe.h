// LWE ciphertexts in payloads: the words of each ciphertext, without gaps between them. If the
// masks come from a seed, only the bodies.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "io/container.h"
#include "runtime/queue.h"

namespace latticino::io {

using MaskSeed = std::optional<std::array<std::uint8_t, 32>>;

std::uint64_t payload_bytes(const LweView& x, bool seeded);

// Whether mask i of x is the expansion (seed, stream i), for all i.
bool masks_come_from(Queue& queue, const LweView& x, const std::array<std::uint8_t, 32>& seed);

void write_lwe(Writer& writer, Queue& queue, const LweView& x, bool seeded);
// Reads into existing memory. Throws FileError for a word that is not below the modulus.
void read_lwe(Reader& reader, Queue& queue, const LweView& out, const MaskSeed& seed);

}  // namespace latticino::io
