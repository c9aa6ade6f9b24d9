#include "ops/fields.h"
#include "ops/operations.h"
#include "poly/ring.h"

namespace latticino {

std::uint64_t limb_bytes(const PolyView& v, int limbs) {
  return v.ring == nullptr ? 0 : std::uint64_t(limbs) * v.ring->n() * sizeof(std::uint32_t);
}
std::uint64_t bytes_of(const PolyView& v) { return limb_bytes(v, v.limbs()); }
std::uint64_t bytes_of(const PolyArray& a) { return a.count * bytes_of(a.first); }
std::uint64_t bytes_of(const LweView& v) {
  return sizeof(std::uint32_t) * std::uint64_t(v.count) * (v.dimension + 1);
}
std::size_t coefficient_bytes(const PolyView& v, std::size_t polynomials) {
  return v.ring == nullptr ? 0 : polynomials * v.ring->n() * sizeof(double);
}

namespace {

// The limb of a prime in memory, or -1 if there is none. The views may not have been checked yet.
std::int64_t place(const PolyView& v, int prime) {
  for (int s = 0; s < v.segments && s < Basis::kMaxRuns; ++s) {
    const int k = prime - v.segment[s].prime;
    if (k >= 0 && k < v.segment[s].count) return std::int64_t{v.segment[s].limb} + k;
  }
  return -1;
}

}  // namespace

bool same_limb(const PolyView& a, const PolyView& b, int prime) {
  return a.data != nullptr && a.data == b.data && place(a, prime) >= 0 &&
         place(a, prime) == place(b, prime);
}

namespace {

struct Moved : FieldVisitor {
  std::uint64_t sum = 0;

  template <class View>
  void read(const View& v, const Field& field) {
    sum += field.bytes == kWholeField ? bytes_of(v) : field.bytes;
  }
  void read(const PolyView& v, const Field& field) {
    if (field.primes_of != nullptr) {
      sum += limb_bytes(v, v.basis().intersect(field.primes_of->basis()).size());
    } else {
      sum += field.bytes == kWholeField ? latticino::bytes_of(v) : field.bytes;
    }
  }
  template <class View>
  void write(const View& v, const Field& field) {
    read(v, field);
  }
  static std::uint64_t bytes_of(const Memory& m) { return m.bytes; }
  template <class View>
  static std::uint64_t bytes_of(const View& v) {
    return latticino::bytes_of(v);
  }
};

struct Name {
#define LATTICINO_NAME(Record) \
  const char* operator()(const Record&) const { return #Record; }
  LATTICINO_RECORDS(LATTICINO_NAME)
#undef LATTICINO_NAME
};

}  // namespace

const char* name(const Operation& op) { return std::visit(Name{}, op); }

std::uint64_t bytes_moved(const Operation& op) {
  Moved moved;
  std::visit([&](const auto& record) { record.fields(moved); }, op);
  return moved.sum;
}

}  // namespace latticino
