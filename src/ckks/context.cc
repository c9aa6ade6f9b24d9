#include "ckks/context.h"

#include "ckks/encoder.h"

namespace latticino::ckks {

std::shared_ptr<const Context> Context::create(std::shared_ptr<const Params> params,
                                               std::unique_ptr<Queue> queue) {
  std::shared_ptr<Context> context(new Context);
  context->constants_ = std::make_unique<rlwe::Constants>(std::move(params));
  context->queue_ = std::move(queue);
  context->encoder_ = std::make_unique<Encoder>(*context->constants_);
  return context;
}

std::shared_ptr<const Context> Context::create_dry(std::shared_ptr<const Params> params) {
  return create(std::move(params), Queue::dry());
}

// Tables that the backend keeps beside the constants go while the backend is alive.
Context::~Context() { constants_.reset(); }

}  // namespace latticino::ckks
