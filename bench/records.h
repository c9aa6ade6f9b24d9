// Benchmark rows: the JSON objects of bench/records, one a measurement.
#pragma once

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace latticino::bench {

struct Row {
  std::string name, unit = "us";
  double value = 0;
  int median_of = 0;
  std::string device, backend, preset;
  std::vector<std::pair<std::string, std::int64_t>> params;
  std::uint64_t bytes_moved = 0;  // 0: not stated
  double ceiling_fraction = 0;    // of the binding resource; 0: not stated
};

// Where a row comes from: given on the command line, as a program cannot know its commit.
struct Origin {
  std::string commit = "unknown", date = "unknown";
};

inline std::string to_json(const Row& r, const Origin& origin) {
  std::ostringstream s;
  s << "{\"name\": \"" << r.name << "\", \"value\": " << r.value << ", \"unit\": \"" << r.unit
    << "\", \"median_of\": " << r.median_of << ", \"device\": \"" << r.device
    << "\", \"backend\": \"" << r.backend << "\", \"preset\": \"" << r.preset
    << "\", \"params\": {";
  for (std::size_t i = 0; i < r.params.size(); ++i) {
    s << (i > 0 ? ", " : "") << "\"" << r.params[i].first << "\": " << r.params[i].second;
  }
  s << "}";
  if (r.bytes_moved > 0) s << ", \"bytes_moved\": " << r.bytes_moved;
  if (r.ceiling_fraction > 0) s << ", \"ceiling_fraction\": " << r.ceiling_fraction;
  s << ", \"commit\": \"" << origin.commit << "\", \"date\": \"" << origin.date << "\"}";
  return s.str();
}

inline void write_rows(const std::string& path, const std::vector<Row>& rows,
                       const Origin& origin) {
  std::ofstream file(path);
  file << "[\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    file << to_json(rows[i], origin) << (i + 1 < rows.size() ? ",\n" : "\n");
  }
  file << "]\n";
}

}  // namespace latticino::bench
