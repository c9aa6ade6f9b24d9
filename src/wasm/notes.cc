#include "wasm/notes.h"

#include <cmath>
#include <cstdlib>

#include "math/decimal.h"
#include "math/errors.h"
#include "math/text.h"
#include "session/note.h"

namespace latticino::wasm {
namespace {

using session::Claim;
using session::Note;

constexpr std::size_t kMaxPlaces = std::size_t{1} << 24;  // as in Python: runs may repeat one place
constexpr int kVersion = 2;  // version of notes of arrays whose values are not row by row

std::string text_of(const Shape& shape) {
  std::string out = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    out += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  }
  return out + "]";
}

// Addresses from runs of (first, step, count), each within the ciphertexts.
std::vector<std::size_t> places_of(const Note& layout, std::size_t size, std::size_t most) {
  if (size > kMaxPlaces) Note::refuse();
  std::vector<std::size_t> out;
  for (const auto& [first, step, count] : layout.runs("runs")) {
    const std::int64_t end = static_cast<std::int64_t>(most);
    if (count < 1 || count > static_cast<std::int64_t>(size - out.size())) Note::refuse();
    if (first < 0 || first >= end || std::abs(step) >= end) Note::refuse();
    const std::int64_t last = first + step * (count - 1);
    if (last < 0 || last >= end) Note::refuse();
    for (std::int64_t i = 0; i < count; ++i) {
      out.push_back(static_cast<std::size_t>(first + step * i));
    }
  }
  if (out.size() != size) Note::refuse();
  return out;
}

bool states_real(const std::optional<Note>& range) {
  if (!range) return false;
  const std::vector<double> numbers = range->numbers("numbers", 6);
  const std::string claim = range->text("claim");
  if (claim != "assumed" && claim != "declared" && claim != "calibrated") Note::refuse();
  return numbers[2] == 0 && numbers[3] == 0;
}

}  // namespace

std::string number_text(double x) {
  constexpr int kMin = -4, kMax = 16;  // below and from here on with an exponent
  const Decimal d = decimal(x);
  const std::string sign = d.negative ? "-" : "";
  const int count = static_cast<int>(d.digits.size());
  if (d.exponent < kMin || d.exponent >= kMax) {
    const int size = std::abs(d.exponent);
    return sign + d.digits.substr(0, 1) + (count > 1 ? "." + d.digits.substr(1) : "") +
           (d.exponent < 0 ? "e-" : "e+") + (size < 10 ? "0" : "") + std::to_string(size);
  }
  if (d.exponent < 0) {
    return sign + "0." + std::string(static_cast<std::size_t>(-d.exponent - 1), '0') + d.digits;
  }
  const auto whole = static_cast<std::size_t>(d.exponent) + 1;
  if (whole >= d.digits.size()) {
    return sign + d.digits + std::string(whole - d.digits.size(), '0') + ".0";
  }
  return sign + d.digits.substr(0, whole) + "." + d.digits.substr(whole);
}

std::size_t size_of(const Shape& shape) {
  constexpr double kMax = 2147483648.0;
  double size = 1;
  for (const std::size_t n : shape) size *= static_cast<double>(n);
  if (size <= kMax) return static_cast<std::size_t>(size);
  throw OutOfMemoryError("load", "an array of " + number_text(size) + " values",
                         "at most 2^31 in a browser", "load it elsewhere, or in parts");
}

std::string ckks_note(const Shape& shape, double error, const session::Range& range) {
  const std::string rounded = formatted("%.6g", error);
  std::string out =
      "{\"shape\": " + text_of(shape) +
      ", \"clean\": true, \"error\": " + number_text(std::strtod(rounded.c_str(), nullptr)) +
      ", \"range\": {\"claim\": \"" + (range.claim == Claim::Assumed ? "assumed" : "declared") +
      "\", \"random\": " + (range.random_like ? "true" : "false") + ", \"numbers\": [";
  const double numbers[] = {range.re.low,  range.re.high, range.im.low,
                            range.im.high, range.bound,   range.rms};
  for (int i = 0; i < 6; ++i) out += (i == 0 ? "" : ", ") + number_text(numbers[i]);
  return out + "]}}";
}

std::string tfhe_note(const Shape& shape, const std::string& type) {
  return "{\"shape\": " + text_of(shape) + ", \"dtype\": \"" + type + "\"}";
}

CkksNote read_ckks_note(std::string_view text, std::size_t slots, std::size_t count) {
  const Note whole = Note::read(text);
  const std::optional<Note> inner = whole.part("array");
  if (inner && whole.number("version") != kVersion) {
    throw FileError("load", "a later version of an array's description", "version 2 or earlier",
                    "use a later version of this client");
  }
  const Note& note = inner ? *inner : whole;
  CkksNote out;
  out.shape = note.shape("shape");
  const std::size_t size = size_of(out.shape);
  out.real = states_real(note.part("range"));
  note.flag("clean");
  if (note.number("error") < 0) Note::refuse();
  if (inner) {
    const std::optional<Note> layout = note.part("layout");
    if (!layout) Note::refuse();
    out.places = places_of(*layout, size, slots * count);
  } else if (slots == 0 || (size + slots - 1) / slots != count) {
    throw FileError(
        "load", "shape " + text_of(out.shape) + " for " + std::to_string(count) + " ciphertexts",
        "a shape that fits them", "use files of this library");
  }
  return out;
}

TfheNote read_tfhe_note(std::string_view text) {
  const Note note = Note::read(text);
  return {note.shape("shape"), note.text("dtype")};
}

}  // namespace latticino::wasm
