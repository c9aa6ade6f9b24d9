// Bytes of Python as files.
#pragma once

#include "bindings.h"
#include "io/stream.h"

namespace latticino::python {

inline nb::bytes as_bytes(const io::MemorySink& sink) {
  return nb::bytes(sink.bytes().data(), sink.bytes().size());
}

inline io::MemorySource from_bytes(const nb::bytes& bytes) {
  return io::MemorySource(
      {static_cast<const std::uint8_t*>(bytes.data()), static_cast<std::size_t>(bytes.size())});
}

}  // namespace latticino::python
