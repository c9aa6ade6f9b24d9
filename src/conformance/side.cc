#include "conformance/side.h"

#include <algorithm>

namespace latticino::conformance {
namespace {

constexpr std::uint32_t kPoison = 0xFFFFFFFF;  // never a residue

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
      ring_(&constants_->ring()) {}

Side::Side(std::unique_ptr<Backend> backend, int log_n, const std::vector<std::uint32_t>& primes)
    : queue_(std::move(backend)),
      own_ring_(std::make_unique<Ring>(log_n, primes)),
      ring_(own_ring_.get()) {}

PolyView Side::add(const Basis& basis, Domain domain, bool read, bool written) {
  const std::size_t n = ring_->n();
  Slot slot;
  slot.words = read ? static_cast<int>(next_words_) : -1;
  slot.written = written;
  slot.result = domain;
  slot.memory.buffer = queue_.allocate((basis.size() + 2) * n * sizeof(std::uint32_t));
  slot.view = PolyView::contiguous(slot.memory.buffer->words(), *ring_, basis, domain, 1);
  if (read) {
    if (next_words_ == inputs_->words.size()) {
      Words words(basis.size() * n);
      for (int i = 0; i < basis.size(); ++i) {
        fill(inputs_->pattern, inputs_->salt + 1000 * next_words_ + i, ring_->prime(basis.prime(i)),
             words.data() + i * n, n);
      }
      inputs_->words.push_back(std::move(words));
    }
    ++next_words_;
  }
  slots_.push_back(std::move(slot));
  return slots_.back().view;
}

PolyView Side::input(const Basis& basis, Domain domain) { return add(basis, domain, true, false); }
PolyView Side::output(const Basis& basis, Domain domain) { return add(basis, domain, false, true); }
PolyView Side::in_out(const Basis& basis, Domain domain) { return add(basis, domain, true, true); }

PolyView Side::in_out(const Basis& basis, Domain from, Domain to) {
  const PolyView view = add(basis, from, true, true);
  slots_.back().result = to;
  return view;
}

const std::int64_t* Side::integers() {
  const std::size_t n = ring_->n();
  if (next_integers_ == inputs_->integers.size()) {
    std::vector<std::int64_t> values(n);
    constexpr std::int64_t kLeast = std::int64_t{1} << 63, kMost = ~kLeast;
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
          values[i] = kMost;
          break;
        case Pattern::Alternating:
          values[i] = i % 2 == 0 ? kLeast : kMost;
          break;
        case Pattern::Spike:
          values[i] = i == 5 ? kLeast : 0;
          break;
        case Pattern::Middle:
          values[i] = -1;
          break;
      }
    }
    inputs_->integers.push_back(std::move(values));
  }
  const std::vector<std::int64_t>& values = inputs_->integers[next_integers_++];
  integer_buffers_.push_back(queue_.allocate(n * sizeof(std::int64_t)));
  queue_.copy_in(integer_buffers_.back()->data(), values.data(), n * sizeof(std::int64_t));
  return static_cast<const std::int64_t*>(integer_buffers_.back()->data());
}

void Side::begin(SharedInputs* inputs) {
  slots_.clear();
  integer_buffers_.clear();
  inputs_ = inputs;
  next_words_ = next_integers_ = 0;
}

void Side::reset() {
  std::size_t largest = 0;
  for (const Slot& slot : slots_) largest = std::max(largest, slot.memory.buffer->bytes());
  const Words poison(largest / sizeof(std::uint32_t), kPoison);
  for (const Slot& slot : slots_) {
    const Buffer& buffer = slot.memory.buffer;
    if (slot.written) queue_.copy_in(buffer->data(), poison.data(), buffer->bytes());
    if (slot.words >= 0) queue_.upload(slot.view, inputs_->words[slot.words].data());
  }
}

std::vector<Words> Side::results(std::string& error) {
  const std::size_t n = ring_->n();
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
    results.emplace_back(slot.view.limbs() * n);
    queue_.download(results.back().data(), slot.view.in(slot.result));
  }
  return results;
}

std::string Side::changed_inputs() {
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    const Slot& slot = slots_[s];
    if (slot.written) continue;
    const Words& expected = inputs_->words[slot.words];
    Words words(expected.size());
    queue_.download(words.data(), slot.view);
    if (words != expected) return "changed its input " + std::to_string(s);
  }
  return {};
}

Observed Side::observed(const std::vector<Words>& results) {
  Observed out;
  out.ring = ring_;
  out.n = ring_->n();
  out.integers = &inputs_->integers;
  auto result = results.begin();
  for (const Slot& slot : slots_) {
    const Basis basis = slot.view.basis();
    if (slot.words >= 0) {
      out.inputs.emplace_back(*ring_, basis, slot.view.domain, inputs_->words[slot.words]);
    }
    if (slot.written) out.outputs.emplace_back(*ring_, basis, slot.result, *result++);
  }
  return out;
}

}  // namespace latticino::conformance
