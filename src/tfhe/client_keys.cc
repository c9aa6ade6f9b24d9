// Generation of a server's keys.
#include <utility>

#include "crypto/secure_memory.h"
#include "math/errors.h"
#include "rlwe/secret_poly.h"
#include "tfhe/client.h"
#include "tfhe/secret_lwe.h"

namespace latticino::tfhe {
namespace {

// Whether the key bits of a step are what selector j asks for (ops/lwe_operations.h); 0 or 1.
std::int32_t selector(const BlindRotate& op, std::span<const std::int8_t> bits, int j) {
  if (op.ternary) {
    const int s = bits[0];
    return (j == 0 ? s * s + s : s * s - s) / 2;  // whether s = 1, and whether s = -1
  }
  std::int32_t product = 1;
  for (int i = 0; i < op.group; ++i) {
    const int wanted = (j + 1) >> i & 1;
    product &= 1 ^ wanted ^ bits[i];
  }
  return product;
}

class BootstrapKeyMaker {
 public:
  BootstrapKeyMaker(const Context& context, const SecretKey& secret, ServerKeys& keys,
                    rlwe::Random& random)
      : context_(context),
        secret_(secret),
        keys_(keys),
        random_(random),
        op_(blind_rotation(context.params())),
        parts_(op_.glwe_dimension + 1) {
    const std::size_t n = context.ring().n();
    for (int c = 0; c < op_.glwe_dimension; ++c) {
      secrets_.push_back(rlwe::secret_poly(context.queue(), context.ring(), context.basis(),
                                           secret.glwe().subspan(c * n, n)));
    }
    const auto rows = static_cast<std::uint32_t>(op_.rows());
    product_.buffer = context.queue().allocate(
        rows * n * context.ring().prime_count() * sizeof(std::uint32_t), true);
    product_.view = {PolyView::contiguous(product_.buffer->words(), context.ring(), context.basis(),
                                          Domain::Eval),
                     rows};
  }

  // All rows of one selector. Records have views of secret blocks and powers of the gadget, so no
  // key bit is a constant of a record.
  void make(std::uint32_t step, int j) {
    const std::uint32_t first = op_.key_index(step, j, 0, 0);
    const auto rows = static_cast<std::uint32_t>(op_.rows());
    masks(first);
    const PolyArray fresh =
        small(selector(op_, secret_.lwe().subspan(step * op_.group, op_.group), j));
    Linear sum;
    for (std::uint32_t row = 0; row < rows; ++row) {
      const PolyView out = polynomial(first + row * parts_), product = product_.view[row];
      const PolyView message = fresh[rows + row / op_.gadget.levels];
      sum.items.push_back({.terms = {{.x = fresh[row]},
                                     {.x = product, .small = -1},
                                     {.x = message, .residues = power(row % op_.gadget.levels)}},
                           .out = out});
    }
    context_.queue().submit(std::move(sum));
  }

 private:
  PolyView polynomial(std::uint32_t i) const { return keys_.bootstrap.view[i]; }

  // Uniform masks, and sum_c a_c s_c in secret blocks.
  void masks(std::uint32_t first) {
    Dot products;
    products.parts = 1;
    for (int row = 0; row < op_.rows(); ++row) {
      const std::uint32_t at = first + row * parts_;
      Dot::Output out;
      for (int c = 1; c < parts_; ++c) {
        out.terms.push_back({.input = static_cast<int>(products.inputs.size()),
                             .factor = secrets_[static_cast<std::size_t>(c) - 1].view});
        products.inputs.push_back({polynomial(at + c)});
      }
      out.out[0] = product_.view[row];
      products.outputs.push_back(std::move(out));
    }
    context_.queue().submit(bootstrap_masks(keys_, op_.glwe_dimension, first / parts_,
                                            static_cast<std::uint32_t>(op_.rows())));
    context_.queue().submit(std::move(products));
  }

  // Errors of all rows, then `chosen` times each component of (1, s_1 .. s_k): Eval, in secret
  // blocks that the next call uses again.
  PolyArray small(std::int32_t chosen) {
    Queue& queue = context_.queue();
    const std::size_t n = context_.ring().n(), rows = op_.rows(), count = rows + parts_;
    std::vector<std::int64_t> integers =
        random_.gaussian(static_cast<int>(rows * n), context_.params().literal().glwe_sigma);
    const crypto::ClearOnExit clear_errors(integers);
    std::vector<std::int64_t> messages(parts_ * n, 0);
    const crypto::ClearOnExit clear_messages(messages);
    const std::span<const std::int8_t> s = secret_.glwe();
    messages[0] = chosen;
    for (std::size_t i = 0; i < s.size(); ++i) messages[n + i] = chosen * s[i];
    if (integers_ == nullptr) {
      integers_ = queue.allocate(count * n * sizeof(std::int64_t), true);
      polys_ =
          queue.allocate(count * n * context_.ring().prime_count() * sizeof(std::uint32_t), true);
    }
    auto* const to = static_cast<std::int64_t*>(integers_->data());
    queue.copy_in(to, integers.data(), rows * n * sizeof(std::int64_t));
    queue.copy_in(to + rows * n, messages.data(), messages.size() * sizeof(std::int64_t));
    const PolyArray out{
        PolyView::contiguous(polys_->words(), context_.ring(), context_.basis(), Domain::Coeff),
        static_cast<std::uint32_t>(count)};
    FromIntegers from;
    Transform transform;
    for (std::uint32_t i = 0; i < count; ++i) {
      from.items.push_back({.in = to + i * n, .out = out[i]});
      transform.items.push_back({.in = out[i], .out = out[i].in(Domain::Eval)});
    }
    queue.submit(std::move(from));
    queue.submit(std::move(transform));
    return {out.first.in(Domain::Eval), out.count};
  }

  // 2^exponent of a gadget level, modulo each prime.
  std::vector<std::uint32_t> power(int level) const {
    std::vector<std::uint32_t> factor;
    std::uint64_t q = 1;
    for (const std::uint32_t p : context_.ring().primes()) q *= p;
    const int exponent = gadget_exponent(op_.gadget, bit_length(q), level);
    for (const std::uint32_t p : context_.ring().primes()) {
      factor.push_back(static_cast<std::uint32_t>((std::uint64_t{1} << exponent) % p));
    }
    return factor;
  }

  const Context& context_;
  const SecretKey& secret_;
  ServerKeys& keys_;
  rlwe::Random& random_;
  const BlindRotate op_;
  const int parts_;
  std::vector<Poly> secrets_;
  Buffer integers_, polys_;
  struct {
    Buffer buffer;
    PolyArray view;
  } product_;  // of each row: the sum of masks times secrets, in Eval
};

// Row i * levels + j: s_i 2^exponent(j).
void make_key_switch_key(const Context& context, const SecretKey& secret, ServerKeys& keys,
                         rlwe::Random& random) {
  const TfheParams& params = context.params();
  const LweView& view = keys.key_switch.view;
  const Gadget g = params.literal().key_switch;
  std::vector<std::uint32_t> messages;
  // Reserved, because a growing vector would leave copies of secrets behind.
  messages.reserve(view.count);
  for (const std::int8_t s : secret.glwe()) {
    for (int j = 0; j < g.levels; ++j) {
      const int exponent = gadget_exponent(g, bit_length(view.modulus), j);
      messages.push_back(static_cast<std::uint32_t>(s) << exponent);
    }
  }
  const crypto::ClearOnExit clear(messages);
  std::vector<std::uint32_t> words(view.stride * view.count);
  encrypt_rows(words.data(), view.stride, messages, secret.lwe(), params.literal().lwe_sigma,
               keys.key_switch_seed, make_modulus(view.modulus), random);
  context.queue().copy_in(view.data, words.data(), words.size() * sizeof(std::uint32_t));
}

}  // namespace

std::shared_ptr<ServerKeys> make_server_keys(const Context& context, const SecretKey& secret,
                                             rlwe::Random& random,
                                             const std::function<void(int, int)>& progress) {
  require_params("tfhe.make_server_keys", secret.params(), context.params());
  auto keys = allocate_server_keys(context, secret.id());
  keys->bootstrap_seed = random.seed();
  keys->key_switch_seed = random.seed();
  BootstrapKeyMaker maker(context, secret, *keys, random);
  for (int step = 0; step < context.params().steps(); ++step) {
    for (int j = 0; j < context.params().keys_per_step(); ++j) {
      maker.make(static_cast<std::uint32_t>(step), j);
    }
    if (progress) progress(step + 1, context.params().steps());
  }
  make_key_switch_key(context, secret, *keys, random);
  return keys;
}

}  // namespace latticino::tfhe
