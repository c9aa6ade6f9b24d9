// Whole polynomials between the host, in logical order, and the device, in physical order.
#pragma once

#include <cstdint>

#include "backend/cuda/launch/launch.h"
#include "poly/poly_view.h"

namespace latticino::cuda {

void upload(Launcher& launcher, Staging& staging, const PolyView& to, const std::uint32_t* host);
void download(Launcher& launcher, Staging& staging, std::uint32_t* host, const PolyView& from);

}  // namespace latticino::cuda
