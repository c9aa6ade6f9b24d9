// Where bytes of files come from and go to. Sizes are 64-bit; nothing is mapped or read whole.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "crypto/secure_memory.h"
#include "io/signature.h"

namespace latticino::io {

// The number of further bytes that were written or read.
using ByteCount = std::function<void(std::uint64_t bytes)>;

class Sink {
 public:
  virtual ~Sink() = default;
  virtual void write(std::span<const std::uint8_t> bytes) = 0;
  // Before it writes, the writer of a container says how long the file will be. If this returns
  // true, only the length was wanted, and neither payload nor checks are made.
  virtual bool only_length(std::uint64_t) { return false; }
  Signer signer;       // if set, files that may be signed are
  ByteCount progress;  // if set, is told the bytes of a container
};

class Source {
 public:
  virtual ~Source() = default;
  virtual void read(std::span<std::uint8_t> out) = 0;           // all of it, or FileError
  virtual std::uint64_t remaining() const = 0;                  // known before reading, or:
  static constexpr std::uint64_t kUnknown = ~std::uint64_t{0};  // a stream, for bundles only
  Verifier verifier;   // if set, files that it refuses do not load
  ByteCount progress;  // if set, is told the bytes of a container
};

// Drops all bytes, and tells how long a file would be.
class LengthSink : public Sink {
 public:
  void write(std::span<const std::uint8_t>) override {}
  bool only_length(std::uint64_t bytes) override {
    bytes_ = bytes;
    return true;
  }
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::uint64_t bytes_ = 0;
};

// Memory of exactly the file's length.
class SpanSink : public Sink {
 public:
  explicit SpanSink(std::span<std::uint8_t> out) : rest_(out) {}
  void write(std::span<const std::uint8_t> bytes) override;  // FileError for more than fits
  std::size_t left() const { return rest_.size(); }

 private:
  std::span<std::uint8_t> rest_;
};

// May hold a secret key: every block is cleared before it is released.
class MemorySink : public Sink {
 public:
  void write(std::span<const std::uint8_t> bytes) override;
  const crypto::ClearingVector<std::uint8_t>& bytes() const { return bytes_; }

 private:
  crypto::ClearingVector<std::uint8_t> bytes_;
};

class MemorySource : public Source {
 public:
  explicit MemorySource(std::span<const std::uint8_t> bytes) : rest_(bytes) {}
  void read(std::span<std::uint8_t> out) override;
  std::uint64_t remaining() const override { return rest_.size(); }

 private:
  std::span<const std::uint8_t> rest_;
};

// A regular file.
class FileSource : public Source {
 public:
  explicit FileSource(const std::string& path);
  ~FileSource() override;
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;
  void read(std::span<std::uint8_t> out) override;
  std::uint64_t remaining() const override { return remaining_; }

 protected:
  unsigned mode() const { return mode_; }  // of stat

 private:
  std::string path_;
  int descriptor_ = -1;
  unsigned mode_ = 0;
  std::uint64_t remaining_ = 0;
};

// Runs `body` on a new file beside `path` and renames it over `path` once everything is on disk;
// after an exception `path` is as it was. FileError if `path` is there and no regular file: a
// symbolic link, a device and a pipe stay what they are. Files of secrets: io/secret_stream.h.
void write_file(const std::string& path, const std::function<void(Sink&)>& body);

// Parts of it. Throws FileError unless a file may be written to `path`, because renaming replaces
// whatever has that name.
void require_replaceable(const std::string& path);
// A name beside `path` that nobody else has, its folder, and making a rename durable (a file system
// that cannot is no reason to fail).
std::string temporary_name(const std::string& path);
std::string folder_of(const std::string& path);
void sync_folder(const std::string& path);

}  // namespace latticino::io
