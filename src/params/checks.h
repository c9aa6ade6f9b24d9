// The parts of Params::check, each throwing ParameterError for what it names, and the canonical
// text. Internal to src/params.
#pragma once

#include <string>

#include "params/params.h"

namespace latticino::params {

// Fields, primes and level shapes: the conditions that everything else relies on.
void check_literal(const ParamsLiteral& literal);
// The primes of levels, and the sets that operations form of them, are few runs in the ring's
// order.
void check_runs(const ParamsLiteral& literal);
void check_runs_of_sums(const Params& p);  // the same for sums of digits of keys
// Every key-switching digit's product is at most P.
void check_digits(const Params& p);
void check_security(const Params& p);
void check_bootstrap(const Params& p);
// Canonical scales are within 0.1 bit of their target, or within 0.5 if each level has a target.
void check_scales(const Params& p);
// The 64-bit bound of every base conversion that key switching and rescaling use.
void check_accumulators(const Params& p);

// The name of a preset may only be used for the parameters of that preset.
void check_preset_name(const Params& p);

std::string to_text(const ParamsLiteral& literal);

}  // namespace latticino::params
