// Key-switching keys in payloads: bodies, digit after digit; masks come from the seed.
#pragma once

#include <array>
#include <cstdint>

#include "io/container.h"
#include "rlwe/evaluation_keys.h"
#include "runtime/queue.h"

namespace latticino::io {

std::uint64_t switch_key_bytes(const Ring& ring, const rlwe::KeyShape& shape);
void write_switch_key(Writer& writer, Queue& queue, const rlwe::SwitchKey& key);
rlwe::SwitchKey read_switch_key(Reader& reader, Queue& queue, const Ring& ring,
                                const rlwe::KeyLabel& label, int level, const rlwe::KeyShape& shape,
                                const std::array<std::uint8_t, 32>& seed);

}  // namespace latticino::io
