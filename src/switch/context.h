// Both schemes on one queue, for switching between CKKS and TFHE (docs/switching.md).
#pragma once

#include <memory>
#include <vector>

#include "ckks/context.h"
#include "params/switch/params.h"
#include "rlwe/constants.h"
#include "tfhe/context.h"

namespace latticino::switching {

class Context {
 public:
  // `ckks` has the CKKS set of `params` (ContextError); both schemes then share its queue.
  static std::shared_ptr<const Context> create(std::shared_ptr<const SwitchParams> params,
                                               std::shared_ptr<const ckks::Context> ckks);

  const SwitchParams& params() const { return *params_; }
  const std::shared_ptr<const SwitchParams>& shared_params() const { return params_; }
  const std::shared_ptr<const ckks::Context>& ckks() const { return ckks_; }
  const std::shared_ptr<const tfhe::Context>& tfhe() const { return tfhe_; }
  // Key switching in the table ring (SwitchParams::packing()).
  const rlwe::Constants& packing() const { return *packing_; }
  // The table ring with all primes of the CKKS ring. If both rings have one degree, it is the CKKS
  // ring.
  const Ring& subring() const;
  Queue& queue() const { return ckks_->queue(); }
  bool is_dry() const { return ckks_->is_dry(); }

 private:
  Context() = default;
  std::shared_ptr<const SwitchParams> params_;
  std::shared_ptr<const ckks::Context> ckks_;
  std::shared_ptr<const tfhe::Context> tfhe_;
  std::unique_ptr<const rlwe::Constants> packing_;
};

// The same limbs as limbs of another ring of that degree, for its primes `basis`, which must be the
// same primes.
PolyView seen_in(const PolyView& view, const Ring& ring, const Basis& basis);

}  // namespace latticino::switching
