// Encoding: vectors of complex slots <-> integer polynomials (the special FFT over the powers of
// five). Encoding is bit-reproducible: fixed radix-2 order, one twiddle table computed without the
// last bits of the maths library, no fused multiply-add. Sources: paper: Cheddar, Sec. 2.1; Cheon
// et al. 2017.
#pragma once

#include <span>

#include "ckks/ciphertext.h"
#include "ops/slot_transform.h"

namespace latticino::ckks {

class Encoder {
 public:
  explicit Encoder(const rlwe::Constants& constants);
  explicit Encoder(int log_n);
  ~Encoder();

  // Integer coefficients round(scale * embedding^-1(values)), N of them; values.size() a power of
  // two <= N/2; fewer slots give a polynomial in X^(N/(2 slots)). Throws ShapeError for another
  // size, ValueError for NaN or infinity, ScaleError when a coefficient reaches 2^62 or `bound`
  // (0: no bound).
  std::vector<std::int64_t> embed(std::span<const Complex> values, double scale,
                                  double bound = 0) const;
  // The inverse on N real coefficients (already centred and divided by the scale).
  std::vector<Complex> project(std::span<const double> coefficients, int slots) const;

  // The special FFT in place, for n = values.size(): from coefficients (m_k + i m_(k+n), in
  // bit-reversed order of k) to slots. Then its inverse, with the factor 1/n.
  void forward(std::span<Complex> values) const;
  void inverse(std::span<Complex> values) const;

  // Throws what embed throws, except for coefficients that are too large.
  void check(std::span<const Complex> values, double scale) const;
  const SlotTransform& transform() const { return *transform_; }

 private:
  int n() const { return 1 << transform_->log_n(); }
  std::unique_ptr<const SlotTransform> transform_;
};

// Bound on |decode(encode(z)) - z| in every slot, for |z_j| <= largest. Rounding moves each of the
// 2 n real coefficients by at most 1/2, so a slot by n / (sqrt(2) scale). Double precision
// (u = 2^-53): each special FFT errs by at most 7 u log2(n) of the 2-norm (Higham, Accuracy and
// Stability of Numerical Algorithms, Theorem 24.2: eta = u + 4 sqrt(2) u), scaling, conversion and
// division by 4 u, and the 2-norm is at most sqrt(n) largest.
double encoding_error_bound(int slots, double scale, double largest);

// The functions from here on run on the queue of the context, and give the same bits as Encoder.
// Values from the host are checked before they are uploaded. ScaleError if coefficients would not
// fit the modulus of the level. A batch has vectors of one size, which are transformed together.
using Values = std::span<const Complex>;
Plaintext encode(const std::shared_ptr<const Context>& context, Values values, int level,
                 double scale, bool extended = false);
std::vector<Plaintext> encode_all(const std::shared_ptr<const Context>& context,
                                  std::span<const Values> batch, int level, double scale,
                                  bool extended = false);
// Encodes `count` vectors that lie in the queue's memory one after another, as pairs of doubles. It
// can be recorded. It does not wait: if coefficients do not fit, the next call that waits throws a
// ScaleError (backend/backend.h).
std::vector<Plaintext> encode_resident(const std::shared_ptr<const Context>& context,
                                       const double* values, int count, int slots, int level,
                                       double scale, bool extended = false);

// The same for plaintexts that are only used as factors (record Dot). Values with a short period
// are encoded in the subring that holds them: N/2^s words per limb, and the same product. All other
// uses of a plaintext need encode(). These plaintexts are kept, so a dry run counts them from the
// start.
//
// Factors whose values nobody knows yet (`unknown` of them, of `slots` slots; only in a dry run)
// are counted as those of values without a short period. ContextError on a queue that computes.
struct Factors {
  std::span<const Values> batch;
  int unknown = 0, slots = 0;
};
std::vector<Plaintext> encode_factors(const std::shared_ptr<const Context>& context,
                                      const Factors& given, int level, double scale, bool extended);

// Factors as the integers that they are made from, which take 8 bytes a coefficient and not 4 for
// each prime. expand() makes the factors that encode_factors() would have made, bit for bit. It can
// be recorded.
struct CompactFactor {
  Plaintext form;   // the factors without their polynomials
  Buffer integers;  // coefficients of X^0, X^(N/2^log_n) ..
  int log_n = 0;
  bool times_p = false;  // whether the polynomial is multiplied by P
};
std::vector<CompactFactor> compact_factors(const std::shared_ptr<const Context>& context,
                                           const Factors& given, int level, double scale,
                                           bool extended);
// The residues that multiply a plaintext modulo Q by P, in place.
Linear::Item times_p(const Plaintext& x);
std::vector<Plaintext> expand(std::span<const CompactFactor* const> factors);
std::vector<Complex> decode(const Plaintext& plaintext);

// The slots of polynomials in Coeff. If they are secret, their memory on the device is cleared.
struct Coefficients {
  PolyView view;
  double scale = 0;
  int slots = 0;
};
std::vector<std::vector<Complex>> project_all(const Context& context,
                                              std::span<const Coefficients> batch, bool secret);

}  // namespace latticino::ckks
