#include "backend/tuning.h"

#include <algorithm>
#include <bit>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "math/errors.h"

namespace latticino {
namespace {

constexpr int kShapeBits = 12, kShapeMax = (1 << kShapeBits) - 1;
constexpr const char* kHeader = "latticino tuning 1";
constexpr const char* kNames[] = {"convert_tile", "key_inner"};
static_assert(std::size(kNames) == static_cast<std::size_t>(TunedKernel::kCount));

class Parser {
 public:
  Parser(const std::string& text, const std::string& origin) : lines_(text), origin_(origin) {}

  Tuning parse() {
    std::istringstream words;
    if (!next(words) || line_ != kHeader) fail(std::string("the first line \"") + kHeader + "\"");
    int arch = 0;
    std::string word;
    if (!next(words) || !(words >> word >> arch) || word != "arch" || arch <= 0 || arch > 999) {
      fail("a line \"arch 90\" or the like");
    }
    Tuning table(arch);
    while (next(words)) {
      const auto [key, variant] = entry(words);
      const std::size_t before = table.size();
      table.set(key, variant);
      if (table.size() == before) fail("one entry a shape");
    }
    return table;
  }

 private:
  // The next line that is neither empty nor a comment.
  bool next(std::istringstream& words) {
    while (std::getline(lines_, line_)) {
      ++number_;
      line_.erase(std::min(line_.find('#'), line_.size()));
      line_.erase(line_.find_last_not_of(" \t\r") + 1);
      if (!line_.empty()) return words.clear(), words.str(line_), true;
    }
    line_ = "the end";
    return false;
  }

  std::pair<TuningKey, int> entry(std::istringstream& words) const {
    TuningKey key;
    std::string kernel, equals, more;
    int variant = -1;
    words >> kernel >> key.log_n;
    for (int& s : key.shape) words >> s;
    words >> equals >> variant;
    const auto* known = std::find(std::begin(kNames), std::end(kNames), kernel);
    if (known == std::end(kNames)) fail("a kernel that this version knows");
    key.kernel = static_cast<TunedKernel>(known - std::begin(kNames));
    const bool in_range = key.log_n > 0 && key.log_n < 32 && variant >= 0 &&
                          variant < Tuning::kVariants &&
                          std::all_of(key.shape.begin(), key.shape.end(),
                                      [](int s) { return s >= 0 && s <= kShapeMax; });
    if (!words || equals != "=" || !in_range || words >> more) {
      fail("an entry \"kernel log_n s0 s1 s2 s3 = variant\"");
    }
    return {key, variant};
  }

  [[noreturn]] void fail(const std::string& needs) const {
    throw FileError("tuning", origin_ + " line " + std::to_string(number_) + ": \"" + line_ + "\"",
                    needs, "write the table again with latticino tune");
  }

  std::istringstream lines_;
  std::string origin_, line_;
  int number_ = 0;
};

}  // namespace

const char* name(TunedKernel kernel) { return kNames[static_cast<int>(kernel)]; }

std::uint64_t TuningKey::packed() const {
  std::uint64_t key = static_cast<std::uint64_t>(kernel) << 8 | static_cast<unsigned>(log_n);
  for (const int s : shape) key = key << kShapeBits | static_cast<unsigned>(std::min(s, kShapeMax));
  return key;
}

TuningKey TuningKey::unpacked(std::uint64_t packed) {
  TuningKey key;
  for (int i = 3; i >= 0; --i, packed >>= kShapeBits) key.shape[i] = packed & kShapeMax;
  key.log_n = packed & 0xff;
  key.kernel = static_cast<TunedKernel>(packed >> 8);
  return key;
}

Tuning Tuning::shipped(int arch) {
  for (const ShippedTuning& table : shipped_tunings()) {
    Tuning t = parse(table.text, table.name);
    if (t.arch() == arch) return t;
  }
  return Tuning(arch);
}

Tuning Tuning::parse(const std::string& text, const std::string& origin) {
  return Parser(text, origin).parse();
}

Tuning Tuning::load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file || file.bad()) {
    throw FileError("tuning", path + ", which cannot be read", "a table of latticino tune",
                    "name another file");
  }
  return parse(text, path);
}

void Tuning::set(const TuningKey& key, int variant) {
  entries_[key.packed()] = static_cast<std::uint8_t>(variant);
}

void Tuning::watch(bool on) {
  watching_ = on;
  if (on) seen_.clear();
}

int Tuning::pick_for_tuner(const TuningKey& key, int own, Variants can_run) {
  const auto same = [&](const Question& q) { return q.key.packed() == key.packed(); };
  if (watching_ && std::none_of(seen_.begin(), seen_.end(), same)) {
    seen_.push_back({key, own, can_run});
  }
  if (forced_ >= 0 && can_run != 0) {
    for (int skip = forced_ % std::popcount(can_run); skip > 0; --skip) can_run &= can_run - 1;
    return std::countr_zero(can_run);
  }
  const auto it = entries_.find(key.packed());
  return it != entries_.end() && (can_run >> it->second & 1) != 0 ? it->second : own;
}

std::string Tuning::text(const std::string& comment) const {
  std::ostringstream out;
  out << kHeader << "\narch " << arch_ << '\n';
  std::istringstream lines(comment);
  for (std::string line; std::getline(lines, line);) out << "# " << line << '\n';
  const std::map<std::uint64_t, std::uint8_t> sorted(entries_.begin(), entries_.end());
  for (const auto& [packed, variant] : sorted) {
    const TuningKey key = TuningKey::unpacked(packed);
    out << name(key.kernel) << ' ' << key.log_n << ' ';
    for (const int s : key.shape) out << ' ' << s;
    out << " = " << static_cast<int>(variant) << '\n';
  }
  return out.str();
}

}  // namespace latticino
