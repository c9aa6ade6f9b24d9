#include "math/text.h"

#include <cstdarg>
#include <cstdio>

#include "math/errors.h"

namespace latticino {

std::string formatted(const char* pattern, ...) {
  va_list arguments, again;
  va_start(arguments, pattern);
  va_copy(again, arguments);
  const int size = std::vsnprintf(nullptr, 0, pattern, arguments);
  va_end(arguments);
  std::string out(size > 0 ? static_cast<std::size_t>(size) : 0, '\0');
  const int written = std::vsnprintf(out.data(), out.size() + 1, pattern, again);
  va_end(again);
  if (size < 0 || written != size) {
    throw ValueError("text", "the format " + std::string(pattern), "one that printf knows",
                     "report this error");
  }
  return out;
}

}  // namespace latticino
