#include "bitpacker/bitpacker_errors.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "support/world.h"

namespace latticino::bench {
namespace {

constexpr double kFullSize = 40;  // log2 of the scale up to which messages have size 1

class Sampler {
 public:
  Sampler(const std::shared_ptr<const Params>& params, std::unique_ptr<Backend> backend)
      : world_(params, std::move(backend)), params_(*params) {
    world_.make_keys({});
  }

  DivisionErrors run(int samples) {
    while (static_cast<int>(rescale_.size()) < samples) add();
    return {bits_of(rescale_), bits_of(adjust_)};
  }

 private:
  void add() {
    const ckks::Evaluator& e = world_.evaluator();
    std::vector<Complex> z = world_.message("complex", params_.max_slots());
    const double size = std::exp2(std::min(0.0, kFullSize - std::log2(params_.scale(1))));
    for (Complex& x : z) x *= size;
    const Ciphertext x = world_.encrypt(z, 1);
    const Ciphertext product = e.multiply_scalar_no_rescale(x, 1, params_.scale(1));
    append(product, e.rescale(product), rescale_);
    // to_level() would only drop limbs where both scales are equal.
    const double up = params_.scale(0) * params_.rescale_factor(1) / x.scale;
    append(x, e.rescale(e.multiply_scalar_no_rescale(x, 1, up)), adjust_);
  }

  void append(const Ciphertext& before, const Ciphertext& after, std::vector<double>& to) const {
    const std::vector<Complex> want = world_.decrypt(before), have = world_.decrypt(after);
    for (std::size_t i = 0; i < want.size(); ++i) to.push_back(std::abs(have[i] - want[i]));
  }

  ErrorBits bits_of(std::vector<double> errors) const {
    std::sort(errors.begin(), errors.end(), std::greater<>());
    const auto at = [&](double part) {
      const double index = part * static_cast<double>(errors.size() - 1);
      return -std::log2(errors[static_cast<std::size_t>(index + 0.5)]);
    };
    double sum = 0;
    for (const double x : errors) sum += x * x;
    ErrorBits out{at(0), at(0.25), at(0.5), at(0.75), at(1)};
    out.samples = static_cast<int>(errors.size());
    out.rms = -std::log2(sum / out.samples) / 2;
    const double variance = params_.n() * params_.division_variance(params_.leaving(1).size());
    out.predicted_rms = std::log2(params_.scale(0)) - std::log2(variance) / 2;
    return out;
  }

  World world_;
  const Params& params_;
  std::vector<double> rescale_, adjust_;
};

}  // namespace

DivisionErrors division_errors(const std::shared_ptr<const Params>& params,
                               std::unique_ptr<Backend> backend, int samples) {
  return Sampler(params, std::move(backend)).run(samples);
}

}  // namespace latticino::bench
