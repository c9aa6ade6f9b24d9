// Chooses the form of bootstrapping for a ciphertext by its level, its slots, what its owner
// declares of the messages, and predicted precision. Only public facts decide, so a dry run and the
// run choose the same form. See docs/bootstrapping.md, The form that is chosen.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ckks/bootstrap/bootstrap.h"

namespace latticino::ckks::bootstrap {

// What is known of the slots, as fractions of the unit box.
struct MessageProperties {
  // The slots are like independent random numbers of mean 0: every coefficient is small.
  bool random_like = false;
  // Bound on the size of every slot, and so of every coefficient.
  double largest = 1;
  // A sample: slots like those of the messages, as many as the plan has. If it is given, the fields
  // above are not used.
  std::vector<Complex> sample;
};

// What a caller asks for; an option left empty is chosen.
struct FormRequest {
  int level = 0;  // level of the ciphertext
  int slots = 0;  // 0: N/2
  BootstrapOptions::Message message = BootstrapOptions::Message::Complex;
  bool minimal_keys = false;
  std::optional<bool> slot_to_coeff_first, over_mod_raise;
  std::optional<int> arcsine, log_message_ratio;  // as in BootstrapOptions
  MessageProperties known;
  // The largest value may have this size. It does not influence the choice, because predictions are
  // for the unit box.
  double reach = 1;
};

struct Choice {
  BootstrapOptions options;
  int input_level = 0, output_level = 0;
  // Predicted precision: for the sample, if there is one; for random messages, if that is declared;
  // else the worse one of random messages and of a constant of the largest size.
  Bootstrapper::Precision predicted;
  std::string reason;  // the reason, in one line
};

// Keeps every option of the caller. Throws ParameterError for an option that the set cannot meet,
// LevelError for SlotToCoeff first below its level, ShapeError for a slot count that is not
// possible or a sample of another length, ValueError for a bound outside of (0, 1].
Choice choose_form(const Params& params, const FormRequest& request);

}  // namespace latticino::ckks::bootstrap
