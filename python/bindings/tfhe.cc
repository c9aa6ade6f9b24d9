// TFHE's data and roles: parameters, contexts, batches, the client.
#include "tfhe.h"

#include "context.h"

namespace latticino::python {
namespace {

using tfhe::Ciphertext;
using tfhe::Encoding;

// log2 of the probability that the next table on x, or the next gate on it and a bootstrapped one,
// decides wrongly.
double log_failure_of(const Ciphertext& x) {
  const TfheParams& params = x.context->params();
  const bool boolean = x.encoding == Encoding::Boolean, full = x.encoding == Encoding::Full;
  const double distance = boolean ? 0.125 : std::exp2(-(params.plain_bits() + 2));
  const bool fourier = x.context->arithmetic() == BlindRotateArithmetic::Fft64;
  // A full message is halved, and has a bootstrapped one added.
  const double norm2 = full ? x.norm2 / 4 + 1 : boolean ? x.norm2 + 1 : x.norm2;
  return log_failure(params.decision_variance(std::sqrt(norm2), 0, fourier), distance);
}

// Batches without data, for dry contexts: fresh encryptions, or what a program has come to with the
// errors of `like`.
Ciphertext shape_only(const TfheContextPtr& context, std::uint32_t count, std::uint32_t largest,
                      double norm2, int bits, const Ciphertext* like) {
  if (!context->is_dry()) {
    throw ContextError("shape_only", "a context with a device", "a dry context", "encrypt instead");
  }
  Ciphertext x;
  x.context = context;
  auto [buffer, view] =
      context->allocate(static_cast<std::uint32_t>(context->params().big_dimension()), count);
  x.buffer = std::move(buffer);
  x.view = view;
  x.encoding = encoding_of(context->params(), bits);
  x.norm2 = norm2;
  x.largest = largest;
  x.outside = like == nullptr ? context->rerandomizes() : like->outside;
  x.origins = like == nullptr ? tfhe::Origins::unique(count) : like->origins;
  return x;
}

void bind_tfhe_params(nb::module_& m) {
  nb::class_<TfheParams>(m, "TfheParams", "Checked, immutable parameters of TFHE.")
      .def_prop_ro("name", &TfheParams::name)
      .def_prop_ro("hash", &TfheParams::hash)
      .def_prop_ro("n", &TfheParams::n)
      .def_prop_ro("lwe_dimension", &TfheParams::lwe_dimension)
      .def_prop_ro("glwe_dimension", &TfheParams::glwe_dimension)
      .def_prop_ro("big_dimension", &TfheParams::big_dimension)
      .def_prop_ro("booleans", &TfheParams::booleans)
      .def_prop_ro("message_bits", [](const TfheParams& p) { return p.literal().message_bits; })
      .def_prop_ro("carry_bits", [](const TfheParams& p) { return p.literal().carry_bits; })
      .def_prop_ro("log_failure", [](const TfheParams& p) { return p.log_failure(); })
      .def(
          "variances",
          [](const TfheParams& p, bool fourier) {
            return std::pair(p.result_variance(fourier), p.switch_variance());
          },
          "fourier"_a, "Of a bootstrapping's result, and of key switch and modulus switch.")
      .def("log_failure_of", &TfheParams::log_failure_of, "result_variance"_a, "switch_variance"_a)
      .def_prop_ro("stated_log_failure",
                   [](const TfheParams& p) { return p.literal().log_failure; })
      .def_prop_ro("security_bits", &TfheParams::security_bits)
      .def_prop_ro("secure",
                   [](const TfheParams& p) {
                     return p.literal().security == ParamsLiteral::Security::Bits128;
                   })
      .def_prop_ro("has_fft64", [](const TfheParams& p) { return p.fourier_refusal().empty(); })
      .def_prop_ro("bootstrap_key_bytes", &TfheParams::bootstrap_key_bytes)
      .def_prop_ro("key_switch_key_bytes", &TfheParams::key_switch_key_bytes)
      .def("canonical_text", &TfheParams::canonical_text)
      .def("explain", &TfheParams::explain);
  m.def("tfhe_preset", &tfhe_preset, "name"_a);
  m.def("tfhe_preset_names", &tfhe_preset_names);
}

void bind_tfhe_context(nb::module_& m) {
  nb::class_<tfhe::Context> context(m, "TfheContext", "TFHE parameters on a device.");
  context
      .def_static(
          "create",
          [](const TfheParamsPtr& params, const std::string& device, int index, int threads,
             bool simd, const std::string& tuning, const std::string& arithmetic,
             bool rerandomize) {
            return tfhe::Context::create(params, make_queue(device, index, threads, simd, tuning),
                                         tfhe::arithmetic_of(arithmetic), rerandomize);
          },
          "params"_a, "device"_a, "index"_a, "threads"_a, "simd"_a, "tuning"_a = "",
          "arithmetic"_a = "exact", "rerandomize"_a = false, ReleaseGil())
      .def_static(
          "create_dry",
          [](const TfheParamsPtr& params, const std::string& arithmetic, bool rerandomize) {
            return tfhe::Context::create_dry(params, tfhe::arithmetic_of(arithmetic), rerandomize);
          },
          "params"_a, "arithmetic"_a = "exact", "rerandomize"_a = false, ReleaseGil())
      .def_prop_ro("params", &tfhe::Context::shared_params)
      .def_prop_ro("arithmetic", [](const tfhe::Context& c) { return tfhe::name(c.arithmetic()); })
      .def_prop_ro("log_failure", &tfhe::Context::log_failure);
  bind_queue(context);
  nb::class_<tfhe::ServerKeys>(m, "TfheServerKeys", "What a server knows: it cannot decrypt.")
      .def_prop_ro("id", [](const tfhe::ServerKeys& k) { return k.id.str(); })
      .def_ro("params_hash", &tfhe::ServerKeys::params_hash)
      .def_prop_ro("has_public_key",
                   [](const tfhe::ServerKeys& k) { return k.public_key != nullptr; })
      .def("device_bytes", &tfhe::ServerKeys::device_bytes, "context"_a);
  m.def(
      "tfhe_shape_of_keys",
      [](const TfheContextPtr& context) { return tfhe::allocate_used_server_keys(*context); },
      "context"_a,
      "Keys of the right shape without meaning, as after a first bootstrapping: for dry contexts.",
      ReleaseGil());
}

void bind_tfhe_batches(nb::module_& m) {
  nb::class_<Ciphertext>(m, "TfheCiphertext", "A batch of LWE ciphertexts.")
      .def_prop_ro("size", &Ciphertext::size)
      .def_ro("norm2", &Ciphertext::norm2)
      .def_ro("largest", &Ciphertext::largest)
      .def_prop_ro("encoding", [](const Ciphertext& x) { return tfhe::name(x.encoding); })
      .def_prop_ro("key", [](const Ciphertext& x) { return x.key.str(); })
      .def_prop_ro("bytes",
                   [](const Ciphertext& x) {
                     return sizeof(std::uint32_t) * (x.view.dimension + std::size_t{1}) * x.size();
                   })
      .def_prop_ro("log_failure", &log_failure_of)
      .def("__repr__", &Ciphertext::str);
  m.def("tfhe_shape_only", &shape_only, "context"_a, "count"_a, "largest"_a, "norm2"_a, "bits"_a,
        "like"_a.none() = nb::none(), ReleaseGil());
  m.def(
      "tfhe_take",
      [](const TfheBatches& x, const PlaceInput& places) {
        TfheBatches out;
        for (const Ciphertext& b : x) out.push_back(take(b, {places.data(), places.size()}));
        return out;
      },
      "x"_a, "places"_a, ReleaseGil());
  m.def(
      "tfhe_concatenate",
      [](const std::vector<TfheBatches>& x) {
        TfheBatches out;
        for (std::size_t i = 0; !x.empty() && i < x[0].size(); ++i) {
          TfheBatches column;
          for (const TfheBatches& part : x) {
            if (part.size() != x[0].size()) {
              throw ShapeError(
                  "concatenate",
                  std::to_string(part.size()) + " and " + std::to_string(x[0].size()) + " blocks",
                  "integers of one width", "convert one with astype");
            }
            column.push_back(part[i]);
          }
          out.push_back(tfhe::concatenate(column));
        }
        return out;
      },
      "x"_a, ReleaseGil());
}

}  // namespace

Ciphertext allocate_like(const Ciphertext& like) {
  Ciphertext out = like;
  out.seed.reset();
  auto [buffer, view] = like.context->allocate(like.view.dimension, like.size());
  out.buffer = std::move(buffer);
  out.view = view;
  return out;
}

void copy_into(const Ciphertext& from, const Ciphertext& to) {
  from.context->queue().submit(LweLinear{{{{{from.view, 1}}, to.view, 0}}});
}

Encoding encoding_of(const TfheParams& params, int bits) {
  return bits < 0 ? Encoding::Full : params.booleans() ? Encoding::Boolean : Encoding::Padded;
}

std::vector<std::uint32_t> as_messages(std::span<const std::uint64_t> values) {
  return {values.begin(), values.end()};
}

TfheBatches TfheClient::encrypt(std::span<const std::uint64_t> values, int bits) {
  process_.require("encrypt");
  const auto queue = context_->queue().lock();  // before the client's own, as everywhere
  const std::lock_guard lock(mutex_);
  if (bits > 0) return encrypt_integers(context_, secret_, values, bits, random_).blocks;
  TfheBatches out = {tfhe::encrypt(context_, secret_, as_messages(values),
                                   encoding_of(context_->params(), bits), random_)};
  if (bits == 0) out[0].largest = 1;
  return out;
}

std::vector<std::uint64_t> TfheClient::decrypt(const TfheBatches& x) const {
  process_.require("decrypt");
  for (const Ciphertext& block : x) {
    if (block.context != context_) {
      throw ContextError("decrypt", "an object of another context", "this client's context",
                         "use the client that was made for that context");
    }
  }
  return decrypt_integers(secret_, {x});
}

std::shared_ptr<tfhe::ServerKeys> TfheClient::server_keys(
    const std::function<void(int, int)>& progress, bool with_public) {
  process_.require("server_keys");
  const auto queue = context_->queue().lock();
  const std::lock_guard lock(mutex_);
  auto keys = make_server_keys(*context_, secret_, random_, progress);
  if (with_public) {
    keys->public_key = std::make_shared<const tfhe::PublicKey>(
        make_public_key(*context_, secret_, random_));
  }
  return keys;
}

// For measurements of noise.
static void bind_tfhe_errors(nb::class_<TfheClient>& client) {
  client
      .def(
          "errors",
          [](const TfheClient& client, const Ciphertext& x) {
            std::vector<double> values;
            {
              const Released release;
              values = tfhe::errors(client.secret(), x);
            }
            return to_numpy(std::move(values));
          },
          "x"_a)
      .def(
          "switch_errors",
          [](const TfheClient& client, const tfhe::ServerKeys& keys, const Ciphertext& x) {
            std::vector<double> values;
            {
              const Released release;
              values = tfhe::switch_errors(client.secret(), keys, x);
            }
            return to_numpy(std::move(values));
          },
          "keys"_a, "x"_a);
}

void bind_tfhe(nb::module_& m) {
  bind_tfhe_params(m);
  bind_tfhe_context(m);
  bind_tfhe_batches(m);
  nb::class_<TfheClient> client(m, "TfheClient", "Holds a secret key of TFHE.");
  client.def(nb::init<TfheContextPtr>(), "context"_a, ReleaseGil())
      .def_prop_ro("key_id", &TfheClient::key_id)
      .def(
          "encrypt",
          [](TfheClient& client, const IntegerInput& values, int bits) {
            return client.encrypt(as_span(values), bits);
          },
          "values"_a, "bits"_a, ReleaseGil())
      .def(
          "decrypt",
          [](const TfheClient& client, const TfheBatches& x) {
            std::vector<std::uint64_t> values;
            {
              const Released release;
              values = client.decrypt(x);
            }
            return to_numpy(std::move(values));
          },
          "x"_a)
      .def(
          "server_keys",
          [](TfheClient& client, const nb::object& progress, bool with_public) {
            std::function<void(int, int)> report;
            if (!progress.is_none()) {
              report = [&](int done, int all) {
                nb::gil_scoped_acquire gil;
                progress(done, all);
              };
            }
            const Released release;
            return client.server_keys(report, with_public);
          },
          "progress"_a.none(), "public"_a = false);
  bind_tfhe_errors(client);
}

}  // namespace latticino::python
