// Bundles of server keys as one file, one stream or bytes.
#include <nanobind/stl/unique_ptr.h>

#include <type_traits>
#include <utility>

#include "files.h"
#include "io/bundle_file.h"
#include "io/switch_files.h"
#include "streams.h"
#include "switch/client.h"
#include "tfhe.h"

namespace latticino::python {
namespace {

using Keys = std::shared_ptr<rlwe::EvaluationKeys>;
using SwitchContextPtr = std::shared_ptr<const switching::Context>;
using SwitchKeysPtr = std::shared_ptr<switching::SwitchKeys>;

io::Scheme scheme_of(const std::string& name) {
  return name == "TFHE" ? io::Scheme::Tfhe : io::Scheme::Ckks;
}

// Parts are saved when the bundle is saved. Until then this object keeps the keys.
class BundleWriter {
 public:
  BundleWriter(const std::string& scheme, std::string params_hash)
      : scheme_(scheme_of(scheme)), params_hash_(std::move(params_hash)) {}

  void add_keys(const ContextPtr& c, const Keys& keys) {
    key_ = keys->id();
    add("keys", [c, keys](io::Sink& s) { io::save_keys(s, c->constants(), c->queue(), *keys); });
  }
  void add_public_key(const ContextPtr& c, const std::shared_ptr<rlwe::PublicKey>& key) {
    add("public",
        [c, key](io::Sink& s) { io::save_public_key(s, c->constants(), c->queue(), *key); });
  }
  void add_switch_keys(const std::string& name, const SwitchContextPtr& c,
                       const SwitchKeysPtr& keys) {
    add(name, [c, keys](io::Sink& s) { io::save_keys(s, *c, *keys); });
  }
  void add_tfhe_keys(const TfheContextPtr& c, const std::shared_ptr<tfhe::ServerKeys>& keys) {
    key_ = keys->id;
    add("keys", [c, keys](io::Sink& s) { io::save_keys(s, *c, *keys); });
  }
  void save(io::Sink& sink) const { io::save_bundle(sink, scheme_, params_hash_, key_, parts_); }

 private:
  void add(std::string name, std::function<void(io::Sink&)> part) {
    parts_.push_back({std::move(name), std::move(part)});
  }

  io::Scheme scheme_;
  std::string params_hash_;
  rlwe::KeyId key_;
  std::vector<io::BundlePart> parts_;
};

// Keeps its source alive. Parts must be read in their order.
class BundleReader {
 public:
  static std::unique_ptr<BundleReader> of_file(const std::string& path, const std::string& scheme,
                                               nb::object verify, nb::object progress) {
    return make(std::make_unique<io::FileSource>(path), nb::none(), scheme, std::move(verify),
                std::move(progress));
  }
  static std::unique_ptr<BundleReader> of_bytes(nb::bytes data, const std::string& scheme,
                                                nb::object verify, nb::object progress) {
    auto source = std::make_unique<io::MemorySource>(
        std::span(static_cast<const std::uint8_t*>(data.data()), data.size()));
    return make(std::move(source), std::move(data), scheme, std::move(verify), std::move(progress));
  }
  static std::unique_ptr<BundleReader> of_stream(nb::object file, const std::string& scheme,
                                                 nb::object verify, nb::object progress) {
    auto source = std::make_unique<StreamSource>(file);
    return make(std::move(source), std::move(file), scheme, std::move(verify), std::move(progress));
  }

  std::vector<std::string> names() const { return reader_->names(); }
  void require_params(const Params& params) const { reader_->reader().require_params(params); }
  void require_tfhe_params(const TfheParams& params) const {
    reader_->reader().require_params(params);
  }

  Keys keys(const ContextPtr& c) {
    return next([&](io::Source& s) { return io::load_keys(s, c->constants(), c->queue()); });
  }
  std::shared_ptr<rlwe::PublicKey> public_key(const ContextPtr& c) {
    return next([&](io::Source& s) {
      return std::make_shared<rlwe::PublicKey>(io::load_public_key(s, c->constants(), c->queue()));
    });
  }
  SwitchKeysPtr switch_keys(const SwitchContextPtr& c) {
    return next([&](io::Source& s) { return io::load_switch_keys(s, *c); });
  }
  std::shared_ptr<tfhe::ServerKeys> tfhe_keys(const TfheContextPtr& c) {
    return next([&](io::Source& s) { return io::load_server_keys(s, *c); });
  }
  void finish() { reader_->finish(); }

 private:
  template <class Load>
  std::invoke_result_t<Load, io::Source&> next(const Load& load) {
    std::invoke_result_t<Load, io::Source&> out;
    reader_->next([&](io::Source& part) { out = load(part); });
    return out;
  }

  static std::unique_ptr<BundleReader> make(std::unique_ptr<io::Source> source, nb::object kept,
                                            const std::string& scheme, nb::object verify,
                                            nb::object progress) {
    auto out = std::make_unique<BundleReader>();
    source->verifier = verifier_of(verify);
    source->progress = byte_count(progress);
    out->kept_ = {std::move(kept), std::move(verify), std::move(progress)};
    out->source_ = std::move(source);
    const Released release;
    out->reader_ = std::make_unique<io::BundleReader>(*out->source_, scheme_of(scheme));
    return out;
  }

  std::vector<nb::object> kept_;
  std::unique_ptr<io::Source> source_;
  std::unique_ptr<io::BundleReader> reader_;
};

void bind_writer(nb::module_& m) {
  nb::class_<BundleWriter>(m, "BundleWriter", "Server keys on their way to one file.")
      .def(nb::init<const std::string&, std::string>(), "scheme"_a, "params_hash"_a)
      .def("add_keys", &BundleWriter::add_keys, "context"_a, "keys"_a)
      .def("add_public_key", &BundleWriter::add_public_key, "context"_a, "key"_a)
      .def("add_switch_keys", &BundleWriter::add_switch_keys, "name"_a, "context"_a, "keys"_a)
      .def("add_tfhe_keys", &BundleWriter::add_tfhe_keys, "context"_a, "keys"_a)
      .def_prop_ro(
          "length",
          [](const BundleWriter& w) {
            io::LengthSink length;
            w.save(length);
            return length.bytes();
          },
          "Bytes of the file, without a signature.", ReleaseGil())
      .def(
          "to_bytes",
          [](const BundleWriter& w, nb::handle sign, nb::handle progress) {
            return bytes_of(sign, progress, [&](io::Sink& sink) { w.save(sink); });
          },
          "sign"_a.none() = nb::none(), "progress"_a.none() = nb::none())
      .def(
          "to_file",
          [](const BundleWriter& w, const std::string& path, nb::handle sign, nb::handle progress) {
            write_signed(
                path, sign, [&](io::Sink& sink) { w.save(sink); }, progress);
          },
          "path"_a, "sign"_a.none() = nb::none(), "progress"_a.none() = nb::none(), ReleaseGil())
      .def(
          "to_stream",
          [](const BundleWriter& w, nb::handle file, nb::handle sign, nb::handle progress) {
            StreamSink sink(file);
            sink.signer = signer_of(sign);
            sink.progress = byte_count(progress);
            w.save(sink);
          },
          "file"_a, "sign"_a.none() = nb::none(), "progress"_a.none() = nb::none(), ReleaseGil());
}

void bind_reader(nb::module_& m) {
  nb::class_<BundleReader>(m, "BundleReader", "A file of server keys, read part by part.")
      .def_static("of_file", &BundleReader::of_file, "path"_a, "scheme"_a,
                  "verify"_a.none() = nb::none(), "progress"_a.none() = nb::none())
      .def_static("of_bytes", &BundleReader::of_bytes, "data"_a, "scheme"_a,
                  "verify"_a.none() = nb::none(), "progress"_a.none() = nb::none())
      .def_static("of_stream", &BundleReader::of_stream, "file"_a, "scheme"_a,
                  "verify"_a.none() = nb::none(), "progress"_a.none() = nb::none())
      .def_prop_ro("names", &BundleReader::names)
      .def("require_params", &BundleReader::require_params, "params"_a)
      .def("require_params", &BundleReader::require_tfhe_params, "params"_a)
      .def("keys", &BundleReader::keys, "context"_a, ReleaseGil())
      .def("public_key", &BundleReader::public_key, "context"_a, ReleaseGil())
      .def("switch_keys", &BundleReader::switch_keys, "context"_a, ReleaseGil())
      .def("tfhe_keys", &BundleReader::tfhe_keys, "context"_a, ReleaseGil())
      .def("finish", &BundleReader::finish, "Nothing read is to be trusted before it.",
           ReleaseGil());
}

}  // namespace

void bind_bundles(nb::module_& m) {
  bind_writer(m);
  bind_reader(m);
}

}  // namespace latticino::python
