// Code that benchmark programs share: options, timing, records (docs/lab/index.md describes the
// format).
#pragma once

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "backend/backend.h"
#include "math/errors.h"

namespace latticino::bench {

// The value of an option that is one number.
template <class T>
T parsed(const std::string& name, const std::string& text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end) {
    throw UnsupportedError("bench", "--" + name + " " + text, "numbers", "correct it");
  }
  return value;
}

// "a,b" -> {"a", "b"}
inline std::vector<std::string> words(const std::string& list) {
  std::vector<std::string> values;
  std::istringstream text(list);
  for (std::string item; std::getline(text, item, ',');) values.push_back(item);
  return values;
}

// "--name value" pairs and "--flag"s. Unknown names are an error, so that typing mistakes are
// noticed.
class Arguments {
 public:
  Arguments(int argc, char** argv, std::map<std::string, std::string> defaults)
      : values_(std::move(defaults)) {
    for (int i = 1; i < argc; ++i) {
      std::string name = argv[i];
      name.erase(0, std::min<std::size_t>(name.find_first_not_of('-'), name.size()));
      std::string value = "1";
      if (const std::size_t at = name.find('='); at != std::string::npos) {
        value = name.substr(at + 1);
        name.resize(at);
      } else if (i + 1 < argc && argv[i + 1][0] != '-') {
        value = argv[++i];
      }
      if (values_.count(name) == 0) {
        std::string known;
        for (const auto& [key, unused] : values_) known += " --" + key;
        throw UnsupportedError("bench", "option --" + name, "one of" + known, "check the name");
      }
      values_[name] = value;
    }
  }
  const std::string& text(const std::string& name) const { return values_.at(name); }
  int number(const std::string& name) const { return parsed<int>(name, values_.at(name)); }
  // "47,23" -> {47, 23}
  std::vector<int> numbers(const std::string& name) const {
    std::vector<int> values;
    for (const std::string& word : words(text(name))) values.push_back(parsed<int>(name, word));
    return values;
  }
  bool flag(const std::string& name) const { return choice(name, {"0", "1"}) == "1"; }
  // The text of an option, which must be one of `allowed`.
  const std::string& choice(const std::string& name,
                            const std::vector<std::string>& allowed) const {
    const std::string& value = text(name);
    if (std::find(allowed.begin(), allowed.end(), value) == allowed.end()) {
      std::string known;
      for (const std::string& one : allowed) known += (known.empty() ? "" : ", ") + one;
      throw UnsupportedError("bench", "--" + name + " " + value, "one of " + known, "choose one");
    }
    return value;
  }

 private:
  std::map<std::string, std::string> values_;
};

// `tuning`: a table of kernel variants for CUDA instead of the shipped one. `shared_limit`: bytes
// of shared memory that a block has at most. `arch`: chooses variants as on a GPU of this
// architecture.
inline std::unique_ptr<Backend> make_backend(const std::string& device, int threads,
                                             const std::string& tuning = "", int shared_limit = 0,
                                             int arch = 0) {
  if (device == "cuda") {
    return make_cuda_backend({.tuning_file = tuning,
                              .shared_limit = static_cast<std::size_t>(shared_limit),
                              .arch = arch});
  }
  if (shared_limit != 0 || arch != 0) {
    throw UnsupportedError("bench", "the choices of another GPU on device '" + device + "'",
                           "--device cuda", "leave out --shared-limit and --arch");
  }
  if (device == "cpu") return make_cpu_backend({true, threads});
  if (device == "cpu-reference") return make_cpu_backend({false, threads});
  throw UnsupportedError("bench", "device '" + device + "'", "cpu, cpu-reference or cuda",
                         "choose one");
}

inline std::string commit() {
  const char* name = std::getenv("LATTICINO_COMMIT");
  return name == nullptr ? "unknown" : name;
}

// Runs main() of a program and returns its exit status, which is 2 after an error. Errors are
// printed.
template <class Run>
int run_program(int argc, char** argv, std::map<std::string, std::string> defaults, Run run) {
  try {
    defaults.insert({{"commit", commit()}, {"output", "-"}});
    return run(Arguments(argc, argv, std::move(defaults)));
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

inline double median(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  const std::size_t n = x.size();
  return n == 0 ? 0 : 0.5 * (x[(n - 1) / 2] + x[n / 2]);
}

// One JSON object, members in the order they were added.
class Row {
 public:
  Row& add(const std::string& name, const std::string& text) {
    std::string quoted = "\"";
    for (char c : text) {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
    return raw(name, quoted + "\"");
  }
  Row& add(const std::string& name, const char* text) { return add(name, std::string(text)); }
  Row& add(const std::string& name, double x) {
    char number[40];
    std::snprintf(number, sizeof number, "%.6g", x);
    return raw(name, number);
  }
  Row& add(const std::string& name, std::uint64_t x) { return raw(name, std::to_string(x)); }
  Row& add(const std::string& name, int x) { return raw(name, std::to_string(x)); }
  Row& add(const std::string& name, const Row& row) { return raw(name, row.str()); }
  std::string str() const { return "{" + members_ + "}"; }

 private:
  Row& raw(const std::string& name, const std::string& value) {
    members_ += (members_.empty() ? "\"" : ", \"") + name + "\": " + value;
    return *this;
  }
  std::string members_;
};

// Adds what a device was limited to (`--shared-limit`, `--arch`), if it was.
inline void add_limits(Row& params, const Arguments& arguments) {
  const int limit = arguments.number("shared-limit"), arch = arguments.number("arch");
  if (limit != 0) params.add("shared_limit", limit);
  if (arch != 0) params.add("arch", arch);
}

inline std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", &utc);
  return text;
}

// Writes a list of rows; "-" or an empty path prints them. An existing file is replaced in one
// step, so a program that is stopped while it writes leaves the old file.
inline void write_rows(const std::vector<Row>& rows, const std::string& path) {
  const bool prints = path.empty() || path == "-";
  const std::string part = path + ".new";
  std::FILE* file = prints ? stdout : std::fopen(part.c_str(), "w");
  if (file == nullptr) {
    throw FileError("bench", path, "a path that can be written", "choose another --output");
  }
  std::fputs("[", file);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::fprintf(file, "%s%s", i == 0 ? "\n  " : ",\n  ", rows[i].str().c_str());
  }
  std::fputs("\n]\n", file);
  if (prints) return;
  if (std::fclose(file) != 0 || std::rename(part.c_str(), path.c_str()) != 0) {
    throw FileError("bench", path, "a path that can be written", "choose another --output");
  }
}

// run_program for a program whose `run(arguments)` returns the rows to write.
template <class Run>
int run_rows(int argc, char** argv, std::map<std::string, std::string> defaults, Run run) {
  return run_program(argc, argv, std::move(defaults), [&](const Arguments& arguments) {
    write_rows(run(arguments), arguments.text("output"));
    return 0;
  });
}

}  // namespace latticino::bench
