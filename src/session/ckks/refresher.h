// Bootstrapping of arrays: whether it happens by itself, in which form, with what, and what is
// known of the result. A context of either front door holds one.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "ckks/bootstrap/bootstrap.h"
#include "ckks/bootstrap/choice.h"
#include "session/ckks/contents.h"

namespace latticino::session {

class Refresher {
 public:
  using Context = std::shared_ptr<const ckks::Context>;
  using Request = ckks::bootstrap::FormRequest;
  explicit Refresher(Context context);
  // Of a twin, which shares the forms that are known: comparing them takes longer than using one.
  Refresher(Context context, const Refresher& like);

  // What to do where levels are lacking; `automatic`: bootstraps by itself.
  std::string more_levels(bool automatic) const;
  // Whether a context that bootstraps by itself does so at `level` before an operation that takes
  // `levels`. It does where the levels do not suffice, and where the operation would end below the
  // level that SlotToCoeff first needs, if that is the form chosen there and levels are gained.
  bool refreshes(int level, int levels, int slots);
  // ParameterError without bootstrapping.
  void require(const char* operation) const;
  // Whether one level below must be taken first: SlotToCoeff at its own level has none to spare for
  // a scale that is not the canonical one.
  bool lowers_first(const Contents& x) const;

  // The arcsine of a refresh before an operation that takes `levels`: a shorter one, or none (1),
  // where the one that is chosen otherwise would leave fewer.
  std::optional<int> arcsine_for(const Contents& x, int levels);
  static std::string note_of_arcsine(int arcsine, int levels);
  // Whether another refresh leads higher where `levels` are lacking still: SlotToCoeff first, which
  // needs the levels that the one before it left.
  bool leads_higher(const Contents& x, int levels);

  // As choose_form.
  ckks::bootstrap::Choice form(const Request& request);
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
  struct Forms {
    std::mutex mutex;
    std::map<FormKey, ckks::bootstrap::Choice> known;
  };
  int first_level() const;  // from which SlotToCoeff can come first

  Context context_;
  std::shared_ptr<Forms> forms_;
  std::map<Key, std::shared_ptr<const ckks::Bootstrapper>> made_;  // under the queue's lock
};

// `misfits`: why nothing is claimed of the result, where values leave the message box.
Contents bootstrapped(const ckks::Evaluator& e, const ckks::Bootstrapper& b, const Contents& x,
                      std::vector<Misfit>* misfits);
// Of two arrays of real values as one: imaginary errors of either become errors of the other.
std::pair<Contents, Contents> bootstrapped_pair(const ckks::Evaluator& e,
                                                const ckks::Bootstrapper& b, const Contents& x,
                                                const Contents& y, std::vector<Misfit>* misfits);
// What is known of the result alone.
Known known_bootstrapped(const ckks::Bootstrapper& b, const Contents& x,
                         std::vector<Misfit>* misfits);

}  // namespace latticino::session
