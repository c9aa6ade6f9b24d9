// Polynomials with small secret coefficients on a device: secrets and errors.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "rlwe/client.h"
#include "runtime/queue.h"

namespace latticino::rlwe {

// The same integer polynomial reduced into every prime of `basis`, in `domain`; secret blocks.
Poly secret_poly(Queue& queue, const Ring& ring, const Basis& basis,
                 std::span<const std::int64_t> coefficients, Domain domain = Domain::Eval);
Poly secret_poly(Queue& queue, const Ring& ring, const Basis& basis,
                 std::span<const std::int8_t> coefficients, Domain domain = Domain::Eval);

// Fresh error polynomials, Eval, from one fresh seed: the backend samples them (SampleGaussian).
std::vector<Poly> error_polys(Queue& queue, const Ring& ring, const Basis& basis, Random& random,
                              std::size_t count);
Poly error_poly(Queue& queue, const Ring& ring, const Basis& basis, Random& random);

// out = sum of factor * view. `out` may be one of the views.
struct Multiple {
  PolyView view;
  std::int32_t factor = 1;
};
void combine(Queue& queue, const PolyView& out, std::initializer_list<Multiple> sum);

// x y over `basis`, in Eval, in a secret block.
Poly secret_product(Queue& queue, const PolyView& x, const PolyView& y, const Basis& basis);

// A key for switch_one_digit: the product of `aux` times `target` on the primes of `base`, under
// the secret `under` (both Eval, over all those primes).
OneDigitKey make_one_digit_key(const Constants& constants, Queue& queue, const PolyView& under,
                               const PolyView& target, const Basis& base, const Basis& aux,
                               Random& random);

// Throws ContextError unless the parameters agree.
void require_params(const char* operation, const Constants& constants, const std::string& hash);

}  // namespace latticino::rlwe
