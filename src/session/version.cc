#include "latticino/version.h"

namespace latticino {

const char* version() { return LATTICINO_VERSION; }

}  // namespace latticino
