#include "ops/checker.h"

#include <algorithm>

#include "math/errors.h"

namespace latticino {

void Checker::fail(const std::string& had, const std::string& needs) const {
  throw ShapeError(operation_, had, needs, "correct the views of this record");
}

void Checker::same_ring(const Ring* ring, const Label& label) {
  require(
      ring != nullptr, [&] { return label + " without a ring"; }, "a ring");
  if (ring_ == nullptr) ring_ = ring;
  require(
      ring == ring_, [&] { return label + " of another ring"; }, "views and tables of one ring");
}

// A factor that repeats may belong to another ring, so the ring of the record is not taken from it.
void Checker::view(const PolyView& v, const Field& field) {
  const bool other = field.repeats && v.ring != nullptr && ring_ != nullptr && v.ring != ring_;
  if (other) {
    require(
        v.ring->log_n() + 2 <= ring_->log_n() && v.ring->primes() == ring_->primes(),
        [&] { return field.label + " of another ring"; },
        "this ring, or a quarter of its degree and the same primes");
  } else {
    same_ring(v.ring, field.label);
  }
  segments(v, field.label);
}

void Checker::segments(const PolyView& v, const Label& label) {
  require(
      v.segments > 0 && v.segments <= Basis::kMaxRuns, [&] { return label + " without limbs"; },
      [] { return "1 to " + std::to_string(Basis::kMaxRuns) + " segments"; });
  int next = 0;
  for (int s = 0; s < v.segments; ++s) {
    const Segment& segment = v.segment[s];
    const int end = segment.prime + segment.count;
    if (segment.count <= 0 || segment.prime < next || end > ring_->prime_count()) {
      fail(label + " with segment [" + std::to_string(segment.prime) + "," + std::to_string(end) +
               ")",
           "increasing, non-empty runs of the ring's " + std::to_string(ring_->prime_count()) +
               " primes");
    }
    next = end;
  }
  memory(v.data, label);
}

void Checker::memory(const void* data, const Label& label) {
  const int with_data = data != nullptr;
  if (with_data_ >= 0 && with_data_ != with_data) {
    fail(label + (with_data ? " with" : " without") + " memory beside views of the other kind",
         "views of one context");
  }
  with_data_ = with_data;
}

void Checker::add_spans(const PolyView& v, const Label& label, int owner, std::vector<Span>& to) {
  if (v.data == nullptr) return;
  const std::uintptr_t limb = sizeof(std::uint32_t) * static_cast<std::uintptr_t>(v.ring->n());
  const auto base = reinterpret_cast<std::uintptr_t>(v.data);
  for (int s = 0; s < v.segments; ++s) {
    const Segment& segment = v.segment[s];
    const std::uintptr_t begin = base + segment.limb * limb;
    to.push_back({begin, begin + segment.count * limb, begin - segment.prime * limb, owner, label});
  }
}

void Checker::read(const PolyView& v, const Field& field) {
  if (field.optional && v.segments == 0) return;
  view(v, field);
  add_spans(v, field.label, field.owner, read_);
}

void Checker::write(const PolyView& v, const Field& field) {
  if (field.optional && v.segments == 0) return;
  view(v, field);
  add_spans(v, field.label, field.owner, written_);
}

void Checker::numbers(const Memory& m, const Label& label, std::vector<Span>& to) {
  require((m.address == nullptr) == (m.beside == nullptr),
          [&] { return label + " and a view of which one has no memory"; }, "memory for both");
  if (m.address == nullptr) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(m.address);
  require(
      begin % 16 == 0, [&] { return label + " at an odd address"; }, "memory aligned to 16 bytes");
  to.push_back({begin, begin + m.bytes, 0, -1, label});
}

void Checker::array(const PolyArray& a, const Label& label, std::vector<Span>& to) {
  require(
      a.count > 0, [&] { return label + " without polynomials"; }, "at least one");
  view(a.first, {.label = label});
  require(
      a.first.segments == 1, [&] { return label + " of " + a.first.str(); },
      "polynomials over one run of primes");
  if (a.first.data == nullptr) return;
  const std::uintptr_t bytes = sizeof(std::uint32_t) * static_cast<std::uintptr_t>(ring_->n());
  const auto begin =
      reinterpret_cast<std::uintptr_t>(a.first.data) + a.first.segment[0].limb * bytes;
  to.push_back({begin, begin + a.count * static_cast<std::uintptr_t>(a.first.limbs()) * bytes,
                begin, -1, label});
}

void Checker::batch(const LweView& v, const Field& field, std::vector<Span>& to) {
  const Label& label = field.label;
  require(
      v.count > 0, [&] { return label + " without ciphertexts"; }, "at least one");
  require(
      v.modulus > 1, [&] { return label + " modulo " + std::to_string(v.modulus); }, "a modulus");
  require(
      v.stride > v.dimension, [&] { return label + " with stride " + std::to_string(v.stride); },
      [&] { return "more than the dimension " + std::to_string(v.dimension); });
  memory(v.data, label);
  if (v.data == nullptr) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(v.data);
  to.push_back({begin, begin + sizeof(std::uint32_t) * v.words(), begin, field.owner, label});
}

void Checker::domain(const PolyView& v, const Label& label, std::initializer_list<Domain> allowed) {
  if (std::find(allowed.begin(), allowed.end(), v.domain) != allowed.end()) return;
  std::string needs;
  for (const Domain d : allowed) needs += (needs.empty() ? "" : " or ") + std::string(name(d));
  fail(label + " in " + v.str(), needs);
}

void Checker::same_domain(const PolyView& x, const PolyView& y, const Label& label) {
  require(
      x.domain == y.domain,
      [&] { return label + " in " + name(x.domain) + " and " + name(y.domain); }, "one domain");
}

void Checker::same_basis(const PolyView& v, const Basis& basis, const Label& label) {
  require(
      v.basis() == basis, [&] { return label + " over " + v.basis().str(); },
      [&] { return "the basis " + basis.str(); });
}

void Checker::covers(const PolyView& v, const Basis& basis, const Label& label) {
  require(
      v.basis().contains(basis), [&] { return label + " over " + v.basis().str(); },
      [&] { return "every prime of " + basis.str(); });
}

void Checker::within(const PolyView& v, const Basis& basis, const Label& label) {
  require(
      basis.contains(v.basis()), [&] { return label + " over " + v.basis().str(); },
      [&] { return "primes of " + basis.str() + " only"; });
}

void Checker::galois(std::uint32_t g) {
  require(g % 2 == 1 && g < 2u * static_cast<std::uint32_t>(ring_->n()), Label("Galois element", g),
          "an odd element below 2N");
}

void Checker::residues(const std::vector<std::uint32_t>& values, const Basis& basis,
                       const Label& label) {
  require(
      static_cast<int>(values.size()) == basis.size(),
      [&] { return label + " of " + std::to_string(values.size()) + " residues"; },
      [&] { return "one for each of " + std::to_string(basis.size()) + " primes"; });
  std::size_t i = 0;
  for (int r = 0; r < basis.runs(); ++r) {
    for (int prime = basis.run(r).begin; prime < basis.run(r).end; ++prime, ++i) {
      if (values[i] < ring_->prime(prime)) continue;
      throw ParameterError(operation_,
                           label + " not reduced modulo " + std::to_string(ring_->prime(prime)),
                           "canonical residues", "reduce the constants");
    }
  }
}

void Checker::finish() {
  const auto before = [](const Span& x, const Span& y) { return x.begin < y.begin; };
  std::sort(written_.begin(), written_.end(), before);
  for (std::size_t i = 1; i < written_.size(); ++i) {
    const Span &x = written_[i - 1], &y = written_[i];
    require(
        x.end <= y.begin,
        [&] { return "outputs " + x.label.str() + " and " + y.label.str() + " overlapping"; },
        "outputs that lie apart");
  }
  for (const Span& in : read_) {
    // Outputs do not overlap, so those that overlap [begin, end) are neighbours.
    auto out = std::partition_point(written_.begin(), written_.end(),
                                    [&](const Span& w) { return w.end <= in.begin; });
    for (; out != written_.end() && out->begin < in.end; ++out) {
      require(
          in.owner >= 0 && in.owner == out->owner && in.origin == out->origin,
          [&] { return "output " + out->label.str() + " overlapping input " + in.label.str(); },
          "outputs apart from inputs (or exactly in place, where the record allows it)");
    }
  }
}

}  // namespace latticino
