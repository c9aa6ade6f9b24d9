// Unsigned integers of any width as blocks of a 2_2-like set: message_bits per block, carry_bits
// above them. Batches, element by element. All blind rotations of a round run in one record.
// Functions first bootstrap operands that have too much noise: blocks that are sums, and those from
// files. Noise also adds up if both operands have an error in common (tfhe/origins/origins.h).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "tfhe/evaluator.h"

namespace latticino::tfhe {

// Blocks of m bits (padded, each below 2^m), least significant first.
struct Integer {
  std::vector<Ciphertext> blocks;
  std::uint32_t size() const { return blocks.empty() ? 0 : blocks[0].size(); }
};

enum class Comparison : std::uint8_t { Less, LessEqual, Equal, NotEqual, GreaterEqual, Greater };

class Integers {
 public:
  // Needs as many carry bits as message bits (ParameterError).
  explicit Integers(std::shared_ptr<const Evaluator> evaluator);
  const Evaluator& evaluator() const { return *evaluator_; }

  Integer clear(std::span<const std::uint64_t> values, int bits) const;

  // Modulo 2^bits; both operands must have the same width.
  Integer add(const Integer& x, const Integer& y) const;
  Integer sub(const Integer& x, const Integer& y) const;
  Integer multiply(const Integer& x, const Integer& y) const;
  Integer sum(std::span<const Integer> x) const;
  Integer shift_left(const Integer& x, int bits) const;
  Integer shift_right(const Integer& x, int bits) const;
  // Shifts by encrypted amounts of any width. An amount of at least x's number of bits gives 0.
  Integer shift_left(const Integer& x, const Integer& amount) const;
  Integer shift_right(const Integer& x, const Integer& amount) const;
  Integer bitwise(const Integer& x, const Integer& y,
                  const std::function<std::uint32_t(std::uint32_t, std::uint32_t)>& f) const;

  // 1 or 0, in one block.
  Ciphertext compare(Comparison what, const Integer& x, const Integer& y) const;
  // condition ? x : y, condition 0 or 1. One table if x and y are single bits, else two per block.
  Integer select(const Ciphertext& condition, const Integer& x, const Integer& y) const;
  Integer min(const Integer& x, const Integer& y) const;
  Integer max(const Integer& x, const Integer& y) const;
  // f(x) for integers of at most two blocks, f(x, y) for those of one, `blocks` blocks wide.
  Integer lookup(const Integer& x, int blocks,
                 const std::function<std::uint64_t(std::uint64_t)>& f) const;
  Integer lookup(const Integer& x, const Integer& y, int blocks,
                 const std::function<std::uint64_t(std::uint64_t, std::uint64_t)>& f) const;
  // Several functions at once. If x (or the pair) has few messages, result blocks share a blind
  // rotation: four of them if the argument is a block, two if it is a block and a bit.
  struct Function {
    int blocks;  // the number of blocks of the result
    std::function<std::uint64_t(std::uint64_t)> f;
    Encoding out = Encoding::Padded;  // Full: the result is one message modulo 2^p, in one block
  };
  struct PairFunction {
    int blocks;
    std::function<std::uint64_t(std::uint64_t, std::uint64_t)> f;
    Encoding out = Encoding::Padded;
  };
  std::vector<Integer> lookup(const Integer& x, std::span<const Function> functions) const;
  std::vector<Integer> lookup(const Integer& x, const Integer& y,
                              std::span<const PairFunction> functions) const;
  // Functions of full messages: one rotation serves all of them, and one more is needed for each
  // result block.
  std::vector<Integer> lookup_full(const Ciphertext& x, std::span<const Function> functions) const;
  // x of at most p bits as one full message. Only blocks that are sums are bootstrapped.
  Ciphertext full(const Integer& x) const;
  // Sums, differences and multiples of full messages. Operands are bootstrapped first if a table on
  // the result would otherwise fail more often than the set states.
  Ciphertext add_full(const Ciphertext& x, const Ciphertext& y) const;
  Ciphertext sub_full(const Ciphertext& x, const Ciphertext& y) const;
  Ciphertext multiply_full(const Ciphertext& x, std::int32_t factor) const;

 private:
  // One table on one batch, as a part of a round.
  struct Step {
    Ciphertext x;
    const Table* table;
  };
  using Blocks = std::vector<Ciphertext>;
  // The operands whose blocks are combined into pairs.
  struct Operands {
    Integer high, low;
  };
  using Binary = std::function<std::uint32_t(std::uint32_t, std::uint32_t)>;
  using Unary = std::function<std::uint32_t(std::uint32_t)>;
  // For each function, the values for every message.
  using Values = std::vector<std::vector<std::uint32_t>>;
  using Tables = std::map<std::pair<Encoding, Values>, Table>;
  // Made once for all calls: for functions of all messages, or of those below `messages`.
  const Table& table(const Unary& f) const;
  const Table& table(std::span<const Unary> f, std::uint32_t messages) const;
  // A table that a caller gives. It is kept as long as there are few such tables, because a kept
  // table needs no upload and can be recorded.
  Table caller_table(Encoding out, Values values) const;
  // Must hold the queue's lock.
  const Table& found_or_made(Tables& tables, Encoding out, Values values) const;
  const Table& table_of_pair(const Binary& f) const;  // table for packed (high, low)
  Integer shifted(const Integer& x, int bits) const;
  Integer shifted(const char* operation, const Integer& x, const Integer& amount, bool left) const;
  Integer shifted_by_digit(const Integer& moved, const Ciphertext& by, int unit, bool left) const;
  Integer none_if_any(const Integer& x, Blocks digits) const;
  Ciphertext refreshed_full(const Ciphertext& x) const;
  Operands paired_full(const Ciphertext& x, const Ciphertext& y) const;
  Ciphertext packed(const Ciphertext& high, const Ciphertext& low) const;
  Ciphertext whole(const char* operation, const Integer& x) const;
  Operands paired(const Integer& high, const Integer& low) const;
  bool pair_decides(const Ciphertext& high, const Ciphertext& low) const;
  void refresh(std::span<Ciphertext* const> blocks) const;
  Ciphertext added(const Blocks& terms) const;
  Ciphertext zero(const Ciphertext& like) const;
  std::size_t holds(const Blocks& x, std::size_t first) const;
  Blocks round(const std::vector<Step>& steps) const;
  // A function of the messages up to a largest one, for each block of the results.
  struct Results {
    Values values;
    std::vector<Encoding> out;
  };
  Results results_of(std::span<const Function> functions, std::uint32_t largest) const;
  std::vector<Integer> looked_up(const Ciphertext& x, std::span<const Function> functions) const;
  Integer summed(std::vector<Blocks> columns) const;
  Integer carried(const Blocks& sums) const;
  Ciphertext order(const Integer& x, const Integer& y) const;
  Ciphertext folded(Blocks states) const;
  void require(const char* operation, const Integer& x) const;
  void require(const char* operation, const Integer& x, const Integer& y) const;

  std::shared_ptr<const Evaluator> evaluator_;
  int block_bits_;
  std::uint32_t base_;
  // Guarded by the lock of the queue alone: a recording thread holds that lock when it looks here.
  mutable Tables tables_, caller_tables_;
  const Table *low_, *high_, *low_and_state_, *fold_, *add_carry_, *order_, *keep_, *drop_,
      *product_low_, *product_high_;
};

// The messages of the blocks, least significant first. ValueError for widths and values that do not
// fit.
std::vector<std::vector<std::uint32_t>> integer_blocks(const TfheParams& params,
                                                       std::span<const std::uint64_t> values,
                                                       int bits);
}  // namespace latticino::tfhe
