// Parameters on a device, with everything that is made there once: bootstrappers, matrices and
// constants. All sessions of one context share it. A host without data (dry) notes the keys that a
// program uses.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "latticino/context.h"
#include "session/bundles.h"
#include "session/ckks/constants.h"
#include "session/ckks/refresher.h"
#include "session/constant_cache.h"
#include "session/device.h"
#include "session/keys/dry_run.h"
#include "switch/route.h"

namespace latticino::session {

using Complexes = std::span<const Complex>;

// How results of tables come back to CKKS, as a plan decides it.
struct RepackRoute {
  switching::Route route = switching::Route::Ring;
  switching::MatvecShape shape;
  double seconds = 0;
  std::uint64_t key_bytes = 0;
};

class Host final : public Constants {
 public:
  Host(const ParameterSet& parameters, const ContextOptions& options);
  // A twin without data, of plans.
  struct Dry {};
  Host(const Host& like, Dry);
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  const ParameterSet parameters;
  const Params& params() const { return *parameters.native(); }
  std::string device;  // "dry" for a twin
  // The device whose rates predict times; a twin has that of the device that it stands for.
  RateDevice timed;
  bool auto_bootstrap = false;
  CkksContextPtr native;
  std::shared_ptr<KeyStore> store;      // null for a twin
  const std::optional<DryRun> dry_run;  // for a twin only
  std::atomic<std::uint64_t> bootstraps{0};
  bool dry() const { return store == nullptr; }
  // The caches are guarded by the lock of the queue. A recording holds it.
  std::unique_lock<std::recursive_mutex> lock() const { return native->queue().lock(); }

  void warn(Warning::Kind kind, const std::string& message) const;
  // ScaleError in a plan, a warning otherwise.
  void report(const char* operation, const std::string& had, const std::string& needs,
              const std::string& remedy) const;
  // Adds a text to the notes of a plan, unless it is there already.
  void note(const std::string& text);
  std::vector<std::string> notes() const { return notes_; }
  std::string more_levels() const override { return refresher_->more_levels(auto_bootstrap); }

  // Constants that are used again soon are encoded once.
  ckks::Plaintext encode(Complexes values, int level, double scale);
  ckks::Plaintext encode_named(const std::string& name,
                               const std::function<std::vector<Complex>()>& make, int level,
                               double scale) override;
  std::shared_ptr<const ckks::MatrixProduct> matrix_product(Complexes w, int rows, int columns,
                                                            int slots, int level) override;
  Refresher& refresher() { return *refresher_; }
  // Whether auto_bootstrap refreshes x before an operation that takes `levels` levels.
  bool refreshes(const Contents& x, int levels) {
    return auto_bootstrap && refresher_->refreshes(x, levels);
  }

  // Sets of switching for these parameters. The first one is the default for this device.
  const std::vector<std::string>& switch_sets() const { return switch_sets_; }
  SwitchContextPtr switching(const std::string& name);
  std::shared_ptr<const switching::Table> table(const std::string& key,
                                                const std::function<switching::Table()>& make);
  // For a twin: the switcher that takes ciphertexts through tables. Its keys have no data.
  std::shared_ptr<switching::Switcher> dry_switcher(const std::string& name, int slots,
                                                    double bound, bool minimal_keys,
                                                    switching::Route route);
  std::shared_ptr<switching::SwitchKeys> dry_keys(const std::string& name);
  const std::map<std::string, std::shared_ptr<switching::SwitchKeys>>& dry_switch_keys() const {
    return switch_keys_;
  }

  std::uint64_t constant_bytes() const;
  // While an object of this class exists, the caches drop nothing, because a recording needs its
  // constants. Must be made under the lock of the queue.
  class Pins {
   public:
    explicit Pins(Host& host)
        : plaintexts_(host.plaintexts_), products_(host.products_), tables_(host.tables_) {}

   private:
    ConstantCache<ckks::Plaintext>::Pin plaintexts_;
    ConstantCache<ckks::MatrixProduct>::Pin products_;
    ConstantCache<switching::Table>::Pin tables_;
  };

 private:
  using SwitcherKey = std::tuple<std::string, int, double, bool, switching::Route>;
  RepackRoute repack_route(const std::string& name, int slots, bool minimal_keys,
                           switching::Route route);

  std::function<void(const Warning&)> on_warning_;
  std::vector<std::string> notes_, switch_sets_;
  ConstantCache<ckks::Plaintext> plaintexts_;
  ConstantCache<ckks::MatrixProduct> products_;
  ConstantCache<switching::Table> tables_;
  std::unique_ptr<Refresher> refresher_;
  // Choosing a route back takes longer than using it, so twins share the choice.
  struct Choices {
    std::mutex mutex;
    std::map<std::tuple<std::string, int, bool, switching::Route>, RepackRoute> repack_routes;
  };
  std::shared_ptr<Choices> choices_;
  std::map<std::string, SwitchContextPtr> switching_;
  std::map<std::string, std::shared_ptr<switching::SwitchKeys>> switch_keys_;
  std::map<SwitcherKey, std::shared_ptr<switching::Switcher>> switchers_;
};

// The same ciphertext seen with another slot count. More slots are always right, because the slots
// repeat. Fewer are right only if the caller knows that the slots repeat with that period.
// ShapeError for a count that is not possible.
ckks::Ciphertext with_slots(const ckks::Ciphertext& x, int slots);
// An uninitialised ciphertext of the shape of `like`.
ckks::Ciphertext allocate_like(const ckks::Ciphertext& like);
void copy_into(const ckks::Ciphertext& from, const ckks::Ciphertext& to);
std::size_t bytes_of(const ckks::Ciphertext& x);

// Sets of switching for a CKKS set, those with tables in FP64 first or last.
std::vector<std::string> switch_sets_for(const Params& params, bool fp64_first);

}  // namespace latticino::session
