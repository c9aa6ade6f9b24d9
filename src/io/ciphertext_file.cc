#include <cmath>
#include <string>
#include <vector>

#include "io/ciphertext_metadata.h"
#include "io/codec/poly.h"
#include "io/files.h"
#include "io/final_ciphertext.h"
#include "math/errors.h"

namespace latticino::io {
namespace {

using ckks::Ciphertext;
using ckks::Context;

// Fields: level, slots, parts, seeded, scale; a seed follows if seeded.
constexpr std::size_t kCkksEntryBytes = 4 + 4 + 1 + 1 + 8;

struct CkksEntry {
  int level = 0, slots = 0, parts = 0;
  double scale = 0;
  bool seeded = false;
  std::array<std::uint8_t, 32> seed{};
};

// Whether part a still is the expansion of the seed. Operations may have changed it.
bool is_seeded(const Ciphertext& x) {
  if (!x.seed || x.parts.size() != 2) return false;
  Queue& queue = x.context->queue();
  const PolyView a = x.parts[1].view;
  const std::size_t words = static_cast<std::size_t>(a.limbs()) * a.ring->n();
  std::vector<std::uint32_t> had(words), made(words);
  queue.download(had.data(), a);
  const Poly expanded = expand_poly(queue, *a.ring, a.basis(), *x.seed, 0);
  queue.download(made.data(), expanded.view);
  return had == made;
}

std::uint64_t stored_parts(const CkksEntry& e) { return e.seeded ? 1 : e.parts; }

CkksEntry read_entry(Decoder& metadata, const Params& params) {
  CkksEntry e;
  const std::uint32_t level = metadata.u32(), slots = metadata.u32();
  const std::uint8_t parts = metadata.u8(), seeded = metadata.u8();
  e.scale = metadata.f64();
  const bool known = level <= static_cast<std::uint32_t>(params.top_level()) && slots >= 1 &&
                     slots <= static_cast<std::uint32_t>(params.max_slots()) &&
                     (slots & (slots - 1)) == 0 && (parts == 2 || parts == 3) && seeded <= 1 &&
                     (seeded == 0 || parts == 2);
  if (!known || !std::isfinite(e.scale) || e.scale <= 0) {
    refuse("level " + std::to_string(level) + ", " + std::to_string(slots) + " slots, " +
               std::to_string(parts) + " parts, scale " + std::to_string(e.scale),
           "a ciphertext of these parameters");
  }
  e.level = static_cast<int>(level);
  e.slots = static_cast<int>(slots);
  e.parts = parts;
  e.seeded = seeded == 1;
  if (e.seeded) metadata.raw(e.seed);
  return e;
}

Ciphertext read_ciphertext(Reader& reader, const std::shared_ptr<const Context>& context,
                           const CkksEntry& e) {
  Ciphertext x{context, {}, e.level, e.scale, e.slots, reader.header().key};
  Queue& queue = context->queue();
  const Basis basis = context->params().basis(e.level);
  for (std::uint64_t i = 0; i < stored_parts(e); ++i) {
    x.parts.push_back(read_poly(reader, queue, context->ring(), basis));
  }
  if (e.seeded) {
    x.seed = e.seed;
    x.parts.push_back(expand_poly(queue, context->ring(), basis, e.seed, 0));
  }
  return x;
}

}  // namespace

void save_ciphertexts(Sink& sink, std::span<const Ciphertext> ciphertexts, const std::string& note,
                      std::uint32_t version) {
  require_alike(ciphertexts);
  require_note(note);
  const Context& context = *ciphertexts[0].context;
  const Params& params = context.params();
  Encoder metadata;
  Header header;
  header.version = version;
  std::vector<CkksEntry> entries;
  metadata.text(note);
  metadata.u32(static_cast<std::uint32_t>(ciphertexts.size()));
  for (const Ciphertext& x : ciphertexts) {
    CkksEntry e{x.level, x.slots, static_cast<int>(x.parts.size()), x.scale, is_seeded(x), {}};
    metadata.u32(static_cast<std::uint32_t>(e.level));
    metadata.u32(static_cast<std::uint32_t>(e.slots));
    metadata.u8(static_cast<std::uint8_t>(e.parts));
    metadata.u8(e.seeded ? 1 : 0);
    metadata.f64(e.scale);
    if (e.seeded) metadata.raw(*x.seed);
    header.payload_bytes += stored_parts(e) * payload_bytes(context.ring(), params.basis(e.level));
    entries.push_back(e);
  }
  header.type = ObjectType::Ciphertexts;
  header.params_hash = hash_bytes(params.hash());
  header.key = ciphertexts[0].key;
  Writer writer(sink, header, metadata);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Basis basis = params.basis(entries[i].level);
    for (std::uint64_t h = 0; h < stored_parts(entries[i]); ++h) {
      write_poly(writer, context.queue(), ciphertexts[i].parts[h].view.select(basis));
    }
  }
  writer.finish();
}

Ciphertexts load_ciphertexts(Source& source, const std::shared_ptr<const Context>& context) {
  const Params& params = context->params();
  Reader reader(source, ObjectType::Ciphertexts);
  reader.require_params(params);
  Decoder metadata = reader.metadata();
  Ciphertexts out;
  out.note = metadata.text(kLongestNote);
  if (is_final(reader.header().version)) {
    out.ciphertexts = load_final(reader, metadata, context);
    out.final = true;
    reader.finish();
    return out;
  }
  std::vector<CkksEntry> entries;
  std::uint64_t payload = 0;
  const std::uint32_t count = metadata.count(kCkksEntryBytes);
  for (std::uint32_t i = 0; i < count; ++i) {
    const CkksEntry e = read_entry(metadata, params);
    payload += stored_parts(e) * payload_bytes(context->ring(), params.basis(e.level));
    reader.require_room(payload);
    entries.push_back(e);
  }
  metadata.finish();
  reader.require_payload(payload);
  for (const CkksEntry& e : entries) {
    out.ciphertexts.push_back(read_ciphertext(reader, context, e));
  }
  reader.finish();
  return out;
}

}  // namespace latticino::io
