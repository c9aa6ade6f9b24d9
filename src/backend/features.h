// Parts that a backend can leave out, to measure what they gain. Nothing here changes a result.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace latticino {

class Backend;

struct Features {
  bool tiles = true;   // Convert in Half is one pass; without: three, through Coeff
  bool matrix = true;  // a GPU converts bases on 8-bit matrix units; without: on integers
  bool lazy = true;    // a GPU reduces sums of conversions on integers; without: each product
  // On a GPU the row transforms of the record Transform make most of their twiddles; without: they
  // load all. Row transforms in other records always make them.
  bool twiddles = true;
  bool inner = true;      // KeyInner is one pass; without: transforms, products, transforms
  bool last_step = true;  // ModDownFinish is one pass; without: transform, sum, automorphism
  bool sums = true;       // sums of any length in a pass; without: two terms at a time
  bool key_sums = true;   // products with a key's digits in a pass, also without `sums`
  bool batches = true;    // a pass over many polynomials; without: one at a time
  bool overlap = true;    // a GPU's launch begins while the one before it ends; without: after it
  bool graphs = true;     // recordings as graphs; without: one launch after the other
  bool tuning = true;     // kernel variants from the table; without: each kernel's own rule

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
