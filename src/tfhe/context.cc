#include "tfhe/context.h"

#include <algorithm>
#include <limits>
#include <string>

#include "math/errors.h"

namespace latticino::tfhe {
namespace {

// The number of bytes of so many words, which 32-bit addresses may not reach.
std::size_t bytes_of(std::uint64_t words, std::uint32_t count) {
  const std::uint64_t bytes = sizeof(std::uint32_t) * words * count;
  if (bytes <= std::numeric_limits<std::size_t>::max()) return static_cast<std::size_t>(bytes);
  throw OutOfMemoryError("allocate", "addresses of 32 bits", std::to_string(bytes) + " bytes",
                         "use fewer values at a time");
}

}  // namespace

std::shared_ptr<const Context> Context::create(std::shared_ptr<const TfheParams> params,
                                               std::shared_ptr<Queue> queue,
                                               const ArithmeticRule& arithmetic, bool rerandomize) {
  if (arithmetic.can_use(BlindRotateArithmetic::Fft64)) {
    const fourier::Refusal refusal = params->fourier_refusal();
    if (!refusal.empty()) {
      throw ParameterError("tfhe.context", refusal.had + " for " + params->name() + " in FP64",
                           refusal.needs, "use exact arithmetic, or another set");
    }
  }
  if (arithmetic.ranges().size() > 1 && params->literal().primes.size() > 1) {
    throw ParameterError(
        "tfhe.context", "arithmetic by number of ciphertexts for " + params->name(),
        "a set over one prime, where both arithmetics give the same words", "choose one of them");
  }
  std::shared_ptr<Context> context(new Context);
  context->arithmetic_ = arithmetic;
  context->rerandomizes_ = rerandomize;
  context->ring_ = std::make_unique<Ring>(params->log_n(), params->literal().primes);
  context->params_ = std::move(params);
  context->queue_ = std::move(queue);
  return context;
}

std::shared_ptr<const Context> Context::create_dry(std::shared_ptr<const TfheParams> params,
                                                   const ArithmeticRule& arithmetic,
                                                   bool rerandomize) {
  return create(std::move(params), Queue::dry(), arithmetic, rerandomize);
}

// Frees tables that the backend keeps for the ring, while the backend still exists.
Context::~Context() { ring_.reset(); }

Context::Lwe Context::allocate(std::uint32_t dimension, std::uint32_t count,
                               std::uint32_t modulus) const {
  constexpr std::size_t kAlignment = 16;  // in words: ciphertexts begin at whole cache lines
  Lwe lwe;
  lwe.view.modulus = modulus == 0 ? params_->lwe_modulus() : modulus;
  lwe.view.dimension = dimension;
  lwe.view.count = count;
  lwe.view.stride = (dimension + kAlignment) / kAlignment * kAlignment;
  lwe.buffer = queue_->allocate(bytes_of(lwe.view.stride, count));
  lwe.view.data = lwe.buffer->words();
  return lwe;
}

double Context::log_failure() const {
  const std::lock_guard lock(failure_mutex_);
  return log_failure_;
}

// Logarithms, because probabilities may be far below what a double can hold.
void Context::add_failure(double log_failure, std::uint32_t count) const {
  const std::lock_guard lock(failure_mutex_);
  const double added = log_failure + std::log2(count), larger = std::max(added, log_failure_);
  log_failure_ = larger + std::log2(1 + std::exp2(std::min(added, log_failure_) - larger));
}

Context::Polys Context::allocate_polys(std::uint32_t count, Domain domain) const {
  Polys polys;
  const auto words = static_cast<std::uint64_t>(ring_->n()) * ring_->prime_count();
  polys.buffer = queue_->allocate(bytes_of(words, count));
  polys.view = {PolyView::contiguous(polys.buffer->words(), *ring_, basis(), domain), count};
  return polys;
}

}  // namespace latticino::tfhe
