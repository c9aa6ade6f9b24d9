// What the files of the TFHE bindings share. An encrypted array is a list of batches: one batch of
// booleans or single bits, or the blocks of integers, least significant first.
#pragma once

#include "bindings.h"
#include "math/errors.h"
#include "session/tfhe/engine.h"
#include "session/tfhe/owner.h"

namespace latticino::python {

using session::TfheBatches;
using TfheClient = session::TfheOwner;
using TfheParamsPtr = std::shared_ptr<const TfheParams>;
using TfheContextPtr = std::shared_ptr<const tfhe::Context>;
using IntegerInput = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using PlaceInput = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

inline std::span<const std::uint64_t> as_span(const IntegerInput& x) {
  return {x.data(), x.size()};
}

}  // namespace latticino::python
