#include "io/bundle_file.h"

#include <algorithm>

#include "math/errors.h"

namespace latticino::io {
namespace {

constexpr std::size_t kLongestName = 256;
constexpr std::size_t kMaxParts = 64;

class PartSink : public Sink {
 public:
  explicit PartSink(Writer& writer) : writer_(writer) {}
  void write(std::span<const std::uint8_t> bytes) override { writer_.payload(bytes); }

 private:
  Writer& writer_;
};

class PartSource : public Source {
 public:
  PartSource(Reader& reader, std::uint64_t length) : reader_(reader), left_(length) {}
  void read(std::span<std::uint8_t> out) override {
    if (out.size() > left_) {
      refuse(std::to_string(left_) + " bytes left of a part", std::to_string(out.size()) + " more");
    }
    reader_.payload(out);
    left_ -= out.size();
  }
  std::uint64_t remaining() const override { return left_; }

 private:
  Reader& reader_;
  std::uint64_t left_;
};

}  // namespace

void save_bundle(Sink& sink, Scheme scheme, const std::string& params_hash, const rlwe::KeyId& key,
                 std::span<const BundlePart> parts) {
  Encoder metadata;
  Header header;
  header.type = ObjectType::Bundle;
  header.scheme = scheme;
  header.params_hash = hash_bytes(params_hash);
  header.key = key;
  metadata.u8(sink.signer ? 1 : 0);
  metadata.u32(static_cast<std::uint32_t>(parts.size()));
  for (const BundlePart& part : parts) {
    LengthSink length;
    part.save(length);
    metadata.text(part.name);
    metadata.u64(length.bytes());
    header.payload_bytes += length.bytes();
  }
  Writer writer(sink, header, metadata);
  if (writer.skipped()) return;
  for (const BundlePart& part : parts) {
    PartSink inner(writer);
    part.save(inner);
  }
  writer.finish();
}

BundleReader::BundleReader(Source& source, Scheme scheme)
    : reader_(source, ObjectType::Bundle, scheme) {
  Decoder metadata = reader_.metadata();
  const std::uint8_t follows = metadata.u8();
  if (follows > 1) refuse("a flag of " + std::to_string(follows), "0 or 1");
  reader_.expect_signature(follows == 1);
  const std::uint32_t count = metadata.count(sizeof(std::uint32_t) + sizeof(std::uint64_t));
  if (count > kMaxParts) {
    refuse(std::to_string(count) + " parts", "at most " + std::to_string(kMaxParts));
  }
  std::uint64_t payload = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::string name = metadata.text(kLongestName);
    if (std::find(names_.begin(), names_.end(), name) != names_.end()) {
      refuse("the part " + name + " twice", "it once");
    }
    names_.push_back(name);
    lengths_.push_back(metadata.u64());
    reader_.require_room(lengths_.back());
    payload += lengths_.back();
    reader_.require_room(payload);
  }
  metadata.finish();
  reader_.require_payload(payload);
}

void BundleReader::next(const std::function<void(Source&)>& load) {
  if (next_ == names_.size()) {
    throw FileError("io.read", "a bundle whose parts were all read", "one with more parts",
                    "call finish");
  }
  PartSource part(reader_, lengths_[next_]);
  load(part);
  if (part.remaining() != 0) {
    refuse(std::to_string(part.remaining()) + " bytes after the part " + names_[next_], "none");
  }
  ++next_;
}

void BundleReader::finish() {
  if (next_ != names_.size()) {
    throw FileError("io.read", "a bundle with parts that were not read", "all of them read",
                    "read them first");
  }
  reader_.finish();
}

}  // namespace latticino::io
