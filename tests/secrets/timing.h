// Timing tests in the manner of dudect (Reparaz, Balasch, Verbauwhede, DATE 2017): a function is
// timed on inputs of two classes in random order, and Welch's t-test says whether the times of the
// classes have one mean.
#pragma once

namespace latticino::secrets {

// Times every function for `seconds` and prints what was found. False where one of them takes a
// time that depends on its class (|t| of 10 or more), or where the self-test's leak is not seen.
bool run_timing(double seconds);

}  // namespace latticino::secrets
