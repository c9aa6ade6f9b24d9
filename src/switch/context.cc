#include "switch/context.h"

#include "math/errors.h"

namespace latticino::switching {

std::shared_ptr<const Context> Context::create(std::shared_ptr<const SwitchParams> params,
                                               std::shared_ptr<const ckks::Context> ckks) {
  if (ckks->params().hash() != params->ckks().hash()) {
    throw ContextError("switching.context", "a context of the set " + ckks->params().name(),
                       "the set " + params->ckks().name() + " of " + params->name(),
                       "make the CKKS context with that set");
  }
  std::shared_ptr<Context> context(new Context);
  context->tfhe_ = tfhe::Context::create(
      params->tfhe(), ckks->shared_queue(),
      params->literal().fourier ? BlindRotateArithmetic::Fft64 : BlindRotateArithmetic::Exact);
  context->packing_ = std::make_unique<rlwe::Constants>(params->packing());
  context->ckks_ = std::move(ckks);
  context->params_ = std::move(params);
  return context;
}

const Ring& Context::subring() const {
  return params_->gap() == 1 ? ckks_->ring() : ckks_->subring(params_->literal().log_n);
}

PolyView seen_in(const PolyView& view, const Ring& ring, const Basis& basis) {
  const auto agree = [&] {
    if (view.ring->log_n() != ring.log_n() || view.limbs() != basis.size()) return false;
    for (int i = 0; i < basis.size(); ++i) {
      if (view.ring->prime(view.basis().prime(i)) != ring.prime(basis.prime(i))) return false;
    }
    return view.segments == 1;
  };
  if (!agree()) {
    throw ShapeError("switching.seen_in", view.str(), "the same primes in one run, equal degrees",
                     "convert it first");
  }
  // The view starts at its own first limb. So views of polynomials of one buffer differ only in
  // their addresses, and backends can launch them together.
  std::uint32_t* data = view.data;
  if (data != nullptr) data += std::size_t{view.segment[0].limb} * ring.n();
  return PolyView::contiguous(data, ring, basis, view.domain);
}

}  // namespace latticino::switching
