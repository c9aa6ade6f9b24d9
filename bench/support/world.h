// Keys, encryption and errors for benchmark programs that compute on ciphertexts.
#pragma once

#include <cmath>
#include <functional>
#include <random>
#include <span>

#include "ckks/bootstrap/bootstrap.h"
#include "ckks/encoding/encoder.h"
#include "runtime/rates.h"
#include "session/keys/ckks_key_holder.h"
#include "support/common.h"

namespace latticino::bench {

using ckks::BootstrapOptions;
using ckks::Bootstrapper;
using ckks::Ciphertext;
using ckks::Complex;

// Slots of one message: random in the unit box ("complex"; "real" and "merged" without imaginary
// parts), or one that the sine treats badly ("constant", "alternating", "spike").
std::vector<Complex> make_message(const std::string& kind, int slots, std::mt19937_64& generator);
bool is_random(const std::string& kind);
// The level, 1 or more, with at most `limbs` limbs.
int level_of(const Params& params, int limbs);

struct Errors {
  double sum = 0, largest = 0, count = 0;
  double largest_sum = 0, runs = 0;  // the largest error of each run
  void add(const std::vector<Complex>& want, const std::vector<Complex>& have);
  double mean_bits() const { return -std::log2(sum / count); }
  double max_bits() const { return -std::log2(largest); }
  double mean_of_largest_bits() const { return -std::log2(largest_sum / runs); }
};

// What a program needs and moves. `setup` may encode constants, which are not counted.
struct DryRun {
  rlwe::KeyRequest request;
  DryReport report;  // its peak_bytes include everything except keys
  std::uint64_t key_bytes = 0;
};
using Program1 = std::function<void(const ckks::Evaluator&, const Ciphertext&)>;
using Setup = std::function<Program1(const std::shared_ptr<const ckks::Context>&)>;
DryRun dry_run(const std::shared_ptr<const Params>& params, int level, int slots,
               const Setup& setup);
// One call for all; with MergedReals the first half of them is merged with the second half.
std::vector<Ciphertext> refresh(const Bootstrapper& bootstrapper, const ckks::Evaluator& evaluator,
                                std::span<const Ciphertext> x);
Setup bootstrapping(const BootstrapOptions& options, int batch = 1);
// The rates for the backend that make_backend makes for these options.
struct Rates {
  const RateTable& table;
  int threads;
};
Rates rates_of(const std::string& device, int threads);

// The holder of a new key on one device.
class World {
 public:
  World(const std::string& preset_name, std::unique_ptr<Backend> backend);
  World(std::shared_ptr<const Params> params, std::unique_ptr<Backend> backend);
  const std::shared_ptr<const Params>& params() const { return params_; }
  const std::shared_ptr<const ckks::Context>& context() const { return own_.context; }
  Queue& queue() const { return context()->queue(); }
  const ckks::Evaluator& evaluator() const { return *evaluator_; }
  const rlwe::SecretKey& secret() const { return own_.secret; }
  rlwe::Random& random() { return own_.random; }
  std::size_t key_bytes() const { return keys_->bytes(); }
  std::size_t sum_bytes() const { return keys_->sum_bytes(); }

  void make_keys(const rlwe::KeyRequest& request);
  std::vector<Complex> message(const std::string& kind, int slots) {
    return make_message(kind, slots, messages_);
  }
  Ciphertext encrypt(const std::vector<Complex>& z, int level);
  std::vector<Complex> decrypt(const Ciphertext& x) const { return own_.decrypt(x); }
  // Copies the data of x into the memory of y, which recorded programs read. Both must have the
  // same level and slots.
  void copy(const Ciphertext& x, const Ciphertext& y) const;

  // A row with name, device and preset; the caller adds the rest.
  Row row(const std::string& name, double value, const std::string& unit, int runs) const;

 private:
  std::shared_ptr<const Params> params_;
  session::CkksKeyHolder own_;
  std::mt19937_64 messages_{1};
  std::shared_ptr<rlwe::EvaluationKeys> keys_;
  std::unique_ptr<ckks::Evaluator> evaluator_;
};

// Median seconds of `body`, after runs that are not counted.
double median_seconds(Queue& queue, int runs, const std::function<void()>& body, int before = 1);

}  // namespace latticino::bench
