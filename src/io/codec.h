// Encodes small values in metadata. All are little endian. Every read is checked against the number
// of bytes left.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace latticino::io {

class Encoder {
 public:
  void u8(std::uint8_t x) { bytes_.push_back(x); }
  void u32(std::uint32_t x);
  void u64(std::uint64_t x);
  void f64(double x);  // by its bits
  void raw(std::span<const std::uint8_t> bytes);
  void text(const std::string& s);  // its length, then its bytes
  const std::vector<std::uint8_t>& bytes() const { return bytes_; }

 private:
  std::vector<std::uint8_t> bytes_;
};

class Decoder {
 public:
  explicit Decoder(std::span<const std::uint8_t> bytes) : rest_(bytes) {}
  std::uint8_t u8();
  std::uint32_t u32();
  std::uint64_t u64();
  double f64();
  void raw(std::span<std::uint8_t> out);
  std::string text(std::size_t longest);  // text of at most so many bytes of UTF-8
  // A count of entries of at least `entry_bytes` each. FileError if so many cannot fit into what is
  // left.
  std::uint32_t count(std::size_t entry_bytes);
  void finish() const;  // FileError if bytes are left

 private:
  std::span<const std::uint8_t> take(std::size_t n);
  std::span<const std::uint8_t> rest_;
};

bool is_utf8(std::string_view text);  // UTF-8 as in RFC 3629: no surrogates and no overlong forms

// The FileError for a file whose content contradicts itself or the parameters.
[[noreturn]] void refuse(const std::string& had, const std::string& needs);

}  // namespace latticino::io
