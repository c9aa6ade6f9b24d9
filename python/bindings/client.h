// The Python client, which is the only class here that holds a secret.
#pragma once

#include "bindings.h"
#include "session/owner.h"

namespace latticino::python {

using Client = session::Owner;

}  // namespace latticino::python
