// The tables of a ring in the form that the device has them (backend/cuda/device/tables.h).
#pragma once

#include <vector>

#include "backend/cuda/device/tables.h"
#include "math/modulus.h"
#include "support/ring_support.h"

namespace latticino::emulation {

struct DeviceTables {
  explicit DeviceTables(const Ring& ring) {
    for (int p = 0; p < ring.prime_count(); ++p) {
      const Modulus m = make_modulus(ring.prime(p));
      const auto r = static_cast<std::uint32_t>((std::uint64_t{1} << 32) % m.q);
      modulus.push_back({m.q, static_cast<std::uint32_t>(m.q_inverse), r, mul_mod(r, r, m)});
      add_inverse(ring, p, m);
      for (int direction = 0; direction < 2; ++direction) add_powers(ring, p, direction, m);
    }
    view.modulus = modulus.data();
    view.psi = psi[0].data();
    view.psi_inv = psi[1].data();
    view.column_psi = column[0].data();
    view.column_psi_inv = column[1].data();
    view.inverse = inverse.data();
    view.log_n = ring.log_n();
    rows = {row[0].data(), row[1].data(), units[0].data(), units[1].data()};
  }

  std::vector<cuda::Modulus> modulus;
  test::Words psi[2], row[2];
  std::vector<cuda::Shoup> column[2];
  std::vector<cuda::RowUnits> units[2];
  std::vector<cuda::InverseDegrees> inverse;
  cuda::RingView view;
  cuda::RowView rows;

 private:
  static cuda::Shoup shoup(std::uint32_t x, const Modulus& m) {
    const ShoupFactor f = make_shoup(x, m);
    return {f.w, f.quotient};
  }

  void add_inverse(const Ring& ring, int p, const Modulus& m) {
    const int log_rows = cuda::log_rows_of(ring.log_n());
    const std::uint32_t degree = inverse_mod(1u << log_rows, m);
    const std::uint32_t root = inverse_mod(pow_mod(ring.psi(p), ring.n() / 2, m), m);
    inverse.push_back({shoup(degree, m), shoup(inverse_mod(1u << (ring.log_n() - log_rows), m), m),
                       shoup(mul_mod(root, degree, m), m)});
  }

  void add_powers(const Ring& ring, int p, int direction, const Modulus& m) {
    const int log_n = ring.log_n(), log_rows = cuda::log_rows_of(log_n);
    const auto n = static_cast<std::uint32_t>(ring.n());
    const std::uint32_t root = direction == 0 ? ring.psi(p) : inverse_mod(ring.psi(p), m);
    test::Words power(n, 1), table;
    for (std::uint32_t i = 1; i < n; ++i) power[i] = mul_mod(power[i - 1], root, m);
    for (std::uint32_t i = 0; i < n; ++i) table.push_back(power[test::bit_reverse(i, log_n)]);
    cuda::RowUnits& unit = units[direction].emplace_back();
    for (int b = 0; b < cuda::kUnits; ++b) unit.power[b] = shoup(table[1u << b], m);
    for (std::uint32_t i = 0; i < n; ++i) {
      if (i >> log_rows == 0) column[direction].push_back(shoup(table[i], m));
      psi[direction].push_back(mul_mod(table[i], modulus[p].r, m));
    }
    for (std::uint32_t r = 0; r < 1u << log_rows; ++r)
      add_row(ring, p, direction, (1u << log_rows) + r, m);
  }

  // Adds the words of a row as row_table_words() describes them.
  void add_row(const Ring& ring, int p, int direction, std::uint32_t node, const Modulus& m) {
    const int log_n = ring.log_n(), log_cols = log_n - cuda::log_rows_of(log_n);
    const int e = cuda::log_radix(log_cols);
    const std::uint32_t* table = psi[direction].data() + (static_cast<std::size_t>(p) << log_n);
    test::Words& words = row[direction];
    words.push_back(0);
    for (int s = 0; s < e; ++s) {
      for (std::uint32_t b = 0; b < 1u << s; ++b) words.push_back(table[(node << s) + b]);
      if (s == 0 && direction == 1) words.back() = mul_mod(words.back(), inverse[p].cols.w, m);
    }
    for (std::uint32_t t = 0; t < 1u << (log_cols - e); ++t) {
      const std::uint32_t first = (node << e) + (t << (2 * e - log_cols));
      for (int s = 0; s < cuda::kRowVector; ++s) {
        words.push_back(e + s < log_cols ? table[first << s] : 0);
      }
    }
  }
};

}  // namespace latticino::emulation
