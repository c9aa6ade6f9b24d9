// Files that hold secrets: who may read them, and how they are written.
#pragma once

#include <functional>
#include <string>

#include "io/stream.h"

namespace latticino::io {

// Like write_file, for its owner only (mode 0600). What is written has no name until all of it is
// on disk (O_TMPFILE), so that a crash leaves nothing behind; where `path` exists, and where the
// file system has no such files, it has one beside `path` until the rename.
void write_secret_file(const std::string& path, const std::function<void(Sink&)>& body);

// A file of a secret. Throws FileError if its group or others may read or write it.
class SecretFileSource : public FileSource {
 public:
  explicit SecretFileSource(const std::string& path);
};

}  // namespace latticino::io
