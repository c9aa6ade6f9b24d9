# Prints the size of FILE, and fails where it is above LIMIT bytes; the file is then removed.
file(SIZE ${FILE} size)
if(size GREATER LIMIT)
  file(REMOVE ${FILE})
  message(FATAL_ERROR "${FILE} has ${size} bytes; at most ${LIMIT} are allowed (LATTICINO_WASM_LIMIT)")
endif()
message(STATUS "${FILE}: ${size} bytes of at most ${LIMIT}")
