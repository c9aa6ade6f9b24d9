#include "ckks/context.h"

#include "ckks/encoding/encoder.h"

namespace latticino::ckks {

std::shared_ptr<const Context> Context::create(std::shared_ptr<const Params> params,
                                               std::shared_ptr<Queue> queue) {
  std::shared_ptr<Context> context(new Context);
  context->constants_ = std::make_unique<rlwe::Constants>(std::move(params));
  context->queue_ = std::move(queue);
  context->encoder_ = std::make_unique<Encoder>(*context->constants_);
  return context;
}

std::shared_ptr<const Context> Context::create_dry(std::shared_ptr<const Params> params) {
  return create(std::move(params), Queue::dry());
}

// Frees tables that the backend keeps for rings and constants, while the backend still exists.
Context::~Context() {
  subrings_.clear();
  constants_.reset();
}

const Ring& Context::subring(int log_n) const {
  const std::lock_guard lock(subrings_mutex_);
  std::unique_ptr<const Ring>& made = subrings_[log_n];
  if (made == nullptr) made = std::make_unique<const Ring>(log_n, ring().primes());
  return *made;
}

}  // namespace latticino::ckks
