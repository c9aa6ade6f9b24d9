// Which form of bootstrapping is best for a ciphertext: by its level, the slots, what its owner
// declares of the messages, and predicted precision. Only public facts decide, so a dry run and the
// run choose the same form. See docs/bootstrapping.md, The form that is chosen.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ckks/bootstrap/bootstrap.h"

namespace latticino::ckks::bootstrap {

// What is known of the slots, as fractions of the unit box.
struct MessageKnowledge {
  // The slots are like independent random numbers of mean 0: every coefficient is small.
  bool random_like = false;
  // Bound on the size of every slot, and so of every coefficient.
  double largest = 1;
  // Slots that messages will be like, as many as those of the plan; decides in place of the above.
  std::vector<Complex> sample;
};

// What a caller asks for; an option left empty is chosen.
struct FormRequest {
  int level = 0;  // of the ciphertext
  int slots = 0;  // 0: N/2
  BootstrapOptions::Message message = BootstrapOptions::Message::Complex;
  bool minimal_keys = false;
  std::optional<bool> slot_to_coeff_first, over_mod_raise;
  std::optional<int> arcsine, log_message_ratio;  // as in BootstrapOptions
  MessageKnowledge known;
};

struct Choice {
  BootstrapOptions options;
  int input_level = 0, output_level = 0;
  // Predicted for what is known: of random messages, of the sample, or the worse one of random
  // messages and a constant of the largest size.
  Bootstrapper::Precision predicted;
  std::string reason;  // one line
};

// Every option of the caller is kept. Throws ParameterError for one that the set cannot meet,
// LevelError for SlotToCoeff first below its level, ShapeError for slot counts or a sample of
// another length, ValueError for a bound that is not in (0, 1].
Choice choose_form(const Params& params, const FormRequest& request);

}  // namespace latticino::ckks::bootstrap
