// A text for users about what bootstrapping does by default: the forms that choose_form takes.
#pragma once

#include <string>

#include "params/params.h"

namespace latticino::ckks::bootstrap {

// For all slots, and for each group of levels with one choice: the choice with its reason, and
// predicted bits of random and of constant messages. Empty for parameters without bootstrapping.
// Predictions take about two seconds at N = 2^16.
std::string explain_choices(const Params& params);

// The text of Params::explain(), and then the text above.
std::string explain(const Params& params);

}  // namespace latticino::ckks::bootstrap
