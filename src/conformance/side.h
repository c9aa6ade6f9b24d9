// One of the two backends that are compared (a side), and the cases that run on it.
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

// The data that a case read and wrote, on the host, in the order in which the case asked for them.
struct Observed {
  struct Array {
    Array(const Ring& ring, const Basis& basis, Domain domain, const Words& words);
    Basis basis;
    Domain domain;
    const std::uint32_t* limb(int prime) const { return limbs_[prime]; }

   private:
    // Indexed by prime of the ring; null for primes without a limb.
    std::vector<const std::uint32_t*> limbs_;
  };
  const Ring* ring = nullptr;
  std::size_t n = 0;
  std::vector<Array> inputs, outputs;                   // for polynomials only
  std::vector<const Words*> input_words, output_words;  // words of all kinds
  const std::vector<std::vector<std::int64_t>>* integers = nullptr;
  const std::vector<std::vector<double>>* slots = nullptr;  // for slots: pairs of doubles
};

class Side;

struct Case {
  std::string record, name;
  std::function<std::vector<Operation>(Side&)> build;
  // Returns an empty text, or what is wrong with the results (for random inputs).
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
  const Ring& subring();  // a ring of a quarter of the degree

  // Memory of the current case.
  PolyView input(const Basis& basis, Domain domain);
  PolyView subring_input(const Basis& basis, Domain domain);
  PolyView output(const Basis& basis, Domain domain);
  PolyView in_out(const Basis& basis, Domain domain);
  // The same memory for data that the case left in another domain, whose physical order may differ.
  PolyView in_out(const Basis& basis, Domain from, Domain to);
  const std::int64_t* integers();
  const double* slots(int count);  // complex numbers in the unit box
  // Scratch between operations of a case, which is not compared.
  double* numbers(std::size_t count);
  const SlotTransform& slot_transform() const { return slot_transform_; }
  // Arrays of polynomials and of LWE ciphertexts. There are gaps between the ciphertexts.
  PolyArray input_array(const Basis& basis, Domain domain, std::uint32_t count);
  PolyArray output_array(const Basis& basis, Domain domain, std::uint32_t count);
  LweView input_lwe(std::uint32_t modulus, std::uint32_t dimension, std::uint32_t count);
  LweView output_lwe(std::uint32_t modulus, std::uint32_t dimension, std::uint32_t count);

  void begin(SharedInputs* inputs);  // releases the memory of the last case
  void reset();                      // resets inputs, and poisons outputs and guards
  // Returns the words of every output. `error` names a guard limb that was written.
  std::vector<Words> results(std::string& error);
  std::string changed_inputs();  // returns an empty text, or which read-only input was written
  // Its result refers to `results` and to the inputs.
  Observed observed(const std::vector<Words>& results);

 private:
  struct Slot {
    Poly memory;                  // a guard limb, the words, a guard limb
    std::vector<PolyView> views;  // none for LWE ciphertexts
    LweView lwe;
    int words;  // index into the shared inputs; -1 for outputs
    bool written;
    Domain result;  // domain of a written view after the case
  };
  Slot& add(const Ring& ring, const Basis& basis, Domain domain, std::uint32_t count, bool read,
            bool written);
  LweView add_lwe(std::uint32_t modulus, std::uint32_t dimension, std::uint32_t count, bool read);
  Words& new_words(Slot& slot);  // the input of the slot; empty if it must be made
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
