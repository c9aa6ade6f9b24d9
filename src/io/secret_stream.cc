#include "io/secret_stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "math/errors.h"
#include "math/text.h"

namespace latticino::io {
namespace {

[[noreturn]] void fail(const std::string& path) {
  throw FileError("io.write", path + ": " + std::strerror(errno), "a file that can be written",
                  "check the path, its permissions and the free space");
}

// A new file that only its owner may read, without a name if the file system allows that. If it
// still has a temporary name at the end, it is deleted.
class SecretSink : public Sink {
 public:
  explicit SecretSink(const std::string& path) : path_(path), temporary_(temporary_name(path)) {
    descriptor_ = open(folder_of(path).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (descriptor_ >= 0) return;
    if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL) fail(path);
    descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor_ < 0) fail(path);
    named_ = true;
  }
  ~SecretSink() override {
    close(descriptor_);
    if (named_) unlink(temporary_.c_str());
  }
  SecretSink(const SecretSink&) = delete;
  SecretSink& operator=(const SecretSink&) = delete;

  void write(std::span<const std::uint8_t> bytes) override {
    while (!bytes.empty()) {
      const ssize_t done = ::write(descriptor_, bytes.data(), bytes.size());
      if (done > 0) {
        bytes = bytes.subspan(static_cast<std::size_t>(done));
      } else if (errno != EINTR) {
        fail(path_);
      }
    }
  }

  // Gives the file its final name.
  void keep() {
    if (fsync(descriptor_) != 0) fail(path_);
    if (!named_) {
      if (link_to(path_)) return;
      if (errno != EEXIST || !link_to(temporary_)) fail(path_);
      named_ = true;
    }
    require_replaceable(path_);  // another process may have created it in the meantime
    if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail(path_);
    named_ = false;
  }

 private:
  bool link_to(const std::string& name) const {
    const std::string self = "/proc/self/fd/" + std::to_string(descriptor_);
    return linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
  }

  std::string path_, temporary_;
  int descriptor_ = -1;
  bool named_ = false;
};

}  // namespace

void write_secret_file(const std::string& path, const std::function<void(Sink&)>& body) {
  require_replaceable(path);
  SecretSink sink(path);
  body(sink);
  sink.keep();
  sync_folder(path);
}

SecretFileSource::SecretFileSource(const std::string& path) : FileSource(path) {
  const unsigned open_to = mode() & 077u;
  if (open_to == 0) return;
  throw FileError("io.read",
                  path + ": a secret key with permissions " + formatted("%03o", mode() & 0777u),
                  "a file that only its owner may read and write",
                  "run chmod 600 on it, and make a new key if others may have read it");
}

}  // namespace latticino::io
