#include "switch/keys.h"

#include <bit>

#include "math/errors.h"
#include "switch/matvec.h"

namespace latticino::switching {

std::size_t SwitchKeys::bytes() const {
  std::size_t total = to_ring.bytes() + to_sparse.bytes() + tfhe->bytes() + packing->bytes();
  for (const auto& [shape, key] : matvec) total += key.bytes();
  return total;
}

std::size_t MatvecKey::bytes() const {
  std::size_t total = 0;
  for (const rlwe::OneDigitKey& key : diagonals) total += key.bytes();
  return total;
}

int MatvecShape::diagonals(const SwitchParams& params) const {
  const auto power = [](int x) { return x > 0 && std::has_single_bit(static_cast<unsigned>(x)); };
  const std::int64_t columns = std::int64_t{params.n()} * rows;
  if (!power(rows) || !power(slots) || slots < rows || slots > params.ckks().max_slots() ||
      slots > columns) {
    throw ShapeError(
        "switching.matvec", std::to_string(rows) + " rows in " + std::to_string(slots) + " slots",
        "powers of two, rows <= slots <= N/2 and N' rows", "take a shape of matvec_shapes()");
  }
  return static_cast<int>(columns / slots);
}

MatvecKey allocate_matvec_key(const Context& context, const MatvecShape& shape) {
  const MatvecPlan plan = plan_matvec(context.params(), shape);
  const Queue::Keeping keeping(context.queue());
  MatvecKey key;
  key.diagonals.resize(static_cast<std::size_t>(plan.diagonals));
  for (rlwe::OneDigitKey& pair : key.diagonals) {
    for (Poly& part : pair.parts) {
      part = context.queue().allocate(context.ckks()->ring(),
                                      context.params().ckks().basis(plan.level), Domain::Eval);
    }
  }
  return key;
}

std::vector<std::uint32_t> packing_elements(const SwitchParams& params) {
  std::vector<std::uint32_t> out;
  for (int i = 2; i <= params.literal().log_n; ++i) out.push_back((1u << i) + 1);
  return out;
}

std::shared_ptr<SwitchKeys> allocate_switch_keys(const Context& context,
                                                 std::span<const MatvecShape> shapes) {
  const SwitchParams& params = context.params();
  const Queue::Keeping keeping(context.queue());
  const auto one_digit = [&](const Basis& basis) {
    rlwe::OneDigitKey key;
    for (Poly& part : key.parts) {
      part = context.queue().allocate(context.ckks()->ring(), basis, Domain::Eval);
    }
    return key;
  };
  auto keys = std::make_shared<SwitchKeys>();
  keys->params_hash = params.hash();
  keys->to_ring = one_digit(params.lwe_basis().with(params.key_aux()));
  keys->to_sparse = one_digit(params.ckks().encapsulation_basis());
  keys->tfhe = tfhe::allocate_server_keys(*context.tfhe(), {});
  auto packing = std::make_shared<rlwe::EvaluationKeys>(rlwe::KeyId{}, params.packing()->hash());
  const rlwe::KeyRecorder recorder(context.packing());
  for (const std::uint32_t g : packing_elements(params)) {
    rlwe::SwitchKey key = recorder.get({rlwe::KeyKind::Galois, g}, 0);
    for (auto& digit : key.digits) {
      for (Poly& part : digit) {
        part = context.queue().allocate(context.packing().ring(), part.view.basis(), Domain::Eval);
      }
    }
    packing->insert(std::move(key));
  }
  keys->packing = std::move(packing);
  for (const MatvecShape& shape : shapes) {
    keys->matvec.emplace(shape, allocate_matvec_key(context, shape));
  }
  return keys;
}

}  // namespace latticino::switching
