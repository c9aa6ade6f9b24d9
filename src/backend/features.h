// Parts that a backend can leave out, to measure what they gain. Nothing here changes a result.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace latticino {

class Backend;

struct Features {
  bool tiles = true;      // Convert in Half is one pass; without: three, through Coeff
  bool matrix = true;     // a GPU converts bases on 8-bit matrix units; without: on integers
  bool lazy = true;       // a GPU reduces sums of conversions on integers; without: each product
  bool inner = true;      // KeyInner is one pass; without: transforms, products, transforms
  bool last_step = true;  // ModDownFinish is one pass; without: transform, sum, automorphism
  bool sums = true;       // sums of any length in a pass; without: two terms at a time
  bool key_sums = true;   // products with a key's digits in a pass, also without `sums`
  bool batches = true;    // a pass over many polynomials; without: one at a time
  bool overlap = true;    // a GPU's launch begins while the one before it ends; without: after it
  bool graphs = true;     // recordings as graphs; without: one launch after the other
  bool tuning = true;     // kernel variants from the table; without: each kernel's own rule

  bool operator==(const Features&) const = default;
  // All but those named in a list "tiles,sums"; UnsupportedError for another name.
  static Features without(const std::string& list);
  static const std::vector<std::string>& names();
};

// `inner` behind a stage that writes records of features that are left out as several simpler
// records. Scratch comes from `inner`, beside what the queue counts. `features` may change between
// records and between recordings, not inside one.
std::unique_ptr<Backend> make_lowered_backend(std::unique_ptr<Backend> inner,
                                              std::shared_ptr<const Features> features);

}  // namespace latticino
