#include "backend/cuda/device/tables.h"

#include <algorithm>

#include "math/fourier_selector.h"
#include "math/modulus.h"
#include "poly/domain.h"

namespace latticino::cuda {
namespace {

Modulus device_modulus(std::uint32_t q) {
  const latticino::Modulus m = make_modulus(q);
  const auto r = static_cast<std::uint32_t>((std::uint64_t{1} << 32) % q);
  return {q, static_cast<std::uint32_t>(m.q_inverse), r, mul_mod(r, r, m)};
}

// What a prime needs before its tables are filled: powers psi^(2^b) and psi^-(2^b), times R.
struct Seeds {
  std::uint32_t power[2][20];
};

struct TableArgs {
  const Modulus* modulus;
  const Seeds* seeds;
  const InverseDegrees* inverse;
  std::uint32_t* psi[2];
  std::uint32_t* row[2];
  Shoup* column[2];
  RowUnits* units[2];
  int log_n, log_rows;
};

// One entry per thread; z = 0: psi, 1: psi^-1.
__global__ void fill_psi(const __grid_constant__ TableArgs a) {
  const std::uint32_t k = blockIdx.x * blockDim.x + threadIdx.x;
  const int prime = blockIdx.y, direction = blockIdx.z;
  const Modulus m = load_modulus(a.modulus + prime);
  const std::uint32_t e = __brev(k) >> (32 - a.log_n);
  std::uint32_t w = m.r;
  for (int b = 0; b < a.log_n; ++b) {
    if (e >> b & 1) w = mul_mod(w, a.seeds[prime].power[direction][b], m);
  }
  a.psi[direction][(static_cast<std::size_t>(prime) << a.log_n) + k] = w;
  if (k >> a.log_rows == 0) {
    const std::uint32_t plain = mul_mod(w, 1, m);
    const auto quotient =
        static_cast<std::uint32_t>((static_cast<std::uint64_t>(plain) << 32) / m.q);
    a.column[direction][(static_cast<std::size_t>(prime) << a.log_rows) + k] = {plain, quotient};
    for (int b = 0; b < kUnits; ++b) {
      if (k == 1u << b) a.units[direction][prime].power[b] = {plain, quotient};
    }
  }
}

// One word of a row per thread, from psi.
__global__ void fill_rows(const __grid_constant__ TableArgs a) {
  const int prime = blockIdx.y, direction = blockIdx.z;
  const int log_cols = a.log_n - a.log_rows, e = log_radix(log_cols);
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  const std::uint32_t words = row_table_words(log_cols), row = i / words, word = i % words;
  if (row >> a.log_rows != 0) return;
  const Modulus m = load_modulus(a.modulus + prime);
  const std::uint32_t* psi = a.psi[direction] + (static_cast<std::size_t>(prime) << a.log_n);
  const std::uint32_t node = (1u << a.log_rows) + row;
  std::uint32_t w = 0;
  if (word > 0 && word >> e == 0) {
    const int s = 31 - __clz(word);
    w = psi[(node << s) + word - (1u << s)];
    if (word == 1 && direction == 1) w = fold(mul_shoup(w, a.inverse[prime].cols, m.q), m.q);
  } else if (word > 0) {
    // Where the share of thread t begins in stage log_radix + s.
    const std::uint32_t t = (word - (1u << e)) / kRowVector, s = word % kRowVector;
    const std::uint32_t first = (node << e) + (t << (2 * e - log_cols));
    if (e + static_cast<int>(s) < log_cols) w = psi[first << s];
  }
  a.row[direction][(static_cast<std::size_t>(prime) * words << a.log_rows) + i] = w;
}

struct HostTables {
  std::vector<Seeds> seeds;
  std::vector<InverseDegrees> inverse;
};

HostTables host_tables(const Ring& ring, const std::vector<Modulus>& modulus) {
  const int log_n = ring.log_n(), log_rows = half_log_rows(log_n);
  HostTables t;
  for (int p = 0; p < ring.prime_count(); ++p) {
    const latticino::Modulus m = make_modulus(ring.prime(p));
    Seeds s{};
    std::uint32_t w[2] = {ring.psi(p), inverse_mod(ring.psi(p), m)};
    for (int d = 0; d < 2; ++d) {
      for (int b = 0; b < log_n; ++b, w[d] = mul_mod(w[d], w[d], m)) {
        s.power[d][b] = mul_mod(w[d], modulus[p].r, m);
      }
    }
    t.seeds.push_back(s);
    const auto shoup = [&](std::uint32_t x) {
      const ShoupFactor f = make_shoup(x, m);
      return Shoup{f.w, f.quotient};
    };
    const std::uint32_t rows = inverse_mod(1u << log_rows, m);
    const std::uint32_t root = inverse_mod(pow_mod(ring.psi(p), ring.n() / 2, m), m);
    t.inverse.push_back({shoup(rows), shoup(inverse_mod(1u << (log_n - log_rows), m)),
                         shoup(mul_mod(root, rows, m))});
  }
  return t;
}

// Hands out consecutive 256-byte aligned parts. It runs twice: first to measure the total size,
// then to place the parts.
class BumpAllocator {
 public:
  explicit BumpAllocator(void* base) : base_(reinterpret_cast<std::uintptr_t>(base)) {}
  template <class T>
  T* take(std::size_t count) {
    T* p = reinterpret_cast<T*>(base_ + used_);
    used_ += (count * sizeof(T) + 255) / 256 * 256;
    return p;
  }
  std::size_t used() const { return used_; }

 private:
  std::uintptr_t base_;
  std::size_t used_ = 0;
};

struct Parts {
  Modulus* modulus;
  InverseDegrees* inverse;
  Shoup* column[2];
  RowUnits* units[2];
  std::uint32_t *psi[2], *row[2];
  fourier::Complex* fourier_roots;
};

Parts allocate_parts(BumpAllocator& c, const Ring& ring) {
  const std::size_t primes = ring.prime_count(), n = ring.n();
  const int log_rows = half_log_rows(ring.log_n());
  const std::size_t rows = primes << log_rows;
  const std::size_t words = rows * row_table_words(ring.log_n() - log_rows);
  return {c.take<Modulus>(primes),
          c.take<InverseDegrees>(primes),
          {c.take<Shoup>(rows), c.take<Shoup>(rows)},
          {c.take<RowUnits>(primes), c.take<RowUnits>(primes)},
          {c.take<std::uint32_t>(primes * n), c.take<std::uint32_t>(primes * n)},
          {c.take<std::uint32_t>(words), c.take<std::uint32_t>(words)},
          fourier::has_degree(ring.log_n()) ? c.take<fourier::Complex>(n / 4 + 2 * n) : nullptr};
}

template <class T>
void copy_vector(T* to, const std::vector<T>& from, cudaStream_t stream) {
  check(cudaMemcpyAsync(to, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice, stream),
        "cuda.ring_tables");
}

}  // namespace

RingTables::RingTables(Launcher& launcher, const Ring& ring) : OwnedTable(launcher) {
  for (int p = 0; p < ring.prime_count(); ++p) modulus_.push_back(device_modulus(ring.prime(p)));
  const HostTables host = host_tables(ring, modulus_);

  BumpAllocator measure(nullptr);
  allocate_parts(measure, ring);
  block_ = DeviceBlock(launcher.properties().device, measure.used());
  BumpAllocator place(block_.data());
  const Parts parts = allocate_parts(place, ring);

  const cudaStream_t stream = launcher.stream();
  const Scratch seeds = launcher.scratch(host.seeds.size() * sizeof(Seeds));
  copy_vector(parts.modulus, modulus_, stream);
  copy_vector(parts.inverse, host.inverse, stream);
  copy_vector(seeds.as<Seeds>(), host.seeds, stream);
  if (parts.fourier_roots != nullptr) {
    fourier_roots_ = fourier::roots(ring.log_n());
    const std::vector<fourier::Complex> powers = fourier::unit_powers(ring.log_n());
    fourier_roots_.insert(fourier_roots_.end(), powers.begin(), powers.end());
    copy_vector(parts.fourier_roots, fourier_roots_, stream);
  }
  const TableArgs args{parts.modulus,
                       seeds.as<Seeds>(),
                       parts.inverse,
                       {parts.psi[0], parts.psi[1]},
                       {parts.row[0], parts.row[1]},
                       {parts.column[0], parts.column[1]},
                       {parts.units[0], parts.units[1]},
                       ring.log_n(),
                       half_log_rows(ring.log_n())};
  const unsigned threads = std::min(256, ring.n());
  launcher.launch(fill_psi, {dim3(ring.n() / threads, ring.prime_count(), 2), dim3(threads)}, args);
  const unsigned words = row_table_words(ring.log_n() - args.log_rows) << args.log_rows;
  launcher.launch(fill_rows,
                  {dim3((words + threads - 1) / threads, ring.prime_count(), 2), dim3(threads)},
                  args);
  launcher.synchronize();  // copies must end before the host vectors are destroyed
  view_ = {parts.modulus,   parts.psi[0],  parts.psi[1], parts.column[0],
           parts.column[1], parts.inverse, ring.log_n()};
  rows_ = {parts.row[0], parts.row[1], parts.units[0], parts.units[1]};
  device_fourier_roots_ = parts.fourier_roots;
}

}  // namespace latticino::cuda
