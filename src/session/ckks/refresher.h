// Bootstrapping of arrays: when a context bootstraps automatically, in which form, with which
// objects, and what is known of the result. Each context has one, in C++ and in Python.
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
struct RefreshMethod {
  ckks::bootstrap::Choice each;                 // the form for a ciphertext by itself
  std::optional<ckks::bootstrap::Choice> pair;  // the form for two real ones as one
  std::size_t count = 1;                        // number of ciphertexts of the array
  std::string note;                             // text for the notes of a plan

  std::size_t bootstraps() const { return pair ? (count + 1) / 2 : count; }
  bool has_unpaired() const { return !pair || count % 2 == 1; }
  int output_level() const;
};

class Refresher {
 public:
  using Context = std::shared_ptr<const ckks::Context>;
  using Request = ckks::bootstrap::FormRequest;
  using Message = ckks::BootstrapOptions::Message;
  // `timed`: the device whose rates predict times.
  Refresher(Context context, RateDevice timed);
  // For a plan's twin of the context that `like` belongs to.
  Refresher(Context context, const Refresher& like);

  // The advice in messages if levels are missing. `automatic`: whether the context bootstraps
  // automatically.
  std::string more_levels(bool automatic) const;
  // Whether a context that bootstraps automatically refreshes x before an operation that takes
  // `levels`. It does if the levels do not suffice. It also does if all of this holds: the
  // operation would end below the level that SlotToCoeff first needs; that form would be chosen at
  // the present level; and the refresh gains levels.
  bool refreshes(const Contents& x, int levels) const;
  // ParameterError for parameters without bootstrapping.
  void require(const char* operation) const;
  // Whether x must go down by one level first. SlotToCoeff at its own level has no level to spare
  // for changing a scale that is not the canonical one.
  bool lowers_first(const Contents& x) const;

  // The arcsine of a refresh before an operation that takes `levels`. If the usual choice would
  // leave fewer levels, it is a shorter one, or none (1).
  std::optional<int> arcsine_for(const Contents& x, int levels) const;
  static std::string note_of_arcsine(int arcsine, int levels);
  // Whether a second refresh leads higher if `levels` are still missing after the first one. It has
  // SlotToCoeff first, and needs the levels that the first one left.
  bool leads_higher(const Contents& x, int levels) const;

  // The same as choose_form. Comparing forms takes a tenth of a second or more, so a process does
  // it once for each set of parameters.
  ckks::bootstrap::Choice form(const Request& request) const;
  // How to refresh x. `message`: what the caller asks for. None: complex values as such; real
  // values by themselves, or two ciphertexts as one, whichever is predicted to be faster at about
  // the same precision. UnsupportedError for merged values of one ciphertext, or of values that are
  // not known to be real.
  RefreshMethod method(const Contents& x, const Request& request,
                       std::optional<Message> message) const;
  // `request` with the lowest level of these arrays, their slots, and what is declared of their
  // values. Sample data do not count: the run of a plan may have none.
  static Request of(std::span<const Contents* const> xs, Request request);
  // The text on a choice for the notes of a plan.
  static std::string note(const Request& request, const ckks::bootstrap::Choice& choice);
  // Made once for each set of options.
  std::shared_ptr<const ckks::Bootstrapper> bootstrapper(const ckks::BootstrapOptions& options);
  std::uint64_t bytes() const;  // bytes of all of them

 private:
  using Key = std::tuple<int, int, bool, bool, bool, int, int>;
  using FormKey = std::tuple<int, int, int, bool, int, int, int, int, bool>;
  int first_level() const;  // the lowest level from which SlotToCoeff can come first
  static Key key_of(const ckks::BootstrapOptions& options);
  // Predicted time of one bootstrapping.
  double seconds_of(const ckks::BootstrapOptions& options) const;
  double predicted_seconds(const ckks::BootstrapOptions& options) const;  // found by a dry run
  RefreshMethod fastest(const Contents& x, const Request& request) const;

  Context context_;
  RateDevice timed_;
  std::map<Key, std::shared_ptr<const ckks::Bootstrapper>> made_;  // used under the queue's lock
};

// `misfits`: the reason why nothing is claimed of the result, if values leave the message box.
Contents bootstrapped(const ckks::Evaluator& e, Refresher& refresher, const RefreshMethod& method,
                      const Contents& x, std::vector<Misfit>* misfits);
// Two arrays of real values, refreshed as one. Imaginary errors of one become errors of the other.
std::pair<Contents, Contents> bootstrapped_pair(const ckks::Evaluator& e,
                                                const ckks::Bootstrapper& b, const Contents& x,
                                                const Contents& y, std::vector<Misfit>* misfits);

}  // namespace latticino::session
