// One machine under comparison, and the cases that run on it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ops/slot_transform.h"
#include "poly/ring.h"
#include "rlwe/constants.h"
#include "runtime/queue.h"

namespace latticino::conformance {

using Words = std::vector<std::uint32_t>;

enum class Pattern { Random, Zero, Largest, Alternating, Spike, Middle };
constexpr int kPatterns = 6;
const char* name(Pattern pattern);

// Residues of a pattern for one limb; `salt` separates limbs and polynomials.
void fill(Pattern pattern, std::uint64_t salt, std::uint32_t q, std::uint32_t* out, std::size_t n);
std::uint64_t mix(std::uint64_t x);  // splitmix64

// What a case read and wrote, on the host, in the order the case asked for it.
struct Observed {
  struct Array {
    Array(const Ring& ring, const Basis& basis, Domain domain, const Words& words);
    Basis basis;
    Domain domain;
    const std::uint32_t* limb(int prime) const { return limbs_[prime]; }

   private:
    std::vector<const std::uint32_t*> limbs_;  // by prime of the ring; null where there is none
  };
  const Ring* ring = nullptr;
  std::size_t n = 0;
  std::vector<Array> inputs, outputs;                   // polynomials only
  std::vector<const Words*> input_words, output_words;  // of everything
  const std::vector<std::vector<std::int64_t>>* integers = nullptr;
  const std::vector<std::vector<double>>* slots = nullptr;  // pairs
};

class Side;

struct Case {
  std::string record, name;
  std::function<std::vector<Operation>(Side&)> build;
  // Empty, or what is wrong with the results (on random inputs).
  std::function<std::string(const Observed&)> exact;
};

// Both sides have the same inputs. They are made once, in the order of requests.
struct SharedInputs {
  Pattern pattern = Pattern::Random;
  std::uint64_t salt = 0;
  std::vector<Words> words;
  std::vector<std::vector<std::int64_t>> integers;
  std::vector<std::vector<double>> slots;
};

class Side {
 public:
  Side(std::unique_ptr<Backend> backend, std::shared_ptr<const Params> params);
  Side(std::unique_ptr<Backend> backend, int log_n, const std::vector<std::uint32_t>& primes);

  const Ring& ring() const { return *ring_; }
  const rlwe::Constants& constants() const { return *constants_; }
  Queue& queue() { return queue_; }
  const Ring& subring();  // a quarter of the degree

  // Memory of the current case.
  PolyView input(const Basis& basis, Domain domain);
  PolyView subring_input(const Basis& basis, Domain domain);
  PolyView output(const Basis& basis, Domain domain);
  PolyView in_out(const Basis& basis, Domain domain);
  // The same memory, which the case left in another domain: the physical order may differ between
  // domains.
  PolyView in_out(const Basis& basis, Domain from, Domain to);
  const std::int64_t* integers();
  const double* slots(int count);      // complex numbers in the unit box
  double* numbers(std::size_t count);  // between operations of a case: not compared
  const SlotTransform& slot_transform() const { return slot_transform_; }
  // Arrays of polynomials and LWE ciphertexts (with gaps between them).
  PolyArray input_array(const Basis& basis, Domain domain, std::uint32_t count);
  PolyArray output_array(const Basis& basis, Domain domain, std::uint32_t count);
  LweView input_lwe(std::uint32_t modulus, std::uint32_t dimension, std::uint32_t count);
  LweView output_lwe(std::uint32_t modulus, std::uint32_t dimension, std::uint32_t count);

  void begin(SharedInputs* inputs);  // drops the memory of the last case
  void reset();                      // inputs as they were, outputs and guards poisoned
  // Words of every output; `error` names a guard limb that was written.
  std::vector<Words> results(std::string& error);
  std::string changed_inputs();  // empty, or which read-only input was written
  Observed observed(const std::vector<Words>& results);  // refers to `results` and the inputs

 private:
  struct Slot {
    Poly memory;                  // a guard limb, the words, a guard limb
    std::vector<PolyView> views;  // none: LWE ciphertexts
    LweView lwe;
    int words;  // index into the shared inputs; -1 for outputs
    bool written;
    Domain result;  // of a written view, after the case
  };
  Slot& add(const Ring& ring, const Basis& basis, Domain domain, std::uint32_t count, bool read,
            bool written);
  LweView add_lwe(std::uint32_t modulus, std::uint32_t dimension, std::uint32_t count, bool read);
  Words& new_words(Slot& slot);  // of the slot's input; empty if they must be made
  Words read(const Slot& slot, Domain domain);
  template <class T>
  const T* upload(const std::vector<T>& values);

  Queue queue_;
  std::unique_ptr<rlwe::Constants> constants_;
  std::unique_ptr<Ring> own_ring_, subring_;
  const Ring* ring_;
  SharedInputs* inputs_ = nullptr;
  SlotTransform slot_transform_;
  std::size_t next_words_ = 0, next_integers_ = 0, next_slots_ = 0;
  std::vector<Slot> slots_;
  std::vector<Buffer> number_buffers_;
};

// Cases of one ring, over `basis` (at least two primes for all of them).
std::vector<Case> ring_cases(const Ring& ring, const Basis& basis);
// The records of TFHE, over the ring's first prime and its first two.
std::vector<Case> lwe_cases(const Ring& ring);
// Cases of one level of a parameter set, and those that belong to the set as a whole.
std::vector<Case> level_cases(const Params& params, int level);
std::vector<Case> set_cases(const Params& params);

}  // namespace latticino::conformance
