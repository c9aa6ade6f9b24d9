#include "io/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "math/errors.h"
#include "support/io_support.h"
#include "support/ring_support.h"
#include "support/temporary_folder.h"

namespace latticino::io {
namespace {

using test::Bytes;
using test::deviation;
using test::difference;
using test::FileWorld;
using test::saved;

constexpr char kLeveled[] = "test-n10-leveled-insecure";
constexpr char kBoot[] = "test-n10-boot-insecure", kBands[] = "test-n10-bands-insecure";

void expect_equal(Queue& queue, const PolyView& a, const PolyView& b) {
  ASSERT_EQ(a.basis(), b.basis());
  EXPECT_EQ(test::download(queue, a), test::download(queue, b));
}

void expect_equal(Queue& queue, const rlwe::EvaluationKeys& a, const rlwe::EvaluationKeys& b) {
  EXPECT_EQ(a.id(), b.id());
  ASSERT_EQ(a.labels(), b.labels());
  for (const rlwe::KeyLabel& label : a.labels()) {
    const rlwe::SwitchKey &x = a.get(label, 0), &y = b.get(label, 0);
    EXPECT_EQ(x.level, y.level);
    EXPECT_EQ(x.seed, y.seed);
    ASSERT_EQ(x.digit_index, y.digit_index);
    for (std::size_t d = 0; d < x.digits.size(); ++d) {
      for (int h = 0; h < 2; ++h) expect_equal(queue, x.digits[d][h].view, y.digits[d][h].view);
    }
  }
}

TEST(Files, ParamsRoundTrip) {
  for (const char* name : {kLeveled, kBoot, kBands, "n16-d40-boot-v1", "n16-d40-boot-v2"}) {
    const auto params = preset(name);
    const Bytes bytes = saved([&](Sink& s) { save_params(s, *params); });
    MemorySource source(bytes);
    EXPECT_EQ(load_params(source)->canonical_text(), params->canonical_text());
  }
}

TEST(Files, KeysMadeWhileTheyAreWrittenGiveTheSameFile) {
  const rlwe::KeyRequest request{{{rlwe::KeyKind::Relinearize, 1}, 3},
                                 {{rlwe::KeyKind::Galois, 5}, 1},
                                 {{rlwe::KeyKind::Galois, 25}, 2}};
  FileWorld first(preset(kBoot)), second(preset(kBoot));
  const auto keys = first.keys(request);
  const Bytes expected =
      saved([&](Sink& s) { save_keys(s, first.constants(), first.queue(), *keys); });
  std::vector<KeyEntry> entries;
  for (const auto& [label, level] : request) {
    entries.push_back({label, level, second.random.seed()});
  }
  rlwe::KeyGenerator generator(second.constants(), second.queue(), second.secret, second.random);
  int made = 0;
  const auto make = [&](const KeyEntry& e) {
    ++made;
    return generator.make(e.label, e.level, e.seed);
  };
  const auto save = [&](Sink& s) {
    save_keys(s, second.constants(), second.queue(), second.secret.id(), entries, make);
  };
  LengthSink length;
  save(length);
  EXPECT_EQ(length.bytes(), expected.size());
  EXPECT_EQ(made, 0);  // the length alone needs no key
  EXPECT_EQ(saved(save), expected);
  EXPECT_EQ(made, 3);
  std::swap(entries[0], entries[1]);
  EXPECT_THROW(saved(save), ValueError);
}

TEST(Files, KeysRoundTripInEveryPart) {
  FileWorld w(preset(kBoot));
  const auto keys = w.keys({{{rlwe::KeyKind::Relinearize, 1}, 3},
                            {{rlwe::KeyKind::Galois, 5}, 1},
                            {{rlwe::KeyKind::Galois, 2047}, w.params->top_level()},
                            {{rlwe::KeyKind::DenseToSparse, 1}, 0},
                            {{rlwe::KeyKind::SparseToDense, 1}, w.params->top_level()}});
  const Bytes bytes = saved([&](Sink& s) { save_keys(s, w.constants(), w.queue(), *keys); });
  EXPECT_LT(bytes.size(), keys->bytes() / 2 + 1024);  // seeds replace the a parts
  MemorySource source(bytes);
  expect_equal(w.queue(), *load_keys(source, w.constants(), w.queue()), *keys);
}

// The level of a key says which band it is for.
TEST(Files, KeysOfBandsRoundTrip) {
  FileWorld w(preset(kBands));
  rlwe::KeyRequest request;
  for (const int level : {0, 2, 5, 9, 14, 19}) {
    for (const rlwe::KeyLabel& label : {rlwe::KeyLabel{}, {rlwe::KeyKind::Galois, 5}}) {
      request[label.at(*w.params, level)] = level;
    }
  }
  request[{rlwe::KeyKind::DenseToSparse}] = 0;
  const auto keys = w.keys(request);
  EXPECT_EQ(keys->labels().size(), 11u);
  const Bytes bytes = saved([&](Sink& s) { save_keys(s, w.constants(), w.queue(), *keys); });
  MemorySource source(bytes);
  const auto loaded = load_keys(source, w.constants(), w.queue());
  expect_equal(w.queue(), *loaded, *keys);
  EXPECT_EQ(saved([&](Sink& s) { save_keys(s, w.constants(), w.queue(), *loaded); }), bytes);
}

TEST(Files, PublicKeyRoundTrip) {
  FileWorld w(preset(kLeveled));
  const auto key = rlwe::make_public_key(w.constants(), w.queue(), w.secret, w.random);
  const Bytes bytes = saved([&](Sink& s) { save_public_key(s, w.constants(), w.queue(), key); });
  MemorySource source(bytes);
  const auto loaded = load_public_key(source, w.constants(), w.queue());
  EXPECT_EQ(loaded.id, key.id);
  EXPECT_EQ(loaded.params_hash, key.params_hash);
  for (int h = 0; h < 2; ++h) expect_equal(w.queue(), loaded.parts[h].view, key.parts[h].view);
}

TEST(Files, CiphertextsRoundTrip) {
  FileWorld w(preset(kLeveled));
  const auto m = w.message();
  std::vector<ckks::Ciphertext> x{w.encrypt(m, 2), w.encrypt(w.message(), 0), w.encrypt(m, 1)};
  x[1].seed.reset();                    // stored in full
  x[2].parts.push_back(x[2].parts[0]);  // with three parts, its seed is of no use
  x[0].scale = 0.125;
  x[0].slots = 4;
  const Bytes bytes = saved([&](Sink& s) { save_ciphertexts(s, x, "length 7"); });
  MemorySource source(bytes);
  const Ciphertexts loaded = load_ciphertexts(source, w.context);
  EXPECT_EQ(loaded.note, "length 7");
  ASSERT_EQ(loaded.ciphertexts.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    const ckks::Ciphertext& y = loaded.ciphertexts[i];
    EXPECT_EQ(y.level, x[i].level);
    EXPECT_EQ(y.scale, x[i].scale);
    EXPECT_EQ(y.slots, x[i].slots);
    EXPECT_EQ(y.key, w.secret.id());
    ASSERT_EQ(y.parts.size(), x[i].parts.size());
    for (std::size_t h = 0; h < y.parts.size(); ++h) {
      expect_equal(w.queue(), y.parts[h].view, x[i].parts[h].view);
    }
  }
  EXPECT_TRUE(loaded.ciphertexts[0].seed.has_value());
  EXPECT_FALSE(loaded.ciphertexts[2].seed.has_value());
}

TEST(Files, ASeedThatNoLongerMakesAIsNotStored) {
  FileWorld w(preset(kLeveled));
  ckks::Ciphertext x = w.encrypt(w.message(), 1);
  const std::size_t fresh = saved([&](Sink& s) { save_ciphertexts(s, std::span(&x, 1)); }).size();
  const PolyView a = x.parts[1].view;
  x.parts[1] = w.queue().allocate(w.context->ring(), a.basis(), Domain::Eval);
  w.queue().submit(Linear{{{{{a, -1, {}, {}}}, x.parts[1].view, {}, {}}}});
  const Bytes bytes = saved([&](Sink& s) { save_ciphertexts(s, std::span(&x, 1)); });
  EXPECT_GT(bytes.size(), fresh + 4 * w.params->n());
  MemorySource source(bytes);
  expect_equal(w.queue(), load_ciphertexts(source, w.context).ciphertexts[0].parts[1].view,
               x.parts[1].view);
}

TEST(Files, SecretKeyRoundTripOnDisk) {
  FileWorld w(preset(kBoot));
  const test::TemporaryFolder folder;
  const std::string path = folder / "secret";
  save_secret_key(path, w.secret);
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  FileSource source(path);
  const rlwe::SecretKey key = load_secret_key(source, w.params);
  EXPECT_EQ(key.id(), w.secret.id());
  EXPECT_TRUE(std::ranges::equal(key.coefficients(), w.secret.coefficients()));
  EXPECT_TRUE(std::ranges::equal(key.sparse_coefficients(), w.secret.sparse_coefficients()));
}

TEST(Files, ServerFilesHoldNoSecret) {
  FileWorld w(preset(kLeveled));
  const auto keys = w.keys({{{rlwe::KeyKind::Relinearize, 1}, 1}});
  const Bytes bytes = saved([&](Sink& s) { save_keys(s, w.constants(), w.queue(), *keys); });
  MemorySource source(bytes);
  EXPECT_THROW(load_secret_key(source, w.params), FileError);
  const auto s = w.secret.coefficients();
  const Bytes pattern(s.begin(), s.begin() + 32);
  EXPECT_EQ(std::search(bytes.begin(), bytes.end(), pattern.begin(), pattern.end()), bytes.end());
}

TEST(Files, OtherParametersAndKindsAreRefused) {
  FileWorld w(preset(kLeveled)), boot(preset(kBoot));
  const ckks::Ciphertext x = w.encrypt(w.message(), 1), y = boot.encrypt(boot.message(), 1);
  const Bytes bytes = saved([&](Sink& s) { save_ciphertexts(s, std::span(&x, 1)); });
  MemorySource a(bytes), b(bytes), c(bytes);
  EXPECT_THROW(load_ciphertexts(a, boot.context), ContextError);
  EXPECT_THROW(load_keys(b, w.constants(), w.queue()), FileError);
  EXPECT_EQ(inspect(c).key, w.secret.id());
  const std::vector<ckks::Ciphertext> mixed{x, y};
  EXPECT_THROW(saved([&](Sink& s) { save_ciphertexts(s, mixed); }), ContextError);
  FileWorld other(w.params, 2);
  const auto keys = boot.keys({{{rlwe::KeyKind::Relinearize, 1}, 0}});
  EXPECT_THROW(saved([&](Sink& s) { save_keys(s, w.constants(), w.queue(), *keys); }),
               ContextError);
}

TEST(Files, AFailedWriteLeavesTheOldFile) {
  const test::TemporaryFolder own;
  const std::filesystem::path& folder = own.path();
  const std::string path = own / "object";
  const Bytes old{1, 2, 3};
  write_file(path, [&](Sink& s) { s.write(old); });
  EXPECT_THROW(write_file(path,
                          [&](Sink& s) {
                            s.write(Bytes(100, 7));
                            throw ValueError("test", "a", "b", "c");
                          }),
               ValueError);
  FileSource source(path);
  ASSERT_EQ(source.remaining(), old.size());
  Bytes now(3);
  source.read(now);
  EXPECT_EQ(now, old);
  EXPECT_THROW(source.read(now), FileError);
  // No temporary files are left.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  EXPECT_THROW(FileSource((folder / "none").string()), FileError);
  EXPECT_THROW(FileSource(folder.string()), FileError);
  const std::string pipe = (folder / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THROW(FileSource{pipe}, FileError);  // and it does not wait for a writer
  EXPECT_THROW(write_file((folder / "no" / "where").string(), [](Sink&) {}), FileError);
}

TEST(Files, SavingReplacesNothingButRegularFiles) {
  const test::TemporaryFolder own;
  const std::filesystem::path& folder = own.path();
  const auto path = [&](const char* name) { return (folder / name).string(); };
  const auto write = [](const std::string& to) {
    write_file(to, [](Sink& s) { s.write(Bytes{7}); });
  };
  write(path("target"));
  ASSERT_EQ(symlink("target", path("link").c_str()), 0);
  ASSERT_EQ(symlink("nowhere", path("dangling").c_str()), 0);
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  const auto count = [&] { return std::distance(std::filesystem::directory_iterator(folder), {}); };
  const auto before = count();
  for (const char* name : {"link", "dangling", "pipe", "."}) {
    EXPECT_THROW(write(path(name)), FileError) << name;
  }
  EXPECT_THROW(write("/dev/null"), FileError);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_TRUE(std::filesystem::is_fifo(folder / "pipe"));
  EXPECT_EQ(count(), before);  // no temporary files are left
  // A file that gets the name while the body runs is not overwritten either.
  EXPECT_THROW(
      write_file(path("late"), [&](Sink&) { ASSERT_EQ(mkfifo(path("late").c_str(), 0600), 0); }),
      FileError);
  EXPECT_TRUE(std::filesystem::is_fifo(folder / "late"));
  write(path("target"));  // a regular file is replaced
  const std::string nul = path("target") + std::string(1, '\0') + "x";
  EXPECT_THROW(write(nul), FileError);
  EXPECT_THROW(FileSource{nul}, FileError);
  EXPECT_THROW(write(""), FileError);
}

TEST(Files, TextsAreUtf8) {
  for (const char* good : {"", "plain", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x8d\xa6",
                           "\xed\x9f\xbf", "\xee\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(is_utf8(good)) << good;
  }
  EXPECT_TRUE(is_utf8(std::string_view("\0", 1)));
  for (const char* bad :
       {"\x80", "\xc3", "\xc3(", "\xc0\xaf", "\xc1\xbf", "\xe2\x82", "\xe0\x9f\x80", "\xed\xa0\x80",
        "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "a\xf0\x9f\x8d"}) {
    EXPECT_FALSE(is_utf8(bad)) << bad;
  }
  FileWorld w(preset(kLeveled));
  const ckks::Ciphertext x = w.encrypt(w.message(), 0);
  EXPECT_THROW(saved([&](Sink& s) { save_ciphertexts(s, std::span(&x, 1), "\xff"); }), ValueError);
  Bytes bytes = saved([&](Sink& s) { save_ciphertexts(s, std::span(&x, 1), "note"); });
  bytes[kHeaderBytes + 5] = 0xff;
  test::repair(bytes);
  MemorySource source(bytes);
  EXPECT_THROW(load_ciphertexts(source, w.context), FileError);
}

TEST(Files, OnlyParametersHaveNoKey) {
  FileWorld w(preset(kLeveled));
  const ckks::Ciphertext x = w.encrypt(w.message(), 0);
  const auto zero_key = [](Bytes b) {
    std::fill_n(b.begin() + 56, 16, std::uint8_t{0});
    test::repair(b);
    return b;
  };
  const Bytes a = zero_key(saved([&](Sink& s) { save_ciphertexts(s, std::span(&x, 1)); }));
  const Bytes b = zero_key(saved([&](Sink& s) { save_secret_key(s, w.secret); }));
  Bytes c = saved([&](Sink& s) { save_params(s, *w.params); });
  c[56] = 1;
  test::repair(c);
  MemorySource first(a), second(b), third(c);
  EXPECT_THROW(load_ciphertexts(first, w.context), FileError);
  EXPECT_THROW(load_secret_key(second, w.params), FileError);
  EXPECT_THROW(load_params(third), FileError);
  ckks::Ciphertext dry = x;
  dry.key = {};
  EXPECT_THROW(saved([&](Sink& s) { save_ciphertexts(s, std::span(&dry, 1)); }), KeyError);
}

// The caller chooses the algorithm: here a sum, instead of a signature.
Signature checksum(Message message) {
  Signature s;
  s.public_key.fill(5);
  for (std::size_t i = 0; i < message.size(); ++i) {
    s.bytes[i % s.bytes.size()] =
        static_cast<std::uint8_t>(s.bytes[i % s.bytes.size()] * 31 + message[i]);
  }
  return s;
}
void require_checksum(Message message, const std::optional<Signature>& s) {
  if (s && s->bytes == checksum(message).bytes) return;
  throw FileError("test", "another signature", "its own", "none");
}

TEST(Files, SignaturesCoverTheWholeFile) {
  FileWorld w(preset(kLeveled));
  const ckks::Ciphertext x = w.encrypt(w.message(), 0), y = w.encrypt(w.message(), 0);
  const auto save = [&](const ckks::Ciphertext& z, bool sign) {
    return saved([&](Sink& s) {
      if (sign) s.signer = checksum;
      save_ciphertexts(s, std::span(&z, 1), "note");
    });
  };
  const auto load = [&](const Bytes& bytes, bool verify) {
    MemorySource source(bytes);
    if (verify) source.verifier = require_checksum;
    return load_ciphertexts(source, w.context);
  };
  const Bytes plain = save(x, false), marked = save(x, true), other = save(y, true);
  ASSERT_EQ(marked.size(), plain.size() + kSignatureBytes);
  EXPECT_TRUE(std::equal(plain.begin(), plain.end(), marked.begin()));
  EXPECT_EQ(load(marked, true).note, "note");
  EXPECT_EQ(load(marked, false).note, "note");
  EXPECT_EQ(load(plain, false).note, "note");
  EXPECT_THROW(load(plain, true), FileError);
  Bytes moved = plain;  // the signature of another file
  moved.insert(moved.end(), other.end() - kSignatureBytes, other.end());
  EXPECT_EQ(load(moved, false).note, "note");
  EXPECT_THROW(load(moved, true), FileError);
  Bytes altered = plain;  // with corrected checks and the old signature
  altered[kHeaderBytes + 4] = 'N';
  test::repair(altered);
  altered.insert(altered.end(), marked.end() - kSignatureBytes, marked.end());
  EXPECT_EQ(load(altered, false).note, "Note");
  EXPECT_THROW(load(altered, true), FileError);
  for (std::size_t cut = 1; cut < kSignatureBytes; ++cut) {
    EXPECT_THROW(load(Bytes(marked.begin(), marked.end() - cut), false), FileError) << cut;
  }
  for (std::size_t at = 0; at < 16; ++at) {  // magic, version and algorithm
    Bytes b = marked;
    b[plain.size() + at] ^= 1;
    EXPECT_THROW(load(b, false), FileError) << at;
  }
  // Secret keys are never signed: neither written nor read with a signature.
  const Bytes secret = saved([&](Sink& s) {
    s.signer = checksum;
    save_secret_key(s, w.secret);
  });
  Bytes longer = secret;
  longer.insert(longer.end(), marked.end() - kSignatureBytes, marked.end());
  MemorySource exact(secret), signed_secret(longer);
  EXPECT_EQ(load_secret_key(exact, w.params).id(), w.secret.id());
  EXPECT_THROW(load_secret_key(signed_secret, w.params), FileError);
}

// A payload over 4 GiB, written and read in pieces: lengths are 64-bit all the way.
TEST(Files, LengthsPassFourGibibytes) {
  struct CountingSink : Sink {
    void write(std::span<const std::uint8_t> bytes) override { count += bytes.size(); }
    std::uint64_t count = 0;
  };
  Header header;
  header.payload_bytes = (std::uint64_t{1} << 32) + 64;
  Encoder e;
  CountingSink counting;
  {
    Writer writer(counting, header, e);
    EXPECT_THROW(writer.finish(), FileError);  // the payload is owed in full
  }
  struct SparseSource : Source {
    explicit SparseSource(Bytes b) : head(std::move(b)), inner(head) {}
    void read(std::span<std::uint8_t> out) override { inner.read(out); }
    std::uint64_t remaining() const override {
      return inner.remaining() + (std::uint64_t{1} << 32) + 64 + kDigestBytes;
    }
    Bytes head;
    MemorySource inner;
  };
  MemorySink sink;
  Writer(sink, header, e);
  SparseSource source({sink.bytes().begin(), sink.bytes().end()});
  const Reader reader(source, ObjectType::Params);
  EXPECT_EQ(reader.header().payload_bytes, header.payload_bytes);
  EXPECT_THROW(reader.require_payload(64), FileError);
}

// A file over 4 GiB on disk, of whole ciphertexts. A minute of one core: asked for by name.
TEST(Files, CiphertextsPassFourGibibytes) {
  if (std::getenv("LATTICINO_LARGE_FILES") == nullptr) {
    GTEST_SKIP() << "set LATTICINO_LARGE_FILES=1 for a file of 4 GiB (5 GiB of disk, 6 of memory)";
  }
  const FileWorld world(preset("n16-d40-boot-v1"));
  const int level = world.params->top_level();
  const std::uint64_t part =
      sizeof(std::uint32_t) * std::uint64_t{65536} * world.params->limbs(level);
  const std::uint64_t count = (std::uint64_t{1} << 32) / (2 * part) + 2, total = 2 * part * count;
  const test::TemporaryFolder own;
  const std::filesystem::path& folder = own.path();
  const std::uint64_t disk = std::filesystem::space(folder).available;
  const std::uint64_t memory = world.queue().device().free_bytes;
  if (disk < total + (1u << 30) || memory < total + (2u << 30)) {
    GTEST_SKIP() << "needs " << (total >> 30) + 1 << " GiB of disk in " << folder << " and "
                 << (total >> 30) + 2 << " GiB of memory, has " << (disk >> 30) << " and "
                 << (memory >> 30);
  }
  // One ciphertext many times, but for the last: its words are the largest residues.
  std::vector<ckks::Ciphertext> saved;
  for (int i = 0; i < 2; ++i) {
    ckks::Ciphertext x{world.context, {}, level, 1.0, 4, world.secret.id(), {}};
    for (int h = 0; h < 2; ++h) {
      x.parts.push_back(
          world.queue().allocate(world.context->ring(), world.params->basis(level), Domain::Eval));
      std::vector<std::uint32_t> words;
      for (int l = 0; l < x.parts[h].view.limbs(); ++l) {
        words.insert(words.end(), 65536, i * (world.context->ring().prime(l) - 1) + h * (1 - i));
      }
      world.queue().upload(x.parts[h].view, words.data());
    }
    saved.push_back(std::move(x));
  }
  saved.insert(saved.begin(), count - 2, saved[0]);
  const std::string path = (folder / "ciphertexts").string();
  write_file(path, [&](Sink& sink) { save_ciphertexts(sink, saved, "note"); });
  EXPECT_GT(std::filesystem::file_size(path), std::uint64_t{1} << 32);
  {
    FileSource source(path);
    const Ciphertexts loaded = load_ciphertexts(source, world.context);
    ASSERT_EQ(loaded.ciphertexts.size(), saved.size());
    for (const std::size_t i : {std::size_t{0}, saved.size() - 2, saved.size() - 1}) {
      for (int h = 0; h < 2; ++h) {
        expect_equal(world.queue(), loaded.ciphertexts[i].parts[h].view, saved[i].parts[h].view);
      }
    }
  }
  // Cut behind the four gibibytes: refused by its length, before anything is read.
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  FileSource cut(path);
  EXPECT_THROW(load_ciphertexts(cut, world.context), FileError);
}

}  // namespace
}  // namespace latticino::io
