#include <algorithm>
#include <array>
#include <initializer_list>

#include "backend/cpu/executor.h"

namespace latticino::cpu {
namespace {

// A run of rows of one prime, for all digits and targets of a group.
struct Unit {
  const KeyInner::Group* group;
  int prime, first_row, rows;
};

class RowWorker {
 public:
  RowWorker(const CpuKernels& kernels, const RingTable& table, const KeyInner& op, const Unit& unit,
            std::uint32_t* scratch)
      : k_(kernels),
        table_(table),
        prime_(table.primes[unit.prime]),
        op_(op),
        u_(unit),
        count_(std::size_t(unit.rows) * prime_.cols()),
        offset_(std::size_t(unit.first_row) * prime_.cols()) {
    for (const KeyInner::Digit& digit : u_.group->digits) {
      const std::uint32_t* own = find_limb(digit.own, u_.prime);
      const std::uint32_t* rows = own != nullptr ? own : find_limb(digit.converted, u_.prime);
      rows += offset_;
      const bool product = own != nullptr && !u_.group->product.empty();
      const bool transform = own == nullptr && digit.converted.domain == Domain::Half;
      if (product) multiply(scratch, {{1, 1}});
      if (transform) k_.forward_rows(scratch, rows, u_.first_row, u_.rows, prime_);
      if (product || transform) {
        rows = scratch;
        scratch += count_;
      }
      digits_.push_back(rows);
      of_product_ = of_product_ || product;
    }
    keys_.resize(digits_.size());
    sum_ = scratch;
    add_ = scratch + count_;
  }

  void run(const KeyInner::Target& target, int h) {
    for (std::size_t j = 0; j < keys_.size(); ++j) {
      keys_[j] = find_limb(target.key[j][h], u_.prime) + offset_;
    }
    const std::uint32_t* add = find_limb(target.add[h], u_.prime);
    if (add != nullptr) add += offset_;
    if (of_product_) {
      if (h == 0) multiply(add_, {{0, 0}});
      if (h == 1) multiply(add_, {{0, 1}, {1, 0}});
      add = add_;
    }
    ShoupFactor factor;
    if (add != nullptr) factor = make_shoup(op_.add_factor[u_.prime], prime_.modulus);
    std::uint32_t* eval = find_limb(target.eval[h], u_.prime);
    std::uint32_t* out = eval != nullptr ? eval : find_limb(target.half[h], u_.prime);
    const bool permute = target.galois != 1;
    std::uint32_t* sum = permute ? sum_ : out + offset_;
    k_.multiply_accumulate(sum, digits_.data(), keys_.data(), static_cast<int>(keys_.size()), add,
                           factor, count_, prime_.modulus);
    if (eval == nullptr) {
      k_.inverse_rows(sum, sum, u_.first_row, u_.rows, prime_.one_over_cols, prime_);
    } else if (permute) {
      scatter_rows(k_, table_, prime_, out, sum, u_.first_row, u_.rows, target.galois);
    }
  }

 private:
  // Adds one part of a group's product to rows of a sum: a_i b_j over pairs (i, j).
  void multiply(std::uint32_t* out, std::initializer_list<std::array<int, 2>> pairs) {
    const std::uint32_t *a[2], *b[2];
    int terms = 0;
    for (const auto& [i, j] : pairs) {
      a[terms] = find_limb(u_.group->product.a[i], u_.prime) + offset_;
      b[terms++] = find_limb(u_.group->product.b[j], u_.prime) + offset_;
    }
    k_.multiply_accumulate(out, a, b, terms, nullptr, {}, count_, prime_.modulus);
  }

  const CpuKernels& k_;
  const RingTable& table_;
  const PrimeTable& prime_;
  const KeyInner& op_;
  const Unit& u_;
  std::size_t count_, offset_;
  std::vector<const std::uint32_t*> digits_, keys_;
  std::uint32_t *sum_ = nullptr, *add_ = nullptr;
  // The prime belongs to a digit's own limbs, and that digit is a product.
  bool of_product_ = false;
};

}  // namespace

void scatter_rows(const CpuKernels& kernels, const RingTable& table, const PrimeTable& prime,
                  std::uint32_t* limb, const std::uint32_t* rows, int first_row, int count,
                  std::uint32_t galois) {
  const std::uint32_t back = inverse_galois(galois);
  const int cols = prime.cols();
  for (int r = 0; r < count; ++r) {
    const int to = row_source(table, first_row + r, back).row;
    kernels.gather_row(limb + std::size_t(to) * cols, rows + std::size_t(r) * cols, cols,
                       table.col_reversal.data(), row_source(table, to, galois).offset, galois,
                       false, prime.modulus);
  }
}

int rows_per_block(const PrimeTable& prime) {
  return std::clamp<int>(static_cast<int>(kBlockEntries) / prime.cols(), 1, prime.rows());
}

void run(Executor& executor, const KeyInner& op) {
  std::vector<Unit> units;
  const RingTable* table = nullptr;
  std::size_t digits = 0, targets = 0;
  for (const KeyInner::Group& group : op.groups) {
    const KeyInner::Digit& digit = group.digits[0];
    table = &executor.table(*(digit.own.segments > 0 ? digit.own : digit.converted).ring);
    digits = std::max(digits, group.digits.size());
    targets = std::max(targets, group.targets.size());
    const int rows = table->primes[0].rows(), block = rows_per_block(table->primes[0]);
    for (const PolyView* part : {&digit.own, &digit.converted}) {
      for (int s = 0; s < part->segments; ++s) {
        const Segment& segment = part->segment[s];
        for (int p = segment.prime; p < segment.prime + segment.count; ++p) {
          for (int r = 0; r < rows; r += block) units.push_back({&group, p, r, block});
        }
      }
    }
  }
  if (units.empty()) return;
  const std::size_t block = std::size_t(units[0].rows) * table->primes[0].cols();
  executor.reserve_scratch((digits + 2) * block);
  executor.parallel(units.size(), block * digits * (1 + 2 * targets),
                    [&](std::size_t i, std::uint32_t* scratch) {
                      RowWorker worker(executor.kernels(), *table, op, units[i], scratch);
                      for (const KeyInner::Target& target : units[i].group->targets) {
                        worker.run(target, 0);
                        worker.run(target, 1);
                      }
                    });
}

}  // namespace latticino::cpu
