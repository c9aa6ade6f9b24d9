#include "session/note.h"

#include <charconv>
#include <cmath>

#include "math/decimal.h"
#include "math/errors.h"

namespace latticino::session {
namespace {

constexpr std::size_t kMaxDimensions = 64;
constexpr double kLargest =
    9007199254740992.0;  // 2^53: all readers of JSON agree on integers below it
constexpr int kMaxDepth = 16;

bool digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

class NoteParser {
 public:
  explicit NoteParser(std::string_view text) : rest_(text) {}

  Note whole() {
    skip();
    Note out = object(0);
    skip();
    if (!rest_.empty()) Note::refuse();
    return out;
  }

 private:
  using Value = Note::Value;

  char peek() const { return rest_.empty() ? '\0' : rest_.front(); }
  char next() {
    if (rest_.empty()) Note::refuse();
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }
  bool taken(char c) {
    if (peek() != c || rest_.empty()) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!taken(c)) Note::refuse();
  }
  void skip() {
    while (!rest_.empty() &&
           (peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r')) {
      rest_.remove_prefix(1);
    }
  }
  bool word(std::string_view expected) {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }

  Note object(int depth) {
    if (depth > kMaxDepth) Note::refuse();
    Note out;
    expect('{');
    skip();
    if (taken('}')) return out;
    do {
      skip();
      const std::string name = string();
      skip();
      expect(':');
      std::vector<Value>& field = out.fields_[name];
      if (!field.empty()) Note::refuse();
      field.push_back(value(depth + 1));
      skip();
    } while (taken(','));
    expect('}');
    return out;
  }

  Value value(int depth) {
    if (depth > kMaxDepth) Note::refuse();
    skip();
    switch (peek()) {
      case '{':
        return object(depth);
      case '[':
        return list(depth);
      case '"':
        return string();
      default:
        if (word("true")) return true;
        if (word("false")) return false;
        if (word("null")) return Note::Other{};
        return number();
    }
  }

  Value list(int depth) {
    expect('[');
    skip();
    Note::Numbers numbers;
    std::vector<Note::Numbers> lists;
    std::size_t count = 0;
    if (taken(']')) return numbers;
    do {
      const Value each = value(depth + 1);
      if (const auto* x = std::get_if<Note::Number>(&each)) numbers.push_back(*x);
      if (const auto* x = std::get_if<Note::Numbers>(&each)) lists.push_back(*x);
      ++count;
      skip();
    } while (taken(','));
    expect(']');
    if (numbers.size() == count) return numbers;
    if (lists.size() == count) return lists;
    return Note::Other{};
  }

  void digits() {
    if (!digit(peek())) Note::refuse();
    while (digit(peek())) rest_.remove_prefix(1);
  }

  Note::Number number() {
    const char* first = rest_.data();
    Note::Number out;
    out.integer = true;
    taken('-');
    if (!taken('0')) digits();
    if (taken('.')) {
      out.integer = false;
      digits();
    }
    if (taken('e') || taken('E')) {
      out.integer = false;
      if (!taken('+')) taken('-');
      digits();
    }
    const std::string_view text(first, static_cast<std::size_t>(rest_.data() - first));
    if (!read_double(text, out.value)) out.value = NAN;  // beyond the range of doubles
    return out;
  }

  std::string string() {
    expect('"');
    std::string out;
    for (;;) {
      const char c = next();
      if (c == '"') return out;
      if (static_cast<unsigned char>(c) < 0x20) Note::refuse();
      out += c == '\\' ? escaped() : c;
    }
  }

  // Escapes of characters beyond ASCII are refused, because no name or word here has one.
  char escaped() {
    switch (const char c = next()) {
      case '"':
      case '\\':
      case '/':
        return c;
      case 'b':
        return '\b';
      case 'f':
        return '\f';
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 't':
        return '\t';
      case 'u': {
        unsigned code = 0;
        if (rest_.size() < 4) Note::refuse();
        const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + 4, code, 16);
        if (error != std::errc() || end != rest_.data() + 4) Note::refuse();
        rest_.remove_prefix(4);
        return code < 0x80 ? static_cast<char>(code) : '\x7f';
      }
      default:
        Note::refuse();
    }
  }

  std::string_view rest_;
};

void Note::refuse() {
  throw FileError("load", "a note that is no array description", "a file that save_array wrote",
                  "use files of this library");
}

Note Note::read(std::string_view text) { return NoteParser(text).whole(); }

template <class Kind>
const Kind& Note::get(const std::string& name) const {
  const auto at = fields_.find(name);
  if (at == fields_.end()) refuse();
  const Kind* value = std::get_if<Kind>(&at->second[0]);
  if (value == nullptr) refuse();
  return *value;
}

std::vector<std::size_t> Note::shape(const std::string& name) const {
  const auto& lengths = get<Numbers>(name);
  if (lengths.size() > kMaxDimensions) refuse();
  std::vector<std::size_t> out;
  double product = 1;
  for (const Number& n : lengths) {
    if (!n.integer || !(n.value >= 1) || n.value >= kLargest) refuse();
    product *= n.value;
    if (product > kLargest) refuse();
    out.push_back(static_cast<std::size_t>(n.value));
  }
  return out;
}

double Note::number(const std::string& name) const {
  const double value = get<Number>(name).value;
  if (!std::isfinite(value)) refuse();
  return value;
}

std::vector<double> Note::numbers(const std::string& name, std::size_t count) const {
  const auto& list = get<Numbers>(name);
  if (list.size() != count) refuse();
  std::vector<double> out;
  for (const Number& n : list) {
    if (!std::isfinite(n.value)) refuse();
    out.push_back(n.value);
  }
  return out;
}

std::vector<std::array<std::int64_t, 3>> Note::runs(const std::string& name) const {
  std::vector<std::array<std::int64_t, 3>> out;
  for (const Numbers& run : get<std::vector<Numbers>>(name)) {
    if (run.size() != 3) refuse();
    std::array<std::int64_t, 3> integers{};
    for (std::size_t i = 0; i < 3; ++i) {
      if (!run[i].integer || !(std::abs(run[i].value) <= kLargest)) refuse();
      integers[i] = static_cast<std::int64_t>(run[i].value);
    }
    out.push_back(integers);
  }
  return out;
}

bool Note::flag(const std::string& name) const { return get<bool>(name); }
std::string Note::text(const std::string& name) const { return get<std::string>(name); }

std::optional<Note> Note::part(const std::string& name) const {
  if (!fields_.contains(name)) return std::nullopt;
  return get<Note>(name);
}

}  // namespace latticino::session
