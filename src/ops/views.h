#pragma once

#include <functional>

#include "ops/operations.h"

namespace latticino {

// Calls visit(view, written) for every non-empty view of a record, in the order of its fields.
void for_each_view(const Operation& op,
                   const std::function<void(const PolyView& view, bool written)>& visit);

}  // namespace latticino
