// Generation of switching and public keys.
#include <utility>

#include "math/errors.h"
#include "rlwe/client.h"
#include "rlwe/galois.h"
#include "rlwe/secret_poly.h"

namespace latticino::rlwe {
namespace {

// (b, a) with a expanded from (seed, stream) and b = e - a s: an encryption of zero under the
// secret whose negative is `minus_secret` (Eval, at least `basis`).
std::array<Poly, 2> encrypt_zero(Queue& queue, const Ring& ring, const Basis& basis,
                                 const PolyView& minus_secret, const Seed& seed,
                                 std::uint64_t stream, Random& random) {
  const Poly a = queue.allocate(ring, basis, Domain::Eval);
  queue.submit(ExpandUniform{{{.seed = seed, .stream = stream, .out = a.view}}});
  const Poly error = error_poly(queue, ring, basis, random);
  const Poly product = secret_product(queue, a.view, minus_secret, basis);
  const Poly b = queue.allocate(ring, basis, Domain::Eval);
  combine(queue, b.view, {{product.view}, {error.view}});
  return {b, a};
}

Poly negated(Queue& queue, const PolyView& x) {
  const Poly out = queue.allocate(*x.ring, x.basis(), Domain::Eval, true);
  combine(queue, out.view, {{x, -1}});
  return out;
}

// out += factor x on `where`; `factor` is indexed by ring prime.
void add_multiple(Queue& queue, const PolyView& out, const PolyView& x, const Basis& where,
                  const std::vector<std::uint32_t>& factor) {
  Linear::Term term{.x = x.select(where)};
  for (int i = 0; i < where.size(); ++i) term.residues.push_back(factor[where.prime(i)]);
  const PolyView target = out.select(where);
  queue.submit(Linear{{{.terms = {{.x = target}, std::move(term)}, .out = target}}});
}

Poly automorphism(Queue& queue, const PolyView& x, const Basis& basis, std::uint32_t galois) {
  const Poly out = queue.allocate(*x.ring, basis, Domain::Eval, true);
  queue.submit(
      Automorphism{{{.terms = {{.x = x.select(basis), .galois = galois}}, .out = out.view}}});
  return out;
}

// All primes of Q, which is the union of the levels, without P.
Basis all_q(const Constants& constants) {
  const Params& params = constants.params();
  return constants.key_basis(params.top_level()).without(params.aux_basis());
}

}  // namespace

OneDigitKey make_one_digit_key(const Constants& constants, Queue& queue, const PolyView& under,
                               const PolyView& target, const Basis& base, const Basis& aux,
                               Random& random) {
  const Basis basis = base.with(aux);
  OneDigitKey key{{}, random.seed()};
  key.parts = encrypt_zero(queue, constants.ring(), basis, negated(queue, under.select(basis)).view,
                           key.seed, 0, random);
  add_multiple(queue, key.parts[0].view, target, base, constants.product_on(aux, base));
  return key;
}

// What a key encrypts, under which secret and over which primes: `target`, multiplied by `factor`
// on the primes of each digit.
struct KeyGenerator::Relation {
  Poly minus_under, target;
  const std::vector<std::uint32_t>* factor = nullptr;
  Basis factor_basis;  // the primes that have a factor
  bool one_digit = false;
};

KeyGenerator::KeyGenerator(const Constants& constants, Queue& queue, const SecretKey& secret,
                           Random& random)
    : constants_(constants), queue_(queue), secret_(secret), random_(random) {
  require_params("rlwe.generate_key", constants, secret.params().hash());
}

KeyGenerator::Relation KeyGenerator::relation(const KeyLabel& label, int level,
                                              const Basis& basis) {
  const Ring& ring = constants_.ring();
  const Params& params = constants_.params();
  if (dense_.buffer == nullptr) {
    const Basis whole{{0, static_cast<std::uint16_t>(ring.prime_count())}};
    dense_ = secret_poly(queue_, ring, whole, secret_.coefficients());
  }
  const PolyView s = dense_.view.select(basis);
  Relation r;
  r.factor = &constants_.p_mod(level);
  r.factor_basis = basis.without(params.key_layout(level).aux);
  switch (label.kind) {
    case KeyKind::Relinearize:
      r.minus_under = negated(queue_, s);
      r.target = secret_product(queue_, s, s, basis);
      break;
    case KeyKind::Galois: {
      const std::uint32_t inverse = inverse_element(label.galois, params.log_n());
      r.minus_under = negated(queue_, automorphism(queue_, s, basis, inverse).view);
      r.target = {dense_.buffer, s};
      break;
    }
    case KeyKind::DenseToSparse:
      r.minus_under =
          negated(queue_, secret_poly(queue_, ring, basis, secret_.sparse_coefficients()).view);
      r.target = {dense_.buffer, s};
      r.factor = &constants_.encapsulation_p_mod();
      r.factor_basis = params.basis(0);
      r.one_digit = true;
      break;
    case KeyKind::OverRaise: {
      const std::uint32_t inverse = inverse_element(label.galois, params.log_n());
      r.minus_under = negated(queue_, automorphism(queue_, s, basis, inverse).view);
      r.target = secret_poly(queue_, ring, basis, secret_.sparse_coefficients());
      r.factor = &constants_.over_raise_p_mod();
      r.factor_basis = basis.without(params.aux_basis()).with(params.over_raise_basis());
      r.one_digit = true;
      break;
    }
    case KeyKind::SparseToDense:
      r.minus_under = negated(queue_, s);
      r.target = secret_poly(queue_, ring, basis, secret_.sparse_coefficients());
      r.one_digit = true;
      break;
  }
  return r;
}

SwitchKey KeyGenerator::make(const KeyLabel& label, int level) {
  key_shape(constants_, label, level);  // throws before any randomness is drawn
  return make(label, level, random_.seed());
}

SwitchKey KeyGenerator::make(const KeyLabel& label, int level, const Seed& seed) {
  const KeyShape shape = key_shape(constants_, label, level);
  const Relation r = relation(label, level, shape.basis);
  const std::vector<Basis>& digits = constants_.params().key_layout(level).digits;
  SwitchKey key;
  key.label = label;
  key.level = level;
  key.digit_index = shape.digits;
  key.seed = seed;
  for (const int digit : shape.digits) {
    auto pair = encrypt_zero(queue_, constants_.ring(), shape.basis, r.minus_under.view, key.seed,
                             static_cast<std::uint64_t>(digit), random_);
    const Basis where = r.one_digit ? r.factor_basis : digits[digit].intersect(r.factor_basis);
    add_multiple(queue_, pair[0].view, r.target.view, where, *r.factor);
    key.digits.push_back(std::move(pair));
  }
  return key;
}

std::shared_ptr<EvaluationKeys> KeyGenerator::make(const KeyRequest& request) {
  auto keys = std::make_shared<EvaluationKeys>(secret_.id(), constants_.params().hash());
  for (const auto& [label, level] : request) keys->insert(make(label, level));
  return keys;
}

PublicKey make_public_key(const Constants& constants, Queue& queue, const SecretKey& secret,
                          Random& random) {
  require_params("rlwe.public_key", constants, secret.params().hash());
  const Ring& ring = constants.ring();
  const Basis basis = all_q(constants);
  const Poly s = secret_poly(queue, ring, basis, secret.coefficients());
  PublicKey key{secret.id(), constants.params().hash(), {}, random.seed()};
  key.parts = encrypt_zero(queue, ring, basis, negated(queue, s.view).view, key.seed, 0, random);
  return key;
}

}  // namespace latticino::rlwe
