// Blind rotation step by step: all ciphertexts of a batch go through a step together (paper:
// Chameleon, Sec. 4: one pass over the key for a batch), in any ring. The accumulators are `out`;
// digits and products pass through memory between launches. A step has three launches if a block of
// the transform also makes digits and sums, five if it only transforms.
#include <algorithm>

#include "backend/cuda/launch/dispatch.h"
#include "backend/cuda/ntt/block.h"
#include "backend/cuda/rotate/blind_rotate.cuh"
#include "backend/cuda/rotate/steps.cuh"

namespace latticino::cuda {
namespace {

constexpr std::size_t kScratchBytes = std::size_t{256} << 20;
// Up to this degree, the registers of a block hold its transform and what is needed to make digits.
constexpr int kLastFusedDegree = 13;

__global__ void __launch_bounds__(kStepThreads)
    rotate_begin(const __grid_constant__ StepArgs a, int primes) {
  begin_rotation(a, primes);
}
template <int PRIMES>
__global__ void __launch_bounds__(kStepThreads) rotate_digits(const __grid_constant__ StepArgs a) {
  digits_of_step<PRIMES>(a);
}
__global__ void __launch_bounds__(kStepThreads)
    rotate_products(const __grid_constant__ StepArgs a, int primes) {
  products_of_step(a, primes);
}
__global__ void __launch_bounds__(kStepThreads)
    rotate_add(const __grid_constant__ StepArgs a, int primes) {
  add_to_accumulators(a, primes);
}
template <class B, int PRIMES>
__global__ void __launch_bounds__(B::kThreads, B::kMinBlocks)
    rotate_transform_digits(const __grid_constant__ StepArgs a) {
  transform_digits<B, PRIMES>(a);
}
template <class B>
__global__ void __launch_bounds__(B::kThreads, B::kMinBlocks)
    rotate_transform_and_add(const __grid_constant__ StepArgs a) {
  transform_and_add<B>(a);
}

// An array of polynomials, and the form in which it is transformed in place.
struct StepArray {
  TransformPair first;
  int form;

  StepArray(Launcher& launcher, const BlindRotate& op, std::uint32_t* data, std::uint32_t count,
            Domain from, Domain to) {
    const PolyView view =
        PolyView::contiguous(data, *op.key.first.ring, op.key.first.basis(), from);
    first = {view, view.in(to), {}, count};
    form = array_form(launcher, first);
  }
  void transform(Launcher& launcher) const { transform_array(launcher, first, form); }
};

// Launches of the steps of some ciphertexts.
class Steps {
 public:
  Steps(Launcher& launcher, const StepArgs& args, int log_n, int primes, unsigned count)
      : launcher_(launcher), a_(args), log_n_(log_n), primes_(primes), count_(count) {}

  void begin() { entries(rotate_begin, polys(), kStepThreads, a_, primes_); }

  // Runs one step. Transforms by blocks of one polynomial take digits directly from the
  // accumulators, and add to them.
  void run(std::uint32_t step, const StepArray& digits, const StepArray& products) {
    a_.step = step;
    if (fused(digits)) {
      limbs(a_.rotate.rows(), [&](auto log_n, const Shape& shape) {
        using B = BlockShape<decltype(log_n)::value, false>;
        launcher_.launch(
            primes_ == 1 ? rotate_transform_digits<B, 1> : rotate_transform_digits<B, 2>, shape,
            a_);
      });
    } else {
      entries(primes_ == 1 ? rotate_digits<1> : rotate_digits<2>,
              static_cast<unsigned>(a_.rotate.parts), kStepThreads, a_);
      digits.transform(launcher_);
    }
    entries(rotate_products, polys(), 4 * kStepThreads, a_, primes_);
    if (fused(products)) {
      limbs(a_.rotate.parts, [&](auto log_n, const Shape& shape) {
        using B = BlockShape<decltype(log_n)::value, false>;
        launcher_.launch(rotate_transform_and_add<B>, shape, a_);
      });
    } else {
      products.transform(launcher_);
      entries(rotate_add, polys(), kStepThreads, a_, primes_);
    }
  }

 private:
  bool fused(const StepArray& array) const {
    return array.form == kOneBlock && log_n_ <= kLastFusedDegree;
  }
  unsigned polys() const { return static_cast<unsigned>(a_.rotate.parts * primes_); }

  // The shape of a block for so many entries of each polynomial.
  template <class Kernel, class... Args>
  void entries(Kernel kernel, unsigned polys, int each, const Args&... args) {
    const auto n = 1u << log_n_;
    launcher_.launch(kernel, {dim3((n + each - 1) / each, polys, count_), dim3(kStepThreads)},
                     args...);
  }

  // A grid with one block for each limb of so many polynomials of a ciphertext.
  template <class Launch>
  void limbs(int polys, const Launch& launch) {
    dispatch<kFirstBlockDegree, kLastFusedDegree>(log_n_, [&](auto log_n) {
      using B = BlockShape<decltype(log_n)::value, false>;
      const dim3 grid(count_ * static_cast<unsigned>(polys), static_cast<unsigned>(primes_));
      launch(log_n, Shape{grid, dim3(B::kThreads), block_bytes(B::kLogN)});
    });
  }

  Launcher& launcher_;
  StepArgs a_;
  int log_n_, primes_;
  unsigned count_;
};

}  // namespace

void launch_rotate_steps(Launcher& launcher, const BlindRotate& op, const RotateArgs& args) {
  const Ring& ring = *op.key.first.ring;
  const int primes = op.key.first.basis().size();
  const auto rows = static_cast<std::uint32_t>(args.rows());
  const auto parts = static_cast<std::uint32_t>(args.parts);
  const std::size_t limb = sizeof(std::uint32_t) << ring.log_n();
  const std::size_t each = limb * primes * (rows + parts);
  const auto part =
      static_cast<std::uint32_t>(std::clamp<std::size_t>(kScratchBytes / each, 1, args.total));
  const Scratch scratch = launcher.scratch(each * part);
  StepArgs a{args, row_view(launcher, ring), 0, 0, scratch.as<std::uint32_t>(), nullptr};
  a.product = a.digits + std::size_t(part) * rows * primes * ring.n();
  for (; a.first < args.total; a.first += part) {
    const unsigned count = std::min(part, args.total - a.first);
    const StepArray digits(launcher, op, a.digits, count * rows, Domain::Coeff, Domain::Eval);
    const StepArray products(launcher, op, a.product, count * parts, Domain::Eval, Domain::Coeff);
    Steps steps(launcher, a, ring.log_n(), primes, count);
    steps.begin();
    for (std::uint32_t step = 0; step < args.steps; ++step) steps.run(step, digits, products);
  }
}

}  // namespace latticino::cuda
