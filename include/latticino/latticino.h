/// \file
/// Everything: CKKS with bootstrapping, TFHE, switching between both, files.
#pragma once

#include "latticino/array.h"
#include "latticino/client.h"
#include "latticino/context.h"
#include "latticino/errors.h"
#include "latticino/files.h"
#include "latticino/params.h"
#include "latticino/plan.h"
#include "latticino/recording.h"
#include "latticino/switching.h"
#include "latticino/tfhe.h"
#include "latticino/values.h"
#include "latticino/version.h"
