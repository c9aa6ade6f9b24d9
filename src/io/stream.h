// Sources and destinations for the bytes of files. Sizes are 64-bit. Files are neither mapped nor
// read as a whole.
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
  Signer signer;       // if set, it signs the files that may be signed
  ByteCount progress;  // if set, it is told the bytes of a container
};

class Source {
 public:
  virtual ~Source() = default;
  virtual void read(std::span<std::uint8_t> out) = 0;  // reads all of it, or throws FileError
  virtual std::uint64_t remaining() const = 0;         // the length, if it is known before reading
  // A stream of unknown length, which only bundles allow.
  static constexpr std::uint64_t kUnknown = ~std::uint64_t{0};
  Verifier verifier;   // if set, files that it refuses are not loaded
  ByteCount progress;  // if set, it is told the bytes of a container
};

// Drops all bytes, and counts how long a file would be.
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
  // FileError if more is written than fits
  void write(std::span<const std::uint8_t> bytes) override;
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
  unsigned mode() const { return mode_; }  // as stat gives it

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

// The steps of the function above. The first throws FileError unless a file may be written to
// `path`, because renaming replaces whatever has that name.
void require_replaceable(const std::string& path);
// Creates a name beside `path` that no other process has; opens the folder of a path; makes a
// rename durable (it is no error if the file system cannot do that).
std::string temporary_name(const std::string& path);
std::string folder_of(const std::string& path);
void sync_folder(const std::string& path);

}  // namespace latticino::io
