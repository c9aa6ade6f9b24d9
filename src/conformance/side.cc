#include "conformance/side.h"

#include <algorithm>
#include <cmath>

namespace latticino::conformance {
namespace {

constexpr std::uint32_t kPoison = 0xFFFFFFFF;  // a word that is never a residue

// Numbers from 2^-60 to 1 in size; +-0; the corners of the box; alternating; a spike; and, for one
// slot at 2^40, halves of units, where rounding ties.
double slot_value(Pattern pattern, std::uint64_t random, std::size_t i, std::size_t spike) {
  const double sign = (random & 1) == 0 ? 1 : -1;
  const double unit = static_cast<double>(random >> 11) * 0x1p-53;
  switch (pattern) {
    case Pattern::Random:
      return sign * std::ldexp(unit, -static_cast<int>((random >> 1) % 8 * (i % 9)));
    case Pattern::Zero:
      return sign * 0.0;
    case Pattern::Largest:
      return 1;
    case Pattern::Alternating:
      return i / 2 % 2 == 0 ? 1 : -1;
    case Pattern::Spike:
      return i == spike ? 1 : 0;
    case Pattern::Middle:
      return sign * (std::floor(unit * 1024) + 0.5) * 0x1p-40;
  }
  return 0;
}

}  // namespace

const char* name(Pattern pattern) {
  constexpr const char* kNames[kPatterns] = {"random", "0", "q-1", "0, q-1", "spike", "around q/2"};
  return kNames[static_cast<int>(pattern)];
}

std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

void fill(Pattern pattern, std::uint64_t salt, std::uint32_t q, std::uint32_t* out, std::size_t n) {
  const std::uint64_t start = mix(salt);
  for (std::size_t i = 0; i < n; ++i) {
    switch (pattern) {
      case Pattern::Random:
        out[i] = static_cast<std::uint32_t>(((mix(start + i) >> 32) * q) >> 32);
        break;
      case Pattern::Zero:
        out[i] = 0;
        break;
      case Pattern::Largest:
        out[i] = q - 1;
        break;
      case Pattern::Alternating:
        out[i] = i % 2 == 0 ? 0 : q - 1;
        break;
      case Pattern::Spike:
        out[i] = i == start % n ? q - 1 : 0;
        break;
      case Pattern::Middle:
        out[i] = q / 2 + static_cast<std::uint32_t>(mix(start + i) & 1);
        break;
    }
  }
}

Observed::Array::Array(const Ring& ring, const Basis& b, Domain d, const Words& words)
    : basis(b), domain(d), limbs_(ring.prime_count(), nullptr) {
  const std::uint32_t* next = words.data();
  for (int i = 0; i < basis.size(); ++i, next += ring.n()) limbs_[basis.prime(i)] = next;
}

Side::Side(std::unique_ptr<Backend> backend, std::shared_ptr<const Params> params)
    : queue_(std::move(backend)),
      constants_(std::make_unique<rlwe::Constants>(std::move(params))),
      ring_(&constants_->ring()),
      slot_transform_(ring_->log_n()) {}

Side::Side(std::unique_ptr<Backend> backend, int log_n, const std::vector<std::uint32_t>& primes)
    : queue_(std::move(backend)),
      own_ring_(std::make_unique<Ring>(log_n, primes)),
      ring_(own_ring_.get()),
      slot_transform_(log_n) {}

Words& Side::new_words(Slot& slot) {
  slot.words = static_cast<int>(next_words_++);
  if (next_words_ > inputs_->words.size()) inputs_->words.emplace_back();
  return inputs_->words[slot.words];
}

const Ring& Side::subring() {
  if (subring_ == nullptr) {
    subring_ = std::make_unique<Ring>(ring_->log_n() - 2, ring_->primes());
  }
  return *subring_;
}

Side::Slot& Side::add(const Ring& ring, const Basis& basis, Domain domain, std::uint32_t count,
                      bool read, bool written) {
  const std::size_t n = ring.n(), limbs = static_cast<std::size_t>(basis.size()) * count;
  Slot slot{};
  slot.words = -1;
  slot.written = written;
  slot.result = domain;
  slot.memory.buffer = queue_.allocate((limbs + 2) * n * sizeof(std::uint32_t));
  const PolyArray array{PolyView::contiguous(slot.memory.buffer->words(), ring, basis, domain, 1),
                        count};
  for (std::uint32_t i = 0; i < count; ++i) slot.views.push_back(array[i]);
  if (read) {
    const std::size_t salt = inputs_->salt + 1000 * next_words_;
    Words& words = new_words(slot);
    for (std::size_t i = words.size() / n; i < limbs; ++i) {
      words.resize(words.size() + n);
      fill(inputs_->pattern, salt + i, ring.prime(basis.prime(static_cast<int>(i % basis.size()))),
           words.data() + i * n, n);
    }
  }
  slots_.push_back(std::move(slot));
  return slots_.back();
}

PolyView Side::input(const Basis& basis, Domain domain) {
  return add(*ring_, basis, domain, 1, true, false).views[0];
}
PolyView Side::subring_input(const Basis& basis, Domain domain) {
  return add(subring(), basis, domain, 1, true, false).views[0];
}
PolyView Side::output(const Basis& basis, Domain domain) {
  return add(*ring_, basis, domain, 1, false, true).views[0];
}
PolyView Side::in_out(const Basis& basis, Domain domain) {
  return add(*ring_, basis, domain, 1, true, true).views[0];
}

PolyView Side::in_out(const Basis& basis, Domain from, Domain to) {
  Slot& slot = add(*ring_, basis, from, 1, true, true);
  slot.result = to;
  return slot.views[0];
}

PolyArray Side::input_array(const Basis& basis, Domain domain, std::uint32_t count) {
  return {add(*ring_, basis, domain, count, true, false).views[0], count};
}
PolyArray Side::output_array(const Basis& basis, Domain domain, std::uint32_t count) {
  return {add(*ring_, basis, domain, count, false, true).views[0], count};
}

LweView Side::add_lwe(std::uint32_t modulus, std::uint32_t dimension, std::uint32_t count,
                      bool read) {
  constexpr std::size_t kGap = 3;  // guard limbs are no output: they must stay poisoned
  const std::size_t n = ring_->n();
  Slot slot{};
  slot.words = -1;
  slot.written = !read;
  slot.lwe = {nullptr, modulus, dimension, count, dimension + 1 + kGap};
  const std::size_t limbs = (slot.lwe.words() + n - 1) / n;
  slot.memory.buffer = queue_.allocate((limbs + 2) * n * sizeof(std::uint32_t));
  slot.lwe.data = slot.memory.buffer->words() + n;
  if (read) {
    const std::size_t salt = inputs_->salt + 1000 * next_words_;
    Words& words = new_words(slot);
    if (words.empty()) {
      words.assign(slot.lwe.words(), kPoison);
      for (std::uint32_t i = 0; i < count; ++i) {
        fill(inputs_->pattern, salt + i, modulus, words.data() + i * slot.lwe.stride,
             dimension + std::size_t{1});
      }
    }
  }
  slots_.push_back(std::move(slot));
  return slots_.back().lwe;
}

LweView Side::input_lwe(std::uint32_t modulus, std::uint32_t dimension, std::uint32_t count) {
  return add_lwe(modulus, dimension, count, true);
}
LweView Side::output_lwe(std::uint32_t modulus, std::uint32_t dimension, std::uint32_t count) {
  return add_lwe(modulus, dimension, count, false);
}

template <class T>
const T* Side::upload(const std::vector<T>& values) {
  number_buffers_.push_back(queue_.allocate(values.size() * sizeof(T)));
  queue_.copy_in(number_buffers_.back()->data(), values.data(), values.size() * sizeof(T));
  return static_cast<const T*>(number_buffers_.back()->data());
}

const std::int64_t* Side::integers() {
  const std::size_t n = ring_->n();
  if (next_integers_ == inputs_->integers.size()) {
    std::vector<std::int64_t> values(n);
    constexpr std::int64_t kMin = std::int64_t{1} << 63, kMax = ~kMin;
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t random = mix(inputs_->salt + 77 * next_integers_ + i);
      switch (inputs_->pattern) {
        case Pattern::Random:
          values[i] = static_cast<std::int64_t>(random >> (i % 61));
          break;
        case Pattern::Zero:
          values[i] = 0;
          break;
        case Pattern::Largest:
          values[i] = kMax;
          break;
        case Pattern::Alternating:
          values[i] = i % 2 == 0 ? kMin : kMax;
          break;
        case Pattern::Spike:
          values[i] = i == 5 ? kMin : 0;
          break;
        case Pattern::Middle:
          values[i] = -1;
          break;
      }
    }
    inputs_->integers.push_back(std::move(values));
  }
  return upload(inputs_->integers[next_integers_++]);
}

const double* Side::slots(int count) {
  const std::size_t size = 2 * static_cast<std::size_t>(count);
  if (next_slots_ == inputs_->slots.size()) {
    const std::uint64_t start = mix(inputs_->salt + 555 * next_slots_);
    std::vector<double> values(size);
    for (std::size_t i = 0; i < size; ++i) {
      values[i] = slot_value(inputs_->pattern, mix(start + i), i, start % size);
    }
    inputs_->slots.push_back(std::move(values));
  }
  return upload(inputs_->slots[next_slots_++]);
}

double* Side::numbers(std::size_t count) {
  number_buffers_.push_back(queue_.allocate(count * sizeof(double)));
  return static_cast<double*>(number_buffers_.back()->data());
}

void Side::begin(SharedInputs* inputs) {
  slots_.clear();
  number_buffers_.clear();
  inputs_ = inputs;
  next_words_ = next_integers_ = next_slots_ = 0;
}

void Side::reset() {
  const std::size_t n = ring_->n();
  std::size_t largest = 0;
  for (const Slot& slot : slots_) largest = std::max(largest, slot.memory.buffer->bytes());
  const Words poison(largest / sizeof(std::uint32_t), kPoison);
  for (const Slot& slot : slots_) {
    const Buffer& buffer = slot.memory.buffer;
    if (slot.written) queue_.copy_in(buffer->data(), poison.data(), buffer->bytes());
    if (slot.words < 0) continue;
    const Words& words = inputs_->words[slot.words];
    if (slot.views.empty()) {
      queue_.copy_in(slot.lwe.data, words.data(), words.size() * sizeof(std::uint32_t));
    }
    for (std::size_t i = 0; i < slot.views.size(); ++i) {
      queue_.upload(slot.views[i], words.data() + i * n * slot.views[i].limbs());
    }
  }
}

Words Side::read(const Slot& slot, Domain domain) {
  Words words;
  if (slot.views.empty()) {
    words.resize(slot.lwe.words());
    queue_.copy_out(words.data(), slot.lwe.data, words.size() * sizeof(std::uint32_t));
  }
  for (const PolyView& view : slot.views) {
    const std::size_t at = words.size();
    words.resize(at + static_cast<std::size_t>(view.limbs()) * view.ring->n());
    queue_.download(words.data() + at, view.in(domain));
  }
  return words;
}

std::vector<Words> Side::results(std::string& error) {
  const std::size_t n = ring_->n();  // views that are written belong to this ring
  std::vector<Words> results;
  Words guard(n);
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    const Slot& slot = slots_[s];
    if (!slot.written) continue;
    const std::size_t limbs = slot.memory.buffer->bytes() / sizeof(std::uint32_t) / n;
    for (const std::size_t limb : {std::size_t{0}, limbs - 1}) {
      queue_.copy_out(guard.data(), slot.memory.buffer->words() + limb * n,
                      n * sizeof(std::uint32_t));
      if (std::any_of(guard.begin(), guard.end(), [](auto w) { return w != kPoison; })) {
        error = "wrote outside of polynomial " + std::to_string(s);
      }
    }
    results.push_back(read(slot, slot.result));
  }
  return results;
}

std::string Side::changed_inputs() {
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    const Slot& slot = slots_[s];
    if (slot.written) continue;
    const Domain domain = slot.views.empty() ? Domain::Coeff : slot.views[0].domain;
    if (read(slot, domain) != inputs_->words[slot.words]) {
      return "changed its input " + std::to_string(s);
    }
  }
  return {};
}

Observed Side::observed(const std::vector<Words>& results) {
  Observed out;
  out.ring = ring_;
  out.n = ring_->n();
  out.integers = &inputs_->integers;
  out.slots = &inputs_->slots;
  auto result = results.begin();
  for (const Slot& slot : slots_) {
    const Words* in = slot.words >= 0 ? &inputs_->words[slot.words] : nullptr;
    const Words* written = slot.written ? &*result++ : nullptr;
    if (in != nullptr) out.input_words.push_back(in);
    if (written != nullptr) out.output_words.push_back(written);
    if (slot.views.size() != 1) continue;
    const PolyView& view = slot.views[0];
    if (in != nullptr) out.inputs.emplace_back(*view.ring, view.basis(), view.domain, *in);
    if (written != nullptr) out.outputs.emplace_back(*ring_, view.basis(), slot.result, *written);
  }
  return out;
}

}  // namespace latticino::conformance
