// Reads the notes of ciphertext files. A note is a JSON object (RFC 8259) from a source that is not
// trusted. All notes are read here. Fields are read by name and kind. Other JSON, names that occur
// twice, numbers out of range and nesting that is deeper than any writer makes raise a FileError.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace latticino::session {

class Note {
 public:
  static Note read(std::string_view text);

  // Each raises a FileError if the field is missing or of another kind.
  std::vector<std::size_t> shape(const std::string& name) const;  // their product is at most 2^53
  double number(const std::string& name) const;
  std::vector<double> numbers(const std::string& name, std::size_t count) const;
  // Triples of integers up to 2^53 in size, at least one.
  std::vector<std::array<std::int64_t, 3>> runs(const std::string& name) const;
  bool flag(const std::string& name) const;
  std::string text(const std::string& name) const;
  std::optional<Note> part(const std::string& name) const;  // none if there is no such field
  [[noreturn]] static void refuse();

 private:
  struct Number {
    double value = 0;
    bool integer = false;
  };
  using Numbers = std::vector<Number>;
  struct Other {};  // null, and lists of anything but numbers and lists of these
  using Value = std::variant<Other, bool, Number, std::string, Numbers, std::vector<Numbers>, Note>;
  friend class NoteParser;
  template <class Kind>
  const Kind& get(const std::string& name) const;
  // Each list has one value. (A map of values themselves would need `Value` to be a complete type
  // here.)
  std::map<std::string, std::vector<Value>> fields_;
};

}  // namespace latticino::session
