// Checks of the records of lwe_operations.h, beside those of check.cc.
#pragma once

#include "ops/checker.h"

namespace latticino {

#define LATTICINO_CHECK(Record) void check_record(Checker& c, const Record& op);
LATTICINO_LWE_RECORDS(LATTICINO_CHECK)
#undef LATTICINO_CHECK

}  // namespace latticino
