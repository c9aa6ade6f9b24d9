# Prints the size of FILE. If it is above LIMIT bytes, removes the file and fails.
file(SIZE ${FILE} size)
if(size GREATER LIMIT)
  file(REMOVE ${FILE})
  message(FATAL_ERROR "${FILE} has ${size} bytes; at most ${LIMIT} are allowed (LATTICINO_WASM_LIMIT)")
endif()
message(STATUS "${FILE}: ${size} bytes of at most ${LIMIT}")
