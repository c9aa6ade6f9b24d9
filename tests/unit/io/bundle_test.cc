// Bundles: several files in one container, also read from a stream of unknown length.
#include "io/bundle_file.h"

#include <gtest/gtest.h>

#include "io/files.h"
#include "math/errors.h"
#include "support/io_support.h"

namespace latticino::io {
namespace {

using test::Bytes;
using test::FileWorld;
using test::saved;

FileWorld& world() {
  static FileWorld w(preset("test-n10-boot-insecure"));
  return w;
}

// Bytes of unknown length, like those of a pipe.
class Stream : public Source {
 public:
  explicit Stream(const Bytes& bytes) : inner_(bytes) {}
  void read(std::span<std::uint8_t> out) override { inner_.read(out); }
  std::uint64_t remaining() const override { return kUnknown; }
  std::uint64_t left() const { return inner_.remaining(); }

 private:
  MemorySource inner_;
};

struct Parts {
  std::shared_ptr<rlwe::EvaluationKeys> keys =
      world().keys({{{rlwe::KeyKind::Relinearize, 1}, 0}, {{rlwe::KeyKind::Galois, 5}, 0}});
  rlwe::PublicKey open =
      rlwe::make_public_key(world().constants(), world().queue(), world().secret, world().random);
  std::vector<BundlePart> list{
      {"keys", [this](Sink& s) { save_keys(s, world().constants(), world().queue(), *keys); }},
      {"public",
       [this](Sink& s) { save_public_key(s, world().constants(), world().queue(), open); }}};
};

void save(Sink& sink, const Parts& parts) {
  save_bundle(sink, Scheme::Ckks, world().params->hash(), world().secret.id(), parts.list);
}

void load(Source& source) {
  BundleReader reader(source, Scheme::Ckks);
  reader.reader().require_params(*world().params);
  ASSERT_EQ(reader.names(), (std::vector<std::string>{"keys", "public"}));
  reader.next([](Source& part) {
    EXPECT_EQ(load_keys(part, world().constants(), world().queue())->labels().size(), 2u);
  });
  reader.next([](Source& part) {
    EXPECT_EQ(load_public_key(part, world().constants(), world().queue()).id, world().secret.id());
  });
  reader.finish();
}

TEST(Bundle, TellsItsLengthBeforeItsBytes) {
  const Parts parts;
  LengthSink length;
  save(length, parts);
  EXPECT_EQ(length.bytes(), saved([&](Sink& s) { save(s, parts); }).size());
  length.signer = [](Message) { return Signature{}; };
  save(length, parts);
  EXPECT_EQ(length.bytes(), saved([&](Sink& s) { save(s, parts); }).size() + kSignatureBytes);
}

TEST(Bundle, LoadsFromMemoryAndFromAStreamThatGoesOn) {
  const Parts parts;
  Bytes bytes = saved([&](Sink& s) { save(s, parts); });
  MemorySource memory(bytes);
  load(memory);
  bytes.resize(bytes.size() + 7);
  Stream stream(bytes);
  load(stream);
  EXPECT_EQ(stream.left(), 7u) << "what follows in a stream is left to its reader";
  MemorySource longer(bytes);
  EXPECT_THROW(load(longer), FileError);
}

TEST(Bundle, SaysWhetherASignatureFollows) {
  const Parts parts;
  MemorySink sink;
  sink.signer = [](Message) { return Signature{}; };
  save(sink, parts);
  const Bytes bytes(sink.bytes().begin(), sink.bytes().end());
  Stream stream(bytes);
  bool seen = false;
  stream.verifier = [&](Message, const std::optional<Signature>& s) { seen = s.has_value(); };
  load(stream);
  EXPECT_TRUE(seen);
  Bytes cut(bytes.begin(), bytes.end() - kSignatureBytes);
  MemorySource without(cut);
  EXPECT_THROW(load(without), FileError) << "a signature that was cut off";
}

TEST(Bundle, TruncatedStreamsAndPartsAreRefused) {
  const Parts parts;
  const Bytes bytes = saved([&](Sink& s) { save(s, parts); });
  for (std::size_t n = 0; n < bytes.size(); n += 1 + bytes.size() / 97) {
    const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n));
    Stream stream(cut);
    EXPECT_THROW(load(stream), FileError) << n;
  }
  MemorySource source(bytes);
  BundleReader reader(source, Scheme::Ckks);
  EXPECT_THROW(reader.finish(), FileError) << "parts that nobody read";
  EXPECT_THROW(reader.next([](Source&) {}), FileError) << "a part that its reader left";
}

TEST(Bundle, OnlyBundlesComeFromStreams) {
  const Parts parts;
  const Bytes keys = saved(parts.list[0].save);
  Stream stream(keys);
  EXPECT_THROW(load_keys(stream, world().constants(), world().queue()), FileError);
}

}  // namespace
}  // namespace latticino::io
