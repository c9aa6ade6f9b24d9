#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "io/ciphertext_metadata.h"
#include "io/codec/lwe.h"
#include "io/tfhe_files.h"
#include "math/errors.h"

namespace latticino::io {
namespace {

using tfhe::Ciphertext;
using tfhe::Context;
using tfhe::Encoding;

// Fields: count, encoding, seeded, norm2, largest; a seed follows if seeded.
constexpr std::size_t kTfheEntryBytes = 4 + 1 + 1 + 8 + 4;

struct TfheEntry {
  LweView shape;  // allocates no data
  Encoding encoding = Encoding::Boolean;
  double norm2 = 0;
  std::uint32_t largest = 0;
  MaskSeed seed;
};

LweView shape(const TfheParams& params, std::uint32_t count) {
  LweView out;
  out.modulus = params.lwe_modulus();
  out.dimension = static_cast<std::uint32_t>(params.big_dimension());
  out.count = count;
  return out;
}

TfheEntry read_entry(Decoder& metadata, const TfheParams& params) {
  TfheEntry e;
  const std::uint32_t count = metadata.u32();
  const std::uint8_t encoding = metadata.u8(), seeded = metadata.u8();
  e.shape = shape(params, count);
  e.norm2 = metadata.f64();
  e.largest = metadata.u32();
  const bool known = count >= 1 && seeded <= 1 && encoding <= static_cast<int>(Encoding::Full) &&
                     params.booleans() == (encoding == static_cast<int>(Encoding::Boolean));
  e.encoding = static_cast<Encoding>(encoding);
  if (!known || !std::isfinite(e.norm2) || e.norm2 < 0 ||
      e.largest >= message_count(params, e.encoding)) {
    refuse(std::to_string(count) + " ciphertexts of encoding " + std::to_string(encoding) +
               ", messages up to " + std::to_string(e.largest) + ", squared norm " +
               std::to_string(e.norm2),
           "a batch of these parameters");
  }
  if (seeded == 1) {
    e.seed.emplace();
    metadata.raw(*e.seed);
  }
  return e;
}

// The noise that the file states is only a claim of its sender. If a seed makes the masks, they are
// those of a fresh encryption, whose error is below that of a bootstrapping. Anything else counts
// as the noisiest ciphertext that the set's tables and gates take.
double counted_norm2(const Context& context, const TfheEntry& e) {
  return std::max(e.norm2, e.seed ? 1 : largest_norm2(context, e.encoding));
}

tfhe::Origins origins_of(Queue& queue, const LweView& x) {
  constexpr std::uint32_t kMaxBatch = 1024;  // the most ciphertexts in host memory at once
  std::vector<tfhe::Origins> parts;
  std::vector<std::uint32_t> words;
  for (std::uint32_t i = 0; i < x.count; i += kMaxBatch) {
    const LweView part = x.part(i, std::min(kMaxBatch, x.count - i));
    words.resize(part.words());
    queue.copy_out(words.data(), part.data, words.size() * sizeof(std::uint32_t));
    parts.push_back(tfhe::Origins::of_masks(part, words.data()));
  }
  return tfhe::Origins::concatenated(parts);
}

// Leaves memory for other processes. On a host without free memory, the system would kill this
// process.
void require_memory(Queue& queue, std::uint64_t bytes) {
  const std::uint64_t free = queue.device().free_bytes;
  if (bytes <= free - free / 8) return;
  throw OutOfMemoryError(
      "io.read", std::to_string(free) + " bytes free",
      std::to_string(bytes) + " for the ciphertexts of this file, in 7/8 of them",
      "use smaller files, or another device");
}

}  // namespace

void save_ciphertexts(Sink& sink, std::span<const Ciphertext> batches, const std::string& note) {
  require_alike(batches);
  require_note(note);
  const Context& context = *batches[0].context;
  Encoder metadata;
  metadata.text(note);
  metadata.u32(static_cast<std::uint32_t>(batches.size()));
  Header header;
  std::vector<bool> seeded;
  for (const Ciphertext& x : batches) {
    seeded.push_back(x.seed && masks_come_from(context.queue(), x.view, *x.seed));
    metadata.u32(x.size());
    metadata.u8(static_cast<std::uint8_t>(x.encoding));
    metadata.u8(seeded.back() ? 1 : 0);
    metadata.f64(x.stated_norm2.value_or(x.norm2));
    metadata.u32(x.largest);
    if (seeded.back()) metadata.raw(*x.seed);
    header.payload_bytes += payload_bytes(x.view, seeded.back());
  }
  header.type = ObjectType::Ciphertexts;
  header.scheme = Scheme::Tfhe;
  header.params_hash = hash_bytes(context.params().hash());
  header.key = batches[0].key;
  Writer writer(sink, header, metadata);
  for (std::size_t i = 0; i < batches.size(); ++i) {
    write_lwe(writer, context.queue(), batches[i].view, seeded[i]);
  }
  writer.finish();
}

TfheCiphertexts load_tfhe_ciphertexts(Source& source,
                                      const std::shared_ptr<const Context>& context) {
  const TfheParams& params = context->params();
  Reader reader(source, ObjectType::Ciphertexts, Scheme::Tfhe);
  reader.require_params(params);
  Decoder metadata = reader.metadata();
  TfheCiphertexts out;
  out.note = metadata.text(kLongestNote);
  std::vector<TfheEntry> entries;
  std::uint64_t payload = 0, memory = 0;
  const std::uint32_t count = metadata.count(kTfheEntryBytes);
  for (std::uint32_t i = 0; i < count; ++i) {
    entries.push_back(read_entry(metadata, params));
    payload += payload_bytes(entries.back().shape, entries.back().seed.has_value());
    reader.require_room(payload);
    memory += payload_bytes(entries.back().shape, false);
  }
  metadata.finish();
  reader.require_payload(payload);
  require_memory(context->queue(), memory);
  for (const TfheEntry& e : entries) {
    auto [buffer, view] = context->allocate(e.shape.dimension, e.shape.count);
    read_lwe(reader, context->queue(), view, e.seed);
    Ciphertext x;
    x.context = context;
    x.buffer = std::move(buffer);
    x.view = view;
    x.key = reader.header().key;
    x.encoding = e.encoding;
    x.norm2 = counted_norm2(*context, e);
    x.origins = origins_of(context->queue(), x.view);
    x.outside = true;
    x.stated_norm2 = e.norm2;
    x.largest = e.largest;
    x.seed = e.seed;
    out.batches.push_back(std::move(x));
  }
  reader.finish();
  return out;
}

}  // namespace latticino::io
