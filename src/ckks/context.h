#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "params/params.h"
#include "rlwe/constants.h"
#include "runtime/queue.h"

namespace latticino::ckks {

class Encoder;

// Parameters on a device. Owns no secret. Immutable, apart from caches. Threads may share it.
class Context {
 public:
  static std::shared_ptr<const Context> create(std::shared_ptr<const Params> params,
                                               std::shared_ptr<Queue> queue);
  // The same parameters on a dry queue: every algorithm runs on it, but computes no data.
  static std::shared_ptr<const Context> create_dry(std::shared_ptr<const Params> params);
  ~Context();

  const Params& params() const { return constants_->params(); }
  std::shared_ptr<const Params> shared_params() const { return constants_->shared_params(); }
  const rlwe::Constants& constants() const { return *constants_; }
  const Ring& ring() const { return constants_->ring(); }
  // The same primes, degree 2^log_n: for polynomials in X^(N/2^log_n). Made when first asked for.
  const Ring& subring(int log_n) const;
  Queue& queue() const { return *queue_; }
  // For a context of TFHE on the same backend.
  const std::shared_ptr<Queue>& shared_queue() const { return queue_; }
  const Encoder& encoder() const { return *encoder_; }
  bool is_dry() const { return queue_->is_dry(); }

 private:
  Context() = default;
  std::unique_ptr<rlwe::Constants> constants_;
  std::shared_ptr<Queue> queue_;
  std::unique_ptr<Encoder> encoder_;
  mutable std::mutex subrings_mutex_;
  mutable std::map<int, std::unique_ptr<const Ring>> subrings_;
};

}  // namespace latticino::ckks
