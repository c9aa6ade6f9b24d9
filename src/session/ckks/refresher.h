// Bootstrapping of arrays: whether it happens by itself, in which form, with what, and what is
// known of the result. A context of either front door holds one.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "ckks/bootstrap/bootstrap.h"
#include "ckks/bootstrap/choice.h"
#include "session/ckks/contents.h"
#include "session/device.h"

namespace latticino::session {

// How the ciphertexts of an array are refreshed.
struct Manner {
  ckks::bootstrap::Choice each;  // of one by itself
  std::optional<ckks::bootstrap::Choice>
      pair;               // two of real values as one; one left over by itself
  std::size_t count = 1;  // ciphertexts of the array
  std::string note;       // what a plan notes of it

  std::size_t bootstraps() const { return pair ? (count + 1) / 2 : count; }
  bool leaves_one() const { return !pair || count % 2 == 1; }
  int output_level() const;
};

class Refresher {
 public:
  using Context = std::shared_ptr<const ckks::Context>;
  using Request = ckks::bootstrap::FormRequest;
  using Message = ckks::BootstrapOptions::Message;
  // `timed`: whose rates predict what forms take.
  Refresher(Context context, TimedAs timed);
  // Of a twin of the context of `like`.
  Refresher(Context context, const Refresher& like);

  // What to do where levels are lacking; `automatic`: bootstraps by itself.
  std::string more_levels(bool automatic) const;
  // Whether a context that bootstraps by itself refreshes x before an operation that takes
  // `levels`. It does where the levels do not suffice, and where the operation would end below the
  // level that SlotToCoeff first needs, if that is the form chosen there and levels are gained.
  bool refreshes(const Contents& x, int levels) const;
  // ParameterError without bootstrapping.
  void require(const char* operation) const;
  // Whether one level below must be taken first: SlotToCoeff at its own level has none to spare for
  // a scale that is not the canonical one.
  bool lowers_first(const Contents& x) const;

  // The arcsine of a refresh before an operation that takes `levels`: a shorter one, or none (1),
  // where the one that is chosen otherwise would leave fewer.
  std::optional<int> arcsine_for(const Contents& x, int levels) const;
  static std::string note_of_arcsine(int arcsine, int levels);
  // Whether another refresh leads higher where `levels` are lacking still: SlotToCoeff first, which
  // needs the levels that the one before it left.
  bool leads_higher(const Contents& x, int levels) const;

  // As choose_form. Comparing forms takes a tenth of a second or more: a process compares them once
  // for each set of parameters.
  ckks::bootstrap::Choice form(const Request& request) const;
  // How to refresh x. `message`: as its caller asks; none: complex values as such; real values by
  // themselves or two ciphertexts as one, whichever is predicted to be faster and about as precise.
  // UnsupportedError for merged values of one ciphertext, or of values not known to be real.
  Manner manner(const Contents& x, const Request& request, std::optional<Message> message) const;
  // `request` with the lowest level of these arrays and their slots. Only what is declared of them
  // counts as known: sample data of a plan do not, as the run may have none.
  static Request of(std::span<const Contents* const> xs, Request request);
  // What a plan notes of a choice.
  static std::string note(const Request& request, const ckks::bootstrap::Choice& choice);
  // Made once for each set of options.
  std::shared_ptr<const ckks::Bootstrapper> bootstrapper(const ckks::BootstrapOptions& options);
  std::uint64_t bytes() const;  // of all of them

 private:
  using Key = std::tuple<int, int, bool, bool, bool, int, int>;
  using FormKey = std::tuple<int, int, int, bool, int, int, int, int, bool>;
  int first_level() const;  // from which SlotToCoeff can come first
  static Key key_of(const ckks::BootstrapOptions& options);
  // Predicted, of one bootstrapping.
  double seconds_of(const ckks::BootstrapOptions& options) const;
  double predicted_seconds(const ckks::BootstrapOptions& options) const;  // by a dry run
  Manner fastest(const Contents& x, const Request& request) const;

  Context context_;
  TimedAs timed_;
  std::map<Key, std::shared_ptr<const ckks::Bootstrapper>> made_;  // under the queue's lock
};

// `misfits`: why nothing is claimed of the result, where values leave the message box.
Contents bootstrapped(const ckks::Evaluator& e, Refresher& refresher, const Manner& manner,
                      const Contents& x, std::vector<Misfit>* misfits);
// Of two arrays of real values as one: imaginary errors of either become errors of the other.
std::pair<Contents, Contents> bootstrapped_pair(const ckks::Evaluator& e,
                                                const ckks::Bootstrapper& b, const Contents& x,
                                                const Contents& y, std::vector<Misfit>* misfits);

}  // namespace latticino::session
