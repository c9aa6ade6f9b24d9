// CKKS -> tables -> CKKS: any function of every slot, by programmable bootstrapping
// (docs/switching.md).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "switch/extract.h"
#include "switch/matvec.h"
#include "switch/pack.h"
#include "switch/table.h"

namespace latticino::switching {

// From LWE back to CKKS. Ring: packing by automorphisms and half a bootstrapping (pack.h). Matvec:
// a product with rotations of the encrypted secret, and EvalMod (matvec.h). Automatic: Matvec where
// there is a key for the slot count, Ring elsewhere; choose_route (route.h) says which key to make.
enum class Route : std::uint8_t { Automatic, Ring, Matvec };

struct SwitchOptions {
  int slots = 0;     // slots of the ciphertexts; 0: N/2
  double bound = 1;  // for real slots |x| <= bound; beyond it results are wrong without notice
  bool minimal_keys = false, over_mod_raise = false;  // as in bootstrapping
  // Called with every ciphertext and the slots extracted from it, for debugging with the secret
  // key: shadow_check() of switch/client.h. Without it, values are not checked.
  std::function<void(const ckks::Ciphertext&, std::span<const int>)> shadow = {};
  Route route = Route::Automatic;
};

// Matrices and plans for one slot count and bound. Works on a dry context, with allocated keys.
class Switcher {
 public:
  // KeyError for route Matvec if there is no key for the slot count.
  Switcher(std::shared_ptr<const Context> context, std::shared_ptr<const SwitchKeys> keys,
           const SwitchOptions& options);

  // f of the slots in `which` (empty: all slots); other slots stay as they are. The result has
  // level output_level(). If slots stay, and one level below that of x is less, it has that level.
  // x may have any level from input_level() on.
  ckks::Ciphertext apply(const ckks::Evaluator& evaluator, const ckks::Ciphertext& x,
                         const Table& table, std::span<const int> which = {}) const;

  // The two halves of `apply`: from slots to LWE ciphertexts, and from these through a table to
  // slots. All other slots are 0.
  Samples extract(const ckks::Evaluator& evaluator, const ckks::Ciphertext& x,
                  std::span<const int> which = {}) const;
  ckks::Ciphertext look_up(const ckks::Evaluator& evaluator, const Samples& samples,
                           const Table& table) const;
  // (b, a) of the table, rotated by each phase, in Coeff. The value is the constant coefficient.
  tfhe::Context::Polys rotated(const LweView& lwe, const Table& table) const;
  // The rest of look_up. `rotated`: the rotated tables of all samples. It is overwritten.
  ckks::Ciphertext repack(const ckks::Evaluator& evaluator, const Samples& samples,
                          const tfhe::Context::Polys& rotated, const Table& table) const;

  const std::shared_ptr<const Context>& context() const { return context_; }
  const SwitchOptions& options() const { return options_; }
  int input_level() const { return extractor_.input_level(); }
  int output_level() const;
  // The object of the route: Ring or Matvec. The other one is null.
  Route route() const { return matvec_ ? Route::Matvec : Route::Ring; }
  const MatvecPacker* matvec() const { return matvec_ ? &*matvec_ : nullptr; }
  // The predicted errors in the table's report for this route.
  const TableReport& report(const Table& table) const {
    return matvec_ ? table.matvec_report : table.report;
  }
  std::size_t bytes() const { return extractor_.bytes() + (packer_ ? packer_->bytes() : 0); }

 private:
  // Rotates the tables of so many samples, from a first one on.
  using Rotations = std::function<tfhe::Context::Polys(std::uint32_t, std::uint32_t)>;
  ckks::Ciphertext back(const ckks::Evaluator& evaluator, const Samples& samples,
                        const Table& table, const Rotations& rotations) const;
  ckks::Ciphertext packed(const ckks::Evaluator& evaluator, const Samples& samples,
                          const Table& table, const Rotations& rotations) const;
  ckks::Ciphertext multiplied(const ckks::Evaluator& evaluator, const Samples& samples,
                              const Table& table, const Rotations& rotations) const;
  ckks::Ciphertext merged(const ckks::Evaluator& evaluator, const ckks::Ciphertext& x,
                          const ckks::Ciphertext& changed, std::span<const int> which) const;
  ckks::Plaintext mask(int level, std::span<const int> which) const;
  std::shared_ptr<const Context> context_;
  std::shared_ptr<const SwitchKeys> keys_;
  SwitchOptions options_;
  Extractor extractor_;
  std::optional<Packer> packer_;  // one of the two is null
  std::optional<MatvecPacker> matvec_;
  // Plaintexts with 0 at some slots and 1 at the others, by level and slots. They are kept, so that
  // a program can be recorded after one run.
  mutable std::mutex masks_mutex_;
  mutable std::map<std::pair<int, std::vector<int>>, ckks::Plaintext> masks_;
};

}  // namespace latticino::switching
