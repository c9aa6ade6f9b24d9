// Numbers as text, for messages and tables.
#pragma once

#include <string>

namespace latticino {

// Formats like printf, without a limit on the length.
__attribute__((format(printf, 1, 2))) std::string formatted(const char* pattern, ...);

}  // namespace latticino
