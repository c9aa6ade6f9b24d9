// Device tables of a Ring, built at its first immediate use and held by the Ring.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/cuda/device/layout.h"
#include "backend/cuda/device/modular.cuh"
#include "backend/cuda/launch/launch.h"
#include "math/errors.h"
#include "math/fourier.h"
#include "poly/ring.h"

namespace latticino::cuda {

// Inverse-transform constants of one prime: rows^-1 ends the column stages, cols^-1 the row stages;
// last = rows^-1 times the twiddle of the last column stage.
struct alignas(16) InverseDegrees {
  Shoup rows, cols, last;
};

// Device addresses, by value in kernel parameters. Tables of N (or rows) entries follow one another
// in prime order; entry k of psi is psi^bitrev(k, log2 N), of psi_inv its inverse.
struct RingView {
  const Modulus* modulus = nullptr;
  const std::uint32_t* psi = nullptr;      // N per prime, times R (Montgomery)
  const std::uint32_t* psi_inv = nullptr;  // N per prime, times R
  const Shoup* column_psi = nullptr;       // the first `rows` entries of psi, plain, with quotients
  const Shoup* column_psi_inv = nullptr;
  const InverseDegrees* inverse = nullptr;  // one for each prime
  int log_n = 0;
};

// What row transforms read. If the bits of c are zero in k, psi[k + c] = psi[k] psi[c]. So in each
// stage of its narrow round a thread loads one twiddle, and gets the others by multiplying it by
// the units psi[1], psi[2], psi[4], ... It then reads a quarter of the table at N = 2^16.
constexpr int kUnits = 4;
struct alignas(16) RowUnits {
  Shoup power[kUnits];  // psi[2^b], plain (not times R)
};
constexpr int kRowVector = 4;  // the first twiddles of each thread, for up to four stages

// Words of one row. First the twiddles of its wide round: entry (1 << s) + b is that of block b of
// stage s (entry 0 is unused). Then kRowVector words for each thread. All are multiplied by R
// (Montgomery). There are none for rows that are shorter than any transform's.
LATTICINO_HOST_DEVICE constexpr int row_table_words(int log_cols) {
  if (log_cols < 5) return 0;
  return (1 << log_radix(log_cols)) + (kRowVector << (log_cols - log_radix(log_cols)));
}

// Passed by value in kernel parameters, for either direction.
struct RowView {
  // rows * row_table_words words for each prime. Entry 1 of each row of the inverse is already
  // divided by cols.
  const std::uint32_t *psi = nullptr, *psi_inv = nullptr;
  const RowUnits *units = nullptr, *units_inv = nullptr;
};

// A table that belongs to the Launcher that built it.
class OwnedTable : public BackendTable {
 public:
  explicit OwnedTable(const Launcher& owner) : owner_(owner.identity()) {}
  bool belongs_to(const Launcher& launcher) const { return owner_ == launcher.identity(); }

 private:
  std::shared_ptr<const int> owner_;
};

// The Table (derived from OwnedTable, constructed from Launcher& and const Object&) of a Ring or
// BaseConversion; builds it on first use. Tables cannot be built while recording.
template <class Table, class Object>
const Table& table_of(Launcher& launcher, const Object& object) {
  std::call_once(object.backend_once(), [&] {
    if (launcher.recording()) {
      throw DeviceError("cuda", "a table that was never used before, while recording",
                        "tables built by an earlier immediate run", "run the program once first");
    }
    object.backend_table() = std::make_shared<Table>(launcher, object);
  });
  const auto* table = dynamic_cast<const Table*>(object.backend_table().get());
  if (table == nullptr || !table->belongs_to(launcher)) {
    throw ContextError("cuda", "a ring or table of another backend instance",
                       "objects that only this backend has used", "create one ring per backend");
  }
  return *table;
}

class RingTables : public OwnedTable {
 public:
  RingTables(Launcher& launcher, const Ring& ring);
  const RingView& view() const { return view_; }
  const RowView& rows() const { return rows_; }
  const Modulus& modulus(int prime) const { return modulus_[prime]; }  // a copy in host memory
  // For degrees of blind rotations: N/4 roots, then unit_powers(), on the device and in host
  // memory.
  const fourier::Complex* device_fourier_roots() const { return device_fourier_roots_; }
  const std::vector<fourier::Complex>& fourier_roots() const { return fourier_roots_; }

 private:
  RingView view_;
  std::vector<Modulus> modulus_;
  std::vector<fourier::Complex> fourier_roots_;
  const fourier::Complex* device_fourier_roots_ = nullptr;
  DeviceBlock block_;
  RowView rows_;
};

inline const RingView& ring_view(Launcher& launcher, const Ring& ring) {
  return table_of<RingTables>(launcher, ring).view();
}

inline const RowView& row_view(Launcher& launcher, const Ring& ring) {
  return table_of<RingTables>(launcher, ring).rows();
}

}  // namespace latticino::cuda
