#include "io/codec.h"

#include <algorithm>

#include "math/errors.h"

namespace latticino::io {
namespace {

template <class T>
T load(std::span<const std::uint8_t> bytes) {
  T x = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) x = static_cast<T>(x << 8 | bytes[i]);
  return x;
}

}  // namespace

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto at = [&](std::size_t k) {  // past the end this is 0, which is no continuation byte
      return i + k < text.size() ? static_cast<std::uint8_t>(text[i + k]) : std::uint8_t{0};
    };
    const std::uint8_t head = at(0);
    const int more = head < 0x80 ? 0 : head < 0xc2 ? -1 : head < 0xe0 ? 1 : head < 0xf0 ? 2 : 3;
    if (more < 0 || head > 0xf4) return false;
    for (int k = 1; k <= more; ++k) {
      if ((at(static_cast<std::size_t>(k)) & 0xc0) != 0x80) return false;
    }
    // Overlong forms, surrogates, and values above U+10FFFF can be recognised by the second byte.
    if ((head == 0xe0 && at(1) < 0xa0) || (head == 0xed && at(1) > 0x9f) ||
        (head == 0xf0 && at(1) < 0x90) || (head == 0xf4 && at(1) > 0x8f)) {
      return false;
    }
    i += static_cast<std::size_t>(more) + 1;
  }
  return true;
}

void refuse(const std::string& had, const std::string& needs) {
  throw FileError("io.read", had, needs, "the file is damaged or hostile: obtain it again");
}

void Encoder::u32(std::uint32_t x) {
  for (int i = 0; i < 4; ++i) u8(static_cast<std::uint8_t>(x >> (8 * i)));
}

void Encoder::u64(std::uint64_t x) {
  for (int i = 0; i < 8; ++i) u8(static_cast<std::uint8_t>(x >> (8 * i)));
}

void Encoder::f64(double x) { u64(__builtin_bit_cast(std::uint64_t, x)); }

void Encoder::raw(std::span<const std::uint8_t> bytes) {
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

void Encoder::text(const std::string& s) {
  u32(static_cast<std::uint32_t>(s.size()));
  bytes_.insert(bytes_.end(), s.begin(), s.end());
}

std::span<const std::uint8_t> Decoder::take(std::size_t n) {
  if (n > rest_.size()) {
    refuse(std::to_string(rest_.size()) + " bytes of metadata left",
           "at least " + std::to_string(n));
  }
  const auto out = rest_.first(n);
  rest_ = rest_.subspan(n);
  return out;
}

std::uint8_t Decoder::u8() { return take(1)[0]; }
std::uint32_t Decoder::u32() { return load<std::uint32_t>(take(4)); }
std::uint64_t Decoder::u64() { return load<std::uint64_t>(take(8)); }
double Decoder::f64() { return __builtin_bit_cast(double, u64()); }

void Decoder::raw(std::span<std::uint8_t> out) {
  const auto bytes = take(out.size());
  std::copy(bytes.begin(), bytes.end(), out.begin());
}

std::string Decoder::text(std::size_t longest) {
  const std::uint32_t length = u32();
  if (length > longest) {
    refuse("a text of " + std::to_string(length) + " bytes", "at most " + std::to_string(longest));
  }
  const auto bytes = take(length);
  std::string out(bytes.begin(), bytes.end());
  if (!is_utf8(out)) refuse("a text that is not UTF-8", "text");
  return out;
}

std::uint32_t Decoder::count(std::size_t entry_bytes) {
  const std::uint32_t n = u32();
  if (n > rest_.size() / entry_bytes) {
    refuse("a count of " + std::to_string(n) + " entries",
           "at most " + std::to_string(rest_.size() / entry_bytes) + " in this metadata");
  }
  return n;
}

void Decoder::finish() const {
  if (!rest_.empty()) {
    refuse(std::to_string(rest_.size()) + " bytes after the metadata's last field", "none");
  }
}

}  // namespace latticino::io
