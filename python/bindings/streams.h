// Python's file objects as sinks and sources of containers. Both take the GIL before they call
// Python. They keep no reference to the object for longer than the caller does.
#pragma once

#include <algorithm>
#include <string>

#include "bindings.h"
#include "io/stream.h"
#include "math/errors.h"

namespace latticino::python {

inline constexpr std::size_t kStreamPiece = std::size_t{1} << 20;

// A memoryview of memory that lives until it is released.
class BorrowedView {
 public:
  BorrowedView(const void* data, std::size_t bytes, bool writable)
      : view_(nb::steal(PyMemoryView_FromMemory(const_cast<char*>(static_cast<const char*>(data)),
                                                static_cast<Py_ssize_t>(bytes),
                                                writable ? PyBUF_WRITE : PyBUF_READ))) {
    if (!view_.is_valid()) nb::raise_python_error();
  }
  ~BorrowedView() {
    // Released, so that Python code that kept the view cannot read the memory any more.
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject* done = PyObject_CallMethod(view_.ptr(), "release", nullptr);
    Py_XDECREF(done);
    PyErr_Clear();
    PyErr_Restore(type, value, trace);
  }
  BorrowedView(const BorrowedView&) = delete;
  BorrowedView& operator=(const BorrowedView&) = delete;
  nb::handle get() const { return view_; }

 private:
  nb::object view_;
};

// The number of bytes that a call of a file object moved, at most `asked`. FileError if it returns
// anything else.
inline std::size_t moved(const nb::object& count, std::size_t asked, const char* operation) {
  Py_ssize_t n = -1;
  if (nb::isinstance<nb::int_>(count)) n = PyLong_AsSsize_t(count.ptr());
  if (PyErr_Occurred() != nullptr) PyErr_Clear();
  if (n >= 0 && static_cast<std::size_t>(n) <= asked) return static_cast<std::size_t>(n);
  throw FileError(
      operation,
      "a file object that says it moved " + std::string(nb::repr(count).c_str()) + " bytes",
      "a number up to " + std::to_string(asked),
      "pass a binary file that blocks, opened with open(path, \"rb\") or \"wb\"");
}

class StreamSink : public io::Sink {
 public:
  explicit StreamSink(nb::handle file) : file_(file) {}
  void write(std::span<const std::uint8_t> bytes) override {
    const nb::gil_scoped_acquire lock;
    while (!bytes.empty()) {
      const std::size_t piece = std::min(bytes.size(), kStreamPiece);
      const BorrowedView view(bytes.data(), piece, false);
      const std::size_t done = moved(file_.attr("write")(view.get()), piece, "io.write");
      if (done == 0) {
        throw FileError("io.write", "a file object that takes no more bytes",
                        std::to_string(bytes.size()) + " bytes more", "check the free space");
      }
      bytes = bytes.subspan(done);
    }
  }

 private:
  nb::handle file_;
};

class StreamSource : public io::Source {
 public:
  explicit StreamSource(nb::handle file) : file_(file) {}
  std::uint64_t remaining() const override { return kUnknown; }
  void read(std::span<std::uint8_t> out) override {
    const nb::gil_scoped_acquire lock;
    const bool into = nb::hasattr(file_, "readinto");
    while (!out.empty()) {
      const std::size_t piece = std::min(out.size(), kStreamPiece);
      const std::size_t done = into ? filled(out.first(piece)) : copied(out.first(piece));
      if (done == 0) {
        throw FileError("io.read", "the end of the stream",
                        std::to_string(out.size()) + " more bytes",
                        "the stream is truncated: obtain it again");
      }
      out = out.subspan(done);
    }
  }

 private:
  std::size_t filled(std::span<std::uint8_t> out) {
    const BorrowedView view(out.data(), out.size(), true);
    return moved(file_.attr("readinto")(view.get()), out.size(), "io.read");
  }
  std::size_t copied(std::span<std::uint8_t> out) {
    const nb::object got = file_.attr("read")(out.size());
    if (!nb::isinstance<nb::bytes>(got)) {
      throw FileError("io.read",
                      "a file object whose read gives " + std::string(nb::repr(got.type()).c_str()),
                      "bytes", "open it in binary mode, \"rb\"");
    }
    const auto bytes = nb::cast<nb::bytes>(got);
    const std::size_t n = moved(nb::int_(bytes.size()), out.size(), "io.read");
    std::copy_n(static_cast<const std::uint8_t*>(bytes.data()), n, out.begin());
    return n;
  }

  nb::handle file_;
};

}  // namespace latticino::python
