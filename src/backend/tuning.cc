#include "backend/tuning.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string_view>

#include "backend/rotation_times.h"
#include "math/errors.h"

namespace latticino {
namespace {

constexpr int kShapeBits = 12, kShapeMax = (1 << kShapeBits) - 1;
constexpr std::string_view kRotation = "rotation ";
constexpr int kMaxTime = 1'000'000'000;
constexpr const char* kHeader = "latticino tuning 1";
constexpr const char* kNames[] = {"convert_tile", "key_inner", "blind_rotate", "transform"};
static_assert(std::size(kNames) == static_cast<std::size_t>(TunedKernel::kCount));

// Reads words and numbers without streams. So no locale decides what a number is, and none is
// needed in a module that may share its process with another C++ library.
class Parser {
 public:
  Parser(const std::string& text, const std::string& origin) : rest_(text), origin_(origin) {}

  Tuning parse() {
    if (!next() || line_ != kHeader) fail(std::string("the first line \"") + kHeader + "\"");
    int arch = 0;
    if (!next() || word() != "arch" || !number(arch) || arch <= 0 || arch > 999) {
      fail("a line \"arch 90\" or the like");
    }
    Tuning table(arch);
    while (next()) {
      if (line_.starts_with(kRotation)) {
        rotation();
        continue;
      }
      const auto [key, variant] = entry();
      const std::size_t before = table.size();
      table.set(key, variant);
      if (table.size() == before) fail("one entry per shape");
    }
    return table;
  }
  const std::vector<RotationTime>& rotations() const { return rotations_; }

 private:
  static constexpr std::string_view kBlank = " \t\r";

  // The next line that is neither empty nor a comment.
  bool next() {
    while (!rest_.empty()) {
      ++number_;
      const std::size_t end = std::min(rest_.find('\n'), rest_.size());
      line_ = rest_.substr(0, end);
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
      line_ = line_.substr(0, line_.find('#'));
      line_ = line_.substr(0, line_.find_last_not_of(kBlank) + 1);
      words_ = line_;
      if (!line_.empty()) return true;
    }
    line_ = "the end";
    return false;
  }

  // The next word of the line; empty at its end.
  std::string_view word() {
    words_.remove_prefix(std::min(words_.find_first_not_of(kBlank), words_.size()));
    const std::string_view w = words_.substr(0, words_.find_first_of(kBlank));
    words_.remove_prefix(w.size());
    return w;
  }
  bool number(int& value) {
    const std::string_view w = word();
    const auto [end, error] = std::from_chars(w.data(), w.data() + w.size(), value);
    return error == std::errc() && end == w.data() + w.size();
  }

  std::pair<TuningKey, int> entry() {
    TuningKey key;
    int variant = -1;
    const auto* known = std::find(std::begin(kNames), std::end(kNames), word());
    if (known == std::end(kNames)) fail("a kernel that this version knows");
    key.kernel = static_cast<TunedKernel>(known - std::begin(kNames));
    bool good = number(key.log_n) && key.log_n > 0 && key.log_n < 32;
    for (int& s : key.shape) good = good && number(s) && s >= 0 && s <= kShapeMax;
    good = good && word() == "=" && number(variant) && variant >= 0 &&
           variant < Tuning::kVariants && word().empty();
    if (!good) fail("an entry \"kernel log_n s0 s1 s2 s3 = variant\"");
    return {key, variant};
  }

  void rotation() {
    RotationTime t;
    word();
    bool good = number(t.log_n) && t.log_n > 0 && t.log_n < 32;
    for (int* s : {&t.components, &t.primes, &t.rows, &t.count}) {
      good = good && number(*s) && *s > 0 && *s <= kMaxTime;
    }
    good = good && word() == "=";
    for (int* us : {&t.exact_us, &t.fourier_us}) {
      good = good && number(*us) && *us >= 0 && *us <= kMaxTime;
    }
    if (!good || !word().empty() || t.exact_us + t.fourier_us == 0) {
      fail("a time \"rotation log_n s0 s1 s2 count = microseconds microseconds\", at most 10^9");
    }
    const auto known = [&](const RotationTime& r) { return r.same_shape(t) && r.count == t.count; };
    if (std::ranges::any_of(rotations_, known)) fail("one time per shape and count");
    rotations_.push_back(t);
  }

  [[noreturn]] void fail(const std::string& needs) const {
    throw FileError(
        "tuning", origin_ + " line " + std::to_string(number_) + ": \"" + std::string(line_) + "\"",
        needs, "write the table again with latticino tune");
  }

  std::string_view rest_, line_, words_;
  std::string origin_;
  int number_ = 0;
  std::vector<RotationTime> rotations_;
};

// The text of a file, which must be a regular one.
std::string text_of(const std::string& path) {
  constexpr std::uintmax_t kMax = 1 << 24;
  const auto refuse = [&](const std::string& why) {
    throw FileError("tuning", path + ", which " + why, "a table of latticino tune",
                    "name another file");
  };
  std::error_code error;  // reading a pipe would wait, and a device may have no end
  if (!std::filesystem::is_regular_file(path, error)) refuse("is not a regular file");
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error || size > kMax) refuse("has more than 16 MiB");
  std::string text(size, '\0');
  std::ifstream file(path, std::ios::binary);
  if (!file.read(text.data(), static_cast<std::streamsize>(size))) refuse("cannot be read");
  return text;
}

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

Tuning Tuning::load(const std::string& path) { return parse(text_of(path), path); }

std::string RotationTime::text() const {
  std::string out = std::string(kRotation) + std::to_string(log_n) + ' ';
  for (const int s : {components, primes, rows, count}) out += ' ' + std::to_string(s);
  return out + " = " + std::to_string(exact_us) + ' ' + std::to_string(fourier_us);
}

std::vector<RotationTime> parse_rotation_times(const std::string& text, const std::string& origin) {
  Parser parser(text, origin);
  parser.parse();
  return parser.rotations();
}

std::vector<RotationTime> load_rotation_times(const std::string& path) {
  return parse_rotation_times(text_of(path), path);
}

std::vector<RotationTime> shipped_rotation_times(int arch) {
  for (const ShippedTuning& table : shipped_tunings()) {
    if (Tuning::parse(table.text, table.name).arch() == arch) {
      return parse_rotation_times(table.text, table.name);
    }
  }
  return {};
}

void Tuning::set(const TuningKey& key, int variant) {
  entries_[key.packed()] = static_cast<std::uint8_t>(variant);
}

void Tuning::watch(bool on) {
  watching_ = on;
  if (on) seen_.clear();
}

void Tuning::force(int n) {
  forced_ = n;
  forced_any_ = forced_ >= 0 || std::ranges::max(forced_kernel_) >= 0;
}

void Tuning::force(TunedKernel kernel, int variant) {
  forced_kernel_[static_cast<std::size_t>(kernel)] = variant;
  force(forced_);
}

int Tuning::pick_for_tuner(const TuningKey& key, int own, Variants can_run) {
  const auto same = [&](const Question& q) { return q.key.packed() == key.packed(); };
  if (watching_ && std::none_of(seen_.begin(), seen_.end(), same)) {
    seen_.push_back({key, own, can_run});
  }
  const int forced = forced_kernel_[static_cast<std::size_t>(key.kernel)];
  if (forced >= 0 && (can_run >> forced & 1) != 0) return forced;
  if (forced_ >= 0 && can_run != 0) {
    for (int skip = forced_ % std::popcount(can_run); skip > 0; --skip) can_run &= can_run - 1;
    return std::countr_zero(can_run);
  }
  const auto it = entries_.find(key.packed());
  return it != entries_.end() && (can_run >> it->second & 1) != 0 ? it->second : own;
}

std::string Tuning::text(const std::string& comment) const {
  std::string out = std::string(kHeader) + "\narch " + std::to_string(arch_) + '\n';
  for (std::size_t at = 0; at < comment.size();) {
    const std::size_t end = std::min(comment.find('\n', at), comment.size());
    out += "# " + comment.substr(at, end - at) + '\n';
    at = end + 1;
  }
  const std::map<std::uint64_t, std::uint8_t> sorted(entries_.begin(), entries_.end());
  for (const auto& [packed, variant] : sorted) {
    const TuningKey key = TuningKey::unpacked(packed);
    out += std::string(name(key.kernel)) + ' ' + std::to_string(key.log_n) + ' ';
    for (const int s : key.shape) out += ' ' + std::to_string(s);
    out += " = " + std::to_string(variant) + '\n';
  }
  return out;
}

}  // namespace latticino
