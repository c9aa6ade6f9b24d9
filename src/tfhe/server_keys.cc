#include "tfhe/server_keys.h"

#include <algorithm>
#include <utility>

namespace latticino::tfhe {

BlindRotate blind_rotation(const TfheParams& params) {
  BlindRotate op;
  op.gadget = params.literal().bootstrap;
  op.glwe_dimension = params.glwe_dimension();
  op.group = params.literal().group;
  op.ternary = params.literal().ternary;
  return op;
}

ExpandUniform bootstrap_masks(const ServerKeys& keys, int glwe_dimension, std::uint32_t first,
                              std::uint32_t rows) {
  const auto k = static_cast<std::uint32_t>(glwe_dimension);
  ExpandUniform expand;
  for (std::uint32_t row = first; row < first + rows; ++row) {
    for (std::uint32_t c = 1; c <= k; ++c) {
      expand.items.push_back({.seed = keys.bootstrap_seed,
                              .stream = std::uint64_t{row} * k + (c - 1),
                              .out = keys.bootstrap.view[row * (k + 1) + c]});
    }
  }
  return expand;
}

namespace {

std::size_t fourier_bytes(const Context& context, const PolyArray& bootstrap) {
  return sizeof(double) * static_cast<std::size_t>(context.ring().n()) * bootstrap.count;
}

// About a hundred polynomials of whole keys at a time, so that intermediate data are small compared
// with all keys.
Buffer make_fourier_key(const Context& context, const PolyArray& bootstrap) {
  FourierKey shape;
  shape.glwe_dimension = context.params().glwe_dimension();
  shape.levels = context.params().literal().bootstrap.levels;
  const auto of_key = static_cast<std::uint32_t>(shape.polynomials_of_key());
  const std::uint32_t together = std::max(512u / of_key, 1u) * of_key;
  const std::size_t n = context.ring().n();
  Queue& queue = context.queue();
  const Queue::Preparing preparing(queue);
  const Buffer fourier = queue.allocate_kept(fourier_bytes(context, bootstrap));
  const Context::Polys coefficients =
      context.allocate_polys(std::min(together, bootstrap.count), Domain::Coeff);
  for (std::uint32_t first = 0; first < bootstrap.count; first += together) {
    const std::uint32_t count = std::min(together, bootstrap.count - first);
    Transform transform;
    for (std::uint32_t i = 0; i < count; ++i) {
      transform.items.push_back({.in = bootstrap[first + i], .out = coefficients.view[i]});
    }
    queue.submit(std::move(transform));
    double* out = static_cast<double*>(fourier->data());
    FourierKey convert = shape;
    convert.items = {
        {.in = coefficients.view.part(0, count), .out = out == nullptr ? out : out + first * n}};
    queue.submit(std::move(convert));
  }
  return fourier;
}

}  // namespace

std::size_t ServerKeys::device_bytes(const Context& context) const {
  return bytes() + (context.in_fourier() ? fourier_bytes(context, bootstrap.view) : 0);
}

BlindRotate blind_rotation(const Context& context, const ServerKeys& keys, std::uint32_t count) {
  BlindRotate op = blind_rotation(context.params());
  op.key = keys.bootstrap.view;
  op.arithmetic = context.arithmetic().of(count);
  if (op.arithmetic == BlindRotateArithmetic::Fft64) {
    // The lock of the queue itself: a recording holds it, and comes here as well.
    const auto lock = context.queue().lock();
    if (keys.fourier == nullptr) keys.fourier = make_fourier_key(context, keys.bootstrap.view);
    op.fourier = static_cast<const double*>(keys.fourier->data());
  }
  return op;
}

Context::Lwe exponents_of(const Context& context, const ServerKeys& keys, const LweView& lwe,
                          int log_many) {
  const TfheParams& params = context.params();
  const auto n = static_cast<std::uint32_t>(params.lwe_dimension());
  const Context::Lwe switched = context.allocate(n, lwe.count);
  Context::Lwe exponents =
      context.allocate(n, lwe.count, 2 * static_cast<std::uint32_t>(params.n()));
  Queue& queue = context.queue();
  queue.submit(LweKeySwitch{.key = keys.key_switch.view,
                            .gadget = params.literal().key_switch,
                            .items = {{.in = lwe, .out = switched.view}}});
  queue.submit(ModSwitch{.centred = params.noise().centred && !params.literal().ternary,
                         .log_many = log_many,
                         .items = {{.in = switched.view, .out = exponents.view}}});
  return exponents;
}

void rotate(const Context& context, const ServerKeys& keys, const LweView& lwe,
            std::span<const Rotation> rotations, int log_many) {
  BlindRotate op = blind_rotation(context, keys, lwe.count);
  const Context::Lwe exponents = exponents_of(context, keys, lwe, log_many);
  std::uint32_t at = 0;
  for (const Rotation& r : rotations) {
    op.items.push_back(
        {.exponents = exponents.view.part(at, r.count), .table = r.table, .out = r.out});
    at += r.count;
  }
  context.queue().submit(std::move(op));
}

std::shared_ptr<ServerKeys> allocate_server_keys(const Context& context, const rlwe::KeyId& id) {
  const TfheParams& params = context.params();
  auto keys = std::make_shared<ServerKeys>();
  keys->id = id;
  keys->params_hash = params.hash();
  const std::uint32_t polys =
      blind_rotation(params).key_index(static_cast<std::uint32_t>(params.steps()), 0, 0, 0);
  keys->bootstrap = context.allocate_polys(polys, Domain::Eval);
  keys->key_switch =
      context.allocate(static_cast<std::uint32_t>(params.lwe_dimension()),
                       static_cast<std::uint32_t>(params.big_dimension()) *
                           static_cast<std::uint32_t>(params.literal().key_switch.levels));
  return keys;
}

std::shared_ptr<ServerKeys> allocate_used_server_keys(const Context& context) {
  auto keys = allocate_server_keys(context, {});
  if (context.in_fourier()) {
    keys->fourier = context.queue().allocate(fourier_bytes(context, keys->bootstrap.view));
  }
  if (context.rerandomizes()) {
    keys->public_key = std::make_shared<const PublicKey>(allocate_public_key(context));
  }
  return keys;
}

}  // namespace latticino::tfhe
