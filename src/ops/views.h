#pragma once

#include <functional>

#include "ops/operations.h"

namespace latticino {

// Calls visit(view, written) for every non-empty view of a record, in the order of its fields; of
// an array of polynomials for the first one.
void for_each_view(const Operation& op,
                   const std::function<void(const PolyView& view, bool written)>& visit);

// The limbs of those primes of `part` that the view has; empty if it has none.
PolyView limbs_on(const PolyView& view, const Basis& part);

// Calls visit(address) for other memory that a record names: integers, slots, LWE ciphertexts.
void for_each_address(const Operation& op, const std::function<void(const void* address)>& visit);

}  // namespace latticino
