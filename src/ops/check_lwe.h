// Checks of the records of lwe_operations.h, beside those of check.cc.
#pragma once

#include "ops/checker.h"

namespace latticino {

void check_record(Checker& c, const LweLinear& op);
void check_record(Checker& c, const LweKeySwitch& op);
void check_record(Checker& c, const ModSwitch& op);
void check_record(Checker& c, const SampleExtract& op);
void check_record(Checker& c, const LweSlots& op);
void check_record(Checker& c, const FourierKey& op);
void check_record(Checker& c, const BlindRotate& op);

}  // namespace latticino
