// Parts that a backend can leave out, to measure what they gain. Nothing here changes a result.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace latticino {

class Backend;

struct Features {
  bool tiles = true;   // Convert in Half is one pass; without it, three passes through Coeff
  bool matrix = true;  // a GPU converts bases on 8-bit matrix units; without it, on integers
  bool lazy = true;  // a GPU reduces the sums of conversions on integers; without it, each product
  // On a GPU the row transforms of the record Transform make most of their twiddles; without it
  // they load all of them. Row transforms in other records always make them.
  bool twiddles = true;
  bool inner = true;      // KeyInner is one pass; without it: transforms, products, transforms
  bool last_step = true;  // ModDownFinish is one pass; without it: transform, sum, automorphism
  bool sums = true;       // sums of any length are one pass; without it: two terms at a time
  bool key_sums = true;   // products with the digits of a key are one pass, also without `sums`
  bool batches = true;    // many polynomials are one pass; without it: one polynomial at a time
  bool overlap = true;  // a GPU's launch begins while the one before it ends; without it: after it
  bool graphs = true;   // recordings are graphs; without it: one launch after the other
  // Kernel variants come from the table; without it: from each kernel's own rule.
  bool tuning = true;

  bool operator==(const Features&) const = default;
  // All features except those that a list such as "tiles,sums" names. UnsupportedError for other
  // names.
  static Features without(const std::string& list);
  static const std::vector<std::string>& names();
};

// A backend that first turns records of features that are left out into several simpler records,
// and gives these to `inner`. Their scratch comes from `inner`; the queue does not count it.
// `features` may change between records and between recordings, but not inside a recording.
std::unique_ptr<Backend> make_lowered_backend(std::unique_ptr<Backend> inner,
                                              std::shared_ptr<const Features> features);

}  // namespace latticino
