// Which records of a program depend on which others. This bounds what running them at the same time
// could gain.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "ops/views.h"

namespace latticino::bench {

struct Chain {
  int records = 0;
  int longest = 0;   // the most records in a chain in which each depends on the one before
  double share = 0;  // the largest part of all bytes that the records of such a chain move
};

// Dependencies are by limb: a record waits for the last one that wrote what it reads or writes, and
// for those that read what it writes.
inline Chain chain_of(const std::vector<Operation>& program) {
  struct Point {
    double bytes = 0;
    int records = 0;
    void raise(const Point& p) {
      bytes = std::max(bytes, p.bytes);
      records = std::max(records, p.records);
    }
  };
  std::map<const std::uint32_t*, Point> written, read;
  Point end;
  double all = 0;
  for (const Operation& op : program) {
    const auto each_limb = [&](const auto& visit) {
      for_each_view(op, [&](const PolyView& v, bool writes) {
        const Basis basis = v.basis();
        for (int i = 0; i < basis.size(); ++i) visit(v.limb(basis.prime(i)), writes);
      });
    };
    Point now;
    each_limb([&](const std::uint32_t* limb, bool writes) {
      now.raise(written[limb]);
      if (writes) now.raise(read[limb]);
    });
    now.bytes += static_cast<double>(bytes_moved(op));
    ++now.records;
    each_limb([&](const std::uint32_t* limb, bool writes) {
      (writes ? written : read)[limb].raise(now);
    });
    all += static_cast<double>(bytes_moved(op));
    end.raise(now);
  }
  return {static_cast<int>(program.size()), end.records, all > 0 ? end.bytes / all : 0};
}

}  // namespace latticino::bench
