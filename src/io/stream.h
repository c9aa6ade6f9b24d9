// Where bytes of files come from and go to. Sizes are 64-bit; nothing is mapped or read whole.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "crypto/secure_memory.h"
#include "io/signature.h"

namespace latticino::io {

class Sink {
 public:
  virtual ~Sink() = default;
  virtual void write(std::span<const std::uint8_t> bytes) = 0;
  Signer signer;  // where set, files that may be signed are
};

class Source {
 public:
  virtual ~Source() = default;
  virtual void read(std::span<std::uint8_t> out) = 0;  // all of it, or FileError
  virtual std::uint64_t remaining() const = 0;         // known before anything is read
  Verifier verifier;  // where set, what it does not accept does not load
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
// after an exception `path` is as it was. FileError where `path` is there and no regular file: a
// symbolic link, a device and a pipe stay what they are. Files of secrets: io/secret_stream.h.
void write_file(const std::string& path, const std::function<void(Sink&)>& body);

// Parts of it. Throws FileError unless a file may be written to `path`: a rename would put it in the
// place of whatever has the name.
void require_replaceable(const std::string& path);
// A name beside `path` that nobody else has, its folder, and making a rename durable (a file system
// that cannot is no reason to fail).
std::string temporary_name(const std::string& path);
std::string folder_of(const std::string& path);
void sync_folder(const std::string& path);

}  // namespace latticino::io
