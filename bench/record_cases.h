// The operation records that are measured, at one degree and number of limbs: each case makes the
// operation for the k-th of several buffer sets.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/queue.h"

namespace latticino::bench {

struct Case {
  std::string name;
  std::function<std::vector<Operation>(int set)> make;  // usually one operation
};

// The shapes of hybrid key switching: `limbs` primes of Q, `aux` of P, digits of `aux` primes.
class Shapes {
 public:
  Shapes(Queue& queue, const Ring& ring, int limbs, int aux);

  // Number of buffer sets: enough that one round over all of them is several times the cache.
  int sets() const { return sets_; }
  std::vector<Case> cases();
  // `batch` rotations by one key as one record a pass; the k-th case works on sets k batch and on.
  Case rotations(int batch);
  // `count` rotations of one ciphertext by as many keys, whose digits are made once. The k-th case
  // works on the sets from k count on.
  Case hoisted(int count);
  // The passes of so many rotations, or products, by one key, each alone, and all together.
  std::vector<Case> batched_passes(int batch);

 private:
  PolyView poly(const std::string& role, int set, const Basis& basis, Domain domain);
  void add_transforms(std::vector<Case>& out);
  void add_elementwise(std::vector<Case>& out);
  void add_products(std::vector<Case>& out);
  void add_lifts(std::vector<Case>& out);
  void add_key_switch(std::vector<Case>& out);
  void add_one_digit(std::vector<Case>& out);
  void add_rescale(std::vector<Case>& out);
  double* slots(int set);
  Operation embed(int set, const PolyView& out);
  std::vector<Operation> switched(int k, int batch, bool products);
  Operation mod_up(int set);
  std::vector<std::array<PolyView, 2>> key(int set);
  Operation key_inner(int set);
  Operation key_inner_product(int set);
  Operation mod_down(int set);
  Operation subtract(int set, std::uint32_t galois);
  std::vector<std::uint32_t> constants(const Basis& basis) const;

  Queue& queue_;
  const Ring& ring_;
  SlotTransform slot_transform_;
  Basis q_, p_, all_;
  Basis leaving_, staying_;  // for a rescaling by two primes
  Basis one_p_;  // for key switching with one digit: as many primes of P as the digit has, or fewer
  int sets_;
  std::vector<Basis> digits_;
  std::vector<std::unique_ptr<BaseConversion>> up_;
  std::unique_ptr<BaseConversion> down_, rescale_, one_up_, one_down_;
  std::map<std::string, Poly> polys_;
};

}  // namespace latticino::bench
