#include "io/final_ciphertext.h"

#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "io/ciphertext_metadata.h"
#include "io/codec/poly.h"
#include "math/errors.h"

namespace latticino::io {
namespace {

using ckks::Ciphertext;
using ckks::Context;
using Integers = std::vector<std::uint64_t>;
__extension__ using Wide = unsigned __int128;

// The fewest bits that are kept of a coefficient. With fewer, loading a small file could allocate
// much more than its size.
constexpr int kFewestBits = 8;
// Fields: slots, scale, both shifts.
constexpr std::size_t kFinalEntryBytes = 4 + 8 + 1 + 1;

// Level 0: one or two primes (ops/operations.h, ModRaise), so q0 is below 2^62.
struct Modulus0 {
  explicit Modulus0(const Context& context)
      : basis(context.params().basis(0)), n(static_cast<std::size_t>(context.params().n())) {
    for (int i = 0; i < basis.size(); ++i) {
      primes.push_back(context.ring().prime(basis.prime(i)));
      q *= primes.back();
    }
    if (primes.size() == 2) inverse = inverse_of(primes[0] % primes[1], primes[1]);
  }

  // a^(p - 2) mod p, the inverse of a
  static std::uint64_t inverse_of(std::uint64_t a, std::uint64_t p) {
    std::uint64_t out = 1;
    for (std::uint64_t e = p - 2; e > 0; e >>= 1) {
      if ((e & 1) != 0) out = out * a % p;
      a = a * a % p;
    }
    return out;
  }

  // The integer in [0, q) with the residues at `i` of each limb.
  std::uint64_t joined(const std::vector<std::uint32_t>& words, std::size_t i) const {
    const std::uint64_t low = words[i];
    if (primes.size() == 1) return low;
    const std::uint64_t p = primes[1];
    const std::uint64_t high = (words[n + i] + p - low % p) % p * inverse % p;
    return low + primes[0] * high;
  }

  int bits(int shift) const { return std::bit_width(rounded(q - 1, shift)); }
  static std::uint64_t rounded(std::uint64_t c, int shift) {
    return shift == 0 ? c : (c + (std::uint64_t{1} << (shift - 1))) >> shift;
  }

  Basis basis;
  std::size_t n;
  std::vector<std::uint64_t> primes;
  std::uint64_t q = 1, inverse = 0;
};

struct FinalEntry {
  int slots = 0;
  double scale = 0;
  int shift_b = 0, shift_a = 0;
};

struct Part {
  std::size_t count = 0, gap = 1;
  int shift = 0, bits = 0;
  std::uint64_t bytes() const { return (count * static_cast<std::uint64_t>(bits) + 7) / 8; }
};

std::array<Part, 2> parts_of(const Modulus0& modulus, const FinalEntry& e) {
  const std::size_t read = 2 * static_cast<std::size_t>(e.slots);
  return {Part{read, modulus.n / read, e.shift_b, modulus.bits(e.shift_b)},
          Part{modulus.n, 1, e.shift_a, modulus.bits(e.shift_a)}};
}

std::uint64_t payload_of(const Modulus0& modulus, const FinalEntry& e) {
  const std::array<Part, 2> parts = parts_of(modulus, e);
  return parts[0].bytes() + parts[1].bytes();
}

std::vector<std::uint8_t> packed(const Part& part, const Integers& values) {
  std::vector<std::uint8_t> out(part.bytes());
  std::size_t bit = 0;
  for (const std::uint64_t value : values) {
    for (int left = part.bits, at = 0; left > 0;) {
      const int room = 8 - static_cast<int>(bit % 8), take = std::min(room, left);
      const std::uint64_t piece = (value >> at) & ((1u << take) - 1);
      out[bit / 8] |= static_cast<std::uint8_t>(piece << (bit % 8));
      bit += static_cast<std::size_t>(take);
      at += take;
      left -= take;
    }
  }
  return out;
}

Integers unpacked(const Part& part, std::span<const std::uint8_t> bytes) {
  Integers out(part.count);
  std::size_t bit = 0;
  for (std::uint64_t& value : out) {
    for (int left = part.bits, at = 0; left > 0;) {
      const int room = 8 - static_cast<int>(bit % 8), take = std::min(room, left);
      const std::uint64_t piece = (bytes[bit / 8] >> (bit % 8)) & ((1u << take) - 1);
      value |= piece << at;
      bit += static_cast<std::size_t>(take);
      at += take;
      left -= take;
    }
  }
  if (bit % 8 != 0 && bytes[bit / 8] >> (bit % 8) != 0) {
    refuse("bits after the last coefficient", "zeros");
  }
  return out;
}

void write_part(Writer& writer, Queue& queue, const Modulus0& modulus, const Ciphertext& x, int h,
                const Part& part, std::uint64_t factor) {
  const Ring& ring = x.context->ring();
  const Poly coefficients = queue.allocate(ring, modulus.basis, Domain::Coeff);
  queue.submit(
      Transform{{{.in = x.parts[h].view.select(modulus.basis), .out = coefficients.view}}});
  std::vector<std::uint32_t> words(modulus.primes.size() * modulus.n);
  queue.download(words.data(), coefficients.view);
  Integers values;
  for (std::size_t i = 0; i < part.count; ++i) {
    const Wide grown = Wide{modulus.joined(words, i * part.gap)} * factor;
    values.push_back(Modulus0::rounded(static_cast<std::uint64_t>(grown % modulus.q), part.shift));
  }
  writer.payload(packed(part, values));
}

Poly read_part(Reader& reader, const Context& context, const Modulus0& modulus, const Part& part) {
  std::vector<std::uint8_t> bytes(part.bytes());
  reader.payload(bytes);
  const Integers values = unpacked(part, bytes);
  const std::uint64_t most = Modulus0::rounded(modulus.q - 1, part.shift);
  std::vector<std::uint32_t> words(modulus.primes.size() * modulus.n);
  for (std::size_t i = 0; i < part.count; ++i) {
    if (values[i] > most) {
      refuse("the coefficient " + std::to_string(values[i]), "at most " + std::to_string(most));
    }
    const std::uint64_t c = (values[i] << part.shift) % modulus.q;
    for (std::size_t limb = 0; limb < modulus.primes.size(); ++limb) {
      words[limb * modulus.n + i * part.gap] = static_cast<std::uint32_t>(c % modulus.primes[limb]);
    }
  }
  Queue& queue = context.queue();
  const Poly coefficients = queue.allocate(context.ring(), modulus.basis, Domain::Coeff);
  queue.upload(coefficients.view, words.data());
  Poly out = queue.allocate(context.ring(), modulus.basis, Domain::Eval);
  queue.submit(Transform{{{.in = coefficients.view, .out = out.view}}});
  return out;
}

void require_final(const Ciphertext& x) {
  if (x.level == 0 && x.parts.size() == 2) return;
  throw LevelError("io.save_final", x.str(), "level 0 and two parts",
                   "bring it down with to_level(0)");
}

void require_form(const Modulus0& modulus, const FinalForm& form) {
  const int most = std::bit_width(modulus.q) - kFewestBits;
  const bool shifts =
      form.shift_b >= 0 && form.shift_b <= most && form.shift_a >= 0 && form.shift_a <= most;
  if (shifts && form.factor >= 1 && form.factor < modulus.q) return;
  throw ValueError("io.save_final",
                   "factor " + std::to_string(form.factor) + ", shifts " +
                       std::to_string(form.shift_b) + " and " + std::to_string(form.shift_a),
                   "a factor below q0, and shifts of at most " + std::to_string(most),
                   "keep more bits");
}

FinalEntry read_entry(Decoder& metadata, const Params& params, const Modulus0& modulus) {
  FinalEntry e;
  const std::uint32_t slots = metadata.u32();
  e.scale = metadata.f64();
  e.shift_b = metadata.u8();
  e.shift_a = metadata.u8();
  const int most = std::bit_width(modulus.q) - kFewestBits;
  const bool known = std::has_single_bit(slots) &&
                     slots <= static_cast<std::uint32_t>(params.max_slots()) && e.shift_b <= most &&
                     e.shift_a <= most;
  if (!known || !std::isfinite(e.scale) || e.scale <= 0) {
    refuse(std::to_string(slots) + " slots, scale " + std::to_string(e.scale) + ", shifts " +
               std::to_string(e.shift_b) + " and " + std::to_string(e.shift_a),
           "an answer of these parameters");
  }
  e.slots = static_cast<int>(slots);
  return e;
}

}  // namespace

void save_final(Sink& sink, std::span<const Ciphertext> ciphertexts, const std::string& note,
                const FinalForm& form, std::uint32_t version) {
  require_alike(ciphertexts);
  require_note(note);
  const Context& context = *ciphertexts[0].context;
  const Modulus0 modulus(context);
  require_form(modulus, form);
  Encoder metadata;
  Header header;
  header.version = version;
  header.type = ObjectType::Ciphertexts;
  header.params_hash = hash_bytes(context.params().hash());
  header.key = ciphertexts[0].key;
  metadata.text(note);
  metadata.u32(static_cast<std::uint32_t>(ciphertexts.size()));
  std::vector<FinalEntry> entries;
  for (const Ciphertext& x : ciphertexts) {
    require_final(x);
    const FinalEntry e{x.slots, x.scale * static_cast<double>(form.factor), form.shift_b,
                       form.shift_a};
    metadata.u32(static_cast<std::uint32_t>(e.slots));
    metadata.f64(e.scale);
    metadata.u8(static_cast<std::uint8_t>(e.shift_b));
    metadata.u8(static_cast<std::uint8_t>(e.shift_a));
    header.payload_bytes += payload_of(modulus, e);
    entries.push_back(e);
  }
  Writer writer(sink, header, metadata);
  if (writer.skipped()) return;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::array<Part, 2> parts = parts_of(modulus, entries[i]);
    for (int h = 0; h < 2; ++h) {
      write_part(writer, context.queue(), modulus, ciphertexts[i], h,
                 parts[static_cast<std::size_t>(h)], form.factor);
    }
  }
  writer.finish();
}

std::vector<Ciphertext> load_final(Reader& reader, Decoder& metadata,
                                   const std::shared_ptr<const Context>& context) {
  const Modulus0 modulus(*context);
  std::vector<FinalEntry> entries;
  std::uint64_t payload = 0;
  const std::uint32_t count = metadata.count(kFinalEntryBytes);
  for (std::uint32_t i = 0; i < count; ++i) {
    entries.push_back(read_entry(metadata, context->params(), modulus));
    payload += payload_of(modulus, entries.back());
    reader.require_room(payload);
  }
  metadata.finish();
  reader.require_payload(payload);
  std::vector<Ciphertext> out;
  for (const FinalEntry& e : entries) {
    Ciphertext x{context, {}, 0, e.scale, e.slots, reader.header().key};
    for (const Part& part : parts_of(modulus, e)) {
      x.parts.push_back(read_part(reader, *context, modulus, part));
    }
    out.push_back(std::move(x));
  }
  return out;
}

}  // namespace latticino::io
