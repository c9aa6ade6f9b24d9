// Several files in one container: what a server needs of one client. Metadata: a byte that is 1
// where a signature follows the container, then the name and the length of each part. Payload: the
// parts, each a file of its own without a signature, in that order.
//
// A bundle can be read from a stream that does not know its length: the reader reads nothing beyond
// its end.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "io/container.h"

namespace latticino::io {

struct BundlePart {
  std::string name;
  std::function<void(Sink&)> save;  // is called twice: first for the length, then for the bytes
};

// All parts belong to these parameters (their hash, in hex) and to this key.
void save_bundle(Sink& sink, Scheme scheme, const std::string& params_hash, const rlwe::KeyId& key,
                 std::span<const BundlePart> parts);

class BundleReader {
 public:
  // Reads header and metadata. FileError if it is no bundle of the scheme.
  BundleReader(Source& source, Scheme scheme);
  const Reader& reader() const { return reader_; }
  // The names in their order; each is unique.
  const std::vector<std::string>& names() const { return names_; }
  // Gives the next part to `load` as a source of its own. `load` must read all of it.
  void next(const std::function<void(Source&)>& load);
  void finish();  // checks the checksum and the signature; before this, nothing may be trusted

 private:
  Reader reader_;
  std::vector<std::string> names_;
  std::vector<std::uint64_t> lengths_;
  std::size_t next_ = 0;
};

}  // namespace latticino::io
