#include "io/stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "crypto/random_stream.h"
#include "math/errors.h"
#include "math/interrupt.h"

namespace latticino::io {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 24;  // bytes between two checks for an interrupt

[[noreturn]] void fail(const char* operation, const std::string& path) {
  throw FileError(operation, path + ": " + std::strerror(errno), "a file that can be used",
                  "check the path, its permissions and the free space");
}

[[noreturn]] void truncated(const std::string& what, std::uint64_t had, std::uint64_t needs) {
  throw FileError("io.read", std::to_string(had) + " bytes left in " + what,
                  std::to_string(needs) + " more bytes", "the file is truncated: obtain it again");
}

// The path for the system. The system would cut a path with a NUL off at that place.
const char* system_path(const char* operation, const std::string& path) {
  if (path.empty() || path.find('\0') != std::string::npos) {
    throw FileError(operation, path.empty() ? "an empty path" : "a path with a NUL character in it",
                    "the path of a file", "check the path");
  }
  return path.c_str();
}

const char* kind_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFLNK:
      return "a symbolic link";
    case S_IFIFO:
      return "a pipe";
    case S_IFSOCK:
      return "a socket";
    case S_IFDIR:
      return "a folder";
    case S_IFCHR:
    case S_IFBLK:
      return "a device";
    default:
      return "a regular file";
  }
}

// A new file under a temporary name, which is deleted unless it gets its own name at the end.
// Errors name the file that the caller asked for.
class DescriptorSink : public Sink {
 public:
  explicit DescriptorSink(const std::string& path)
      : path_(path),
        temporary_(temporary_name(path)),
        descriptor_(open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) {
    if (descriptor_ < 0) fail("io.write", path_);
  }
  ~DescriptorSink() override {
    if (descriptor_ >= 0) close(descriptor_);
    if (!kept_) unlink(temporary_.c_str());
  }
  DescriptorSink(const DescriptorSink&) = delete;
  DescriptorSink& operator=(const DescriptorSink&) = delete;

  void write(std::span<const std::uint8_t> bytes) override {
    while (!bytes.empty()) {
      check_interrupt();
      const ssize_t done = ::write(descriptor_, bytes.data(), std::min(bytes.size(), kPiece));
      if (done > 0) {
        bytes = bytes.subspan(static_cast<std::size_t>(done));
      } else if (errno != EINTR) {
        fail("io.write", path_);
      }
    }
  }

  // Gives the file its own name.
  void keep() {
    if (fsync(descriptor_) != 0) fail("io.write", path_);
    if (close(std::exchange(descriptor_, -1)) != 0) fail("io.write", path_);
    require_replaceable(path_);
    if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail("io.write", path_);
    kept_ = true;
  }

 private:
  std::string path_, temporary_;
  int descriptor_;
  bool kept_ = false;
};

}  // namespace

void require_replaceable(const std::string& path) {
  struct stat info {};
  if (lstat(system_path("io.write", path), &info) != 0 || S_ISREG(info.st_mode)) return;
  throw FileError("io.write", path + ": " + kind_of(info.st_mode),
                  "a name that is free, or of a regular file",
                  S_ISLNK(info.st_mode) ? "save to the path that the link leads to, or remove it"
                                        : "save to another path");
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

void sync_folder(const std::string& path) {
  const int descriptor = open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  static_cast<void>(fsync(descriptor));
  close(descriptor);
}

void MemorySink::write(std::span<const std::uint8_t> bytes) {
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

void SpanSink::write(std::span<const std::uint8_t> bytes) {
  if (bytes.size() > rest_.size()) {
    throw FileError("io.write", std::to_string(bytes.size()) + " bytes more",
                    std::to_string(rest_.size()) + ", which is what was announced",
                    "report this as a bug");
  }
  std::copy(bytes.begin(), bytes.end(), rest_.begin());
  rest_ = rest_.subspan(bytes.size());
}

void MemorySource::read(std::span<std::uint8_t> out) {
  if (out.size() > rest_.size()) truncated("the buffer", rest_.size(), out.size());
  std::copy_n(rest_.begin(), out.size(), out.begin());
  rest_ = rest_.subspan(out.size());
}

FileSource::FileSource(const std::string& path)
    : path_(path),
      // Without O_NONBLOCK, opening a pipe would wait for a writer; regular files ignore it.
      descriptor_(open(system_path("io.read", path), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (descriptor_ < 0) fail("io.read", path);
  struct stat info {};
  if (fstat(descriptor_, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(descriptor_);
    throw FileError("io.read", path + ": " + kind_of(info.st_mode), "a regular file",
                    "check the path");
  }
  mode_ = info.st_mode;
  remaining_ = static_cast<std::uint64_t>(info.st_size);
}

FileSource::~FileSource() { close(descriptor_); }

void FileSource::read(std::span<std::uint8_t> out) {
  if (out.size() > remaining_) truncated(path_, remaining_, out.size());
  while (!out.empty()) {
    check_interrupt();
    const ssize_t got = ::read(descriptor_, out.data(), std::min(out.size(), kPiece));
    if (got > 0) {
      out = out.subspan(static_cast<std::size_t>(got));
      remaining_ -= static_cast<std::uint64_t>(got);
    } else if (got == 0) {
      truncated(path_, 0, out.size());
    } else if (errno != EINTR) {
      fail("io.read", path_);
    }
  }
}

std::string temporary_name(const std::string& path) {
  std::array<std::uint8_t, 8> tag;
  crypto::system_entropy(tag);
  std::string temporary = path + ".";
  for (const std::uint8_t b : tag) {
    temporary += "0123456789abcdef"[b >> 4];
    temporary += "0123456789abcdef"[b & 15];
  }
  return temporary + ".tmp";
}

void write_file(const std::string& path, const std::function<void(Sink&)>& body) {
  require_replaceable(path);  // checked before the work, and again right before the rename
  DescriptorSink sink(path);
  body(sink);
  sink.keep();
  sync_folder(path);
}

}  // namespace latticino::io
