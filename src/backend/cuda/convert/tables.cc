#include "backend/cuda/convert/tables.h"

#include <algorithm>

#include "math/modulus.h"
#include "poly/domain.h"

namespace latticino::cuda {
namespace {

using latticino::centre;
using latticino::inverse_mod;
using latticino::make_modulus;
using latticino::mul_mod;
using latticino::pow_mod;
using HostModulus = latticino::Modulus;

Shoup shoup_of(std::uint32_t w, const HostModulus& m) {
  const ShoupFactor f = latticino::make_shoup(w, m);
  return {f.w, f.quotient};
}

std::vector<ConversionSource> sources_of(const BaseConversion& c) {
  const Ring& ring = c.ring();
  std::vector<ConversionSource> sources;
  for (int j = 0; j < c.from().size(); ++j) {
    const int prime = c.from().prime(j);
    const HostModulus m = make_modulus(ring.prime(prime));
    const std::uint32_t rows = std::uint32_t{1} << half_log_rows(ring.log_n());
    const std::uint32_t scale = mul_mod(c.factor(j), inverse_mod(rows % m.q, m), m);
    const std::uint32_t root = inverse_mod(pow_mod(ring.psi(prime), ring.n() / 2, m), m);
    sources.push_back({shoup_of(scale, m), shoup_of(mul_mod(scale, root, m), m),
                       shoup_of(c.factor(j), m), Shoup{}});
  }
  return sources;
}

ConversionTarget target_of(const BaseConversion& c, int i) {
  const int prime = c.to().prime(i);
  const HostModulus m = make_modulus(c.ring().prime(prime));
  std::uint32_t sum = 0;
  for (int j = 0; j < c.from().size(); ++j) {
    const std::uint32_t half = (c.ring().prime(c.from().prime(j)) - 1) / 2;
    sum = latticino::add_mod(sum, mul_mod(half, c.matrix(i, j), m), m.q);
  }
  const std::uint64_t reciprocal = (std::uint64_t{1} << 48) / m.q;
  return {m.q, static_cast<std::uint32_t>(m.q_inverse), static_cast<std::uint32_t>(reciprocal),
          latticino::neg_mod(sum, m.q)};
}

FewTarget few_of(const BaseConversion& c, int i, std::uint32_t offset, const HostModulus& m) {
  FewTarget t{{}, offset, {}};
  const std::uint32_t r = pow_mod(2, 32, m);
  for (int j = 0; j < c.from().size(); ++j) t.matrix[j] = mul_mod(c.matrix(i, j), r, m);
  return t;
}

// Transposes the bytes of w 2^(8b) mod q, b = 0 .. 3.
uint4 planes_of(std::uint32_t w, const HostModulus& m) {
  std::uint32_t plane[4] = {};
  for (int b = 0; b < 4; ++b) {
    for (int k = 0; k < 4; ++k) plane[k] |= (w >> 8 * k & 255) << 8 * b;
    w = mul_mod(w, 256, m);
  }
  return {plane[0], plane[1], plane[2], plane[3]};
}

// The fragments of target i.
void append_planes(std::vector<uint4>& planes, const BaseConversion& c, int i,
                   const HostModulus& m) {
  const int sources = c.from().size();
  const auto word = [&](int j) {
    return j < sources ? planes_of(c.matrix(i, j), m) : uint4{0, 0, 0, 0};
  };
  for (int first = 0; first < sources; first += 8) {
    for (int lane = 0; lane < 4; ++lane) {
      const uint4 a = word(first + lane), b = word(first + 4 + lane);
      planes.push_back({a.x, a.y, b.x, b.y});
      planes.push_back({a.z, a.w, b.z, b.w});
    }
  }
}

template <class T>
std::size_t padded(std::size_t count) {
  return (count * sizeof(T) + 255) / 256 * 256;
}

}  // namespace

ConversionTables::ConversionTables(Launcher& launcher, const BaseConversion& c)
    : OwnedTable(launcher) {
  const int sources = c.from().size(), targets = c.to().size();
  const std::vector<ConversionSource> source = sources_of(c);
  std::vector<ConversionTarget> target;
  std::vector<uint4> planes;
  std::vector<FewTarget> few;
  std::vector<std::int32_t> matrix;
  for (int i = 0; i < targets; ++i) {
    target.push_back(target_of(c, i));
    const HostModulus m = make_modulus(target.back().q);
    fits_ = fits_ && m.q >= kMinPrime;
    const std::uint32_t r2 = pow_mod(2, 64, m);
    append_planes(planes, c, i, m);
    if (sources <= kFewSources) few.push_back(few_of(c, i, target.back().offset, m));
    for (int j = 0; j < sources; ++j) {
      matrix.push_back(centre(mul_mod(c.matrix(i, j), r2, m), m.q));
    }
  }
  const std::size_t at_target = padded<ConversionSource>(source.size()),
                    at_planes = at_target + padded<ConversionTarget>(target.size()),
                    at_few = at_planes + padded<uint4>(planes.size()),
                    at_matrix = at_few + padded<FewTarget>(few.size());
  block_ =
      DeviceBlock(launcher.properties().device, at_matrix + padded<std::int32_t>(matrix.size()));
  auto* base = block_.as<std::uint8_t>();
  const auto place = [&](std::size_t at, const auto& v) {
    if (v.empty()) return;
    check(cudaMemcpyAsync(base + at, v.data(), v.size() * sizeof(v[0]), cudaMemcpyHostToDevice,
                          launcher.stream()),
          "cuda.conversion_tables");
  };
  place(0, source);
  place(at_target, target);
  place(at_planes, planes);
  place(at_few, few);
  place(at_matrix, matrix);
  launcher.synchronize();  // the host vectors end here
  view_ = {reinterpret_cast<const ConversionSource*>(base),
           reinterpret_cast<const ConversionTarget*>(base + at_target),
           reinterpret_cast<const uint4*>(base + at_planes),
           few.empty() ? nullptr : reinterpret_cast<const FewTarget*>(base + at_few),
           reinterpret_cast<const std::int32_t*>(base + at_matrix),
           static_cast<std::uint16_t>(sources),
           static_cast<std::uint16_t>(targets)};
}

}  // namespace latticino::cuda
