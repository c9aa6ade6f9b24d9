// Blind rotation of one ciphertext by the C blocks of a cluster (or by one block), for batches that
// do not fill the device. All transforms of a step are divided among the blocks in the same way.
// Block s of C holds
//   in Coeff  the coefficients i = s modulo C, whole columns of the transforms: X^-e maps these
//             classes onto each other, so that a turned class comes from one other block;
//   in Eval   rows / C rows from s rows / C on: products with the key need no other block.
// So a step sends words three times: digits from columns to rows, products from rows to columns,
// and sums to where the next step needs them turned. Threads hold eight values of a column or row,
// and all their twiddles; primes are below 2^30 (ntt/lazy.cuh).
//
// No buffer is needed twice: digits arrive after every block has sent its products of the step
// before, products after every block has sent its digits, turned sums after every block has sent
// its products; and a block sends after it has read what came before.
#pragma once

#include <cstdint>
#include <type_traits>

#include "backend/cuda/rotate/cluster/thread.cuh"

namespace latticino::cuda {

// Moves WORDS neighbouring words, 2 or 4, in one access.
template <int WORDS>
using WordVector = std::conditional_t<WORDS == 2, uint2, uint4>;

template <int WORDS>
__device__ __forceinline__ void load_words(std::uint32_t (&x)[WORDS], const std::uint32_t* from) {
  const auto v = *reinterpret_cast<const WordVector<WORDS>*>(from);
  x[0] = v.x, x[1] = v.y;
  if constexpr (WORDS == 4) x[2] = v.z, x[3] = v.w;
}
template <int WORDS>
__device__ __forceinline__ void store_words(std::uint32_t* to, const std::uint32_t (&x)[WORDS]) {
  auto& v = *reinterpret_cast<WordVector<WORDS>*>(to);
  if constexpr (WORDS == 2) {
    v = make_uint2(x[0], x[1]);
  } else {
    v = make_uint4(x[0], x[1], x[2], x[3]);
  }
}

// Rows t + T j of the thread's column for j = first .. first + COUNT - 1, in [0, q]: of
// (X^-e - 1) acc if a step has one key, otherwise of acc. `first` is 0 or 4.
template <int COUNT, class S>
__device__ __forceinline__ void take_sums(std::uint32_t (&v)[COUNT][S::kPrimes],
                                          const ClusterUnit<S>& u, int component, int first,
                                          std::uint32_t e) {
  const auto four = [](std::uint32_t* x, const std::uint32_t* words, int vector) {
    const uint4 y = reinterpret_cast<const uint4*>(words)[vector];
    x[0] = y.x, x[1] = y.y, x[2] = y.z, x[3] = y.w;
  };
  // Coefficient i = i_0 + (N / 8) j comes from i + e. The source is in one lane for all j, which
  // only rotates the eight values.
  const std::uint32_t from = (u.column_t << S::kLogCols) + u.rank + (u.column << S::kLogBlocks) + e;
  const std::uint32_t eighth = from / (S::kN / 8) + first, low = from % (S::kN / 8);
  const int lane = low % S::kCols / S::kBlocks * S::Column::kThreads + low / S::kCols;
#pragma unroll
  for (int p = 0; p < S::kPrimes; ++p) {
    std::uint32_t own[COUNT];
#pragma unroll
    for (int h = 0; h < COUNT / 4; ++h) {
      four(own + 4 * h, u.own(component, p), (first / 4 + h) * S::kLanes + u.lane);
    }
    if (S::keys(u.a) == 1) {
      std::uint32_t y[8];
#pragma unroll
      for (int h = 0; h < 2; ++h)
        four(y + 4 * h, u.rotated_residue_class(component, p), h * S::kLanes + lane);
#pragma unroll
      for (int bit = 4; bit > 0; bit /= 2) {  // y[j] comes from y[(j + eighth) mod 8]
        std::uint32_t x[8];
#pragma unroll
        for (int j = 0; j < 8; ++j) x[j] = (eighth & bit) != 0 ? y[(j + bit) % 8] : y[j];
#pragma unroll
        for (int j = 0; j < 8; ++j) y[j] = x[j];
      }
#pragma unroll
      for (int j = 0; j < COUNT; ++j) {
        own[j] = sub_mod(((eighth + j) & 8) != 0 ? u.q[p] - y[j] : y[j], own[j], u.q[p]);
      }
    }
#pragma unroll
    for (int j = 0; j < COUNT; ++j) v[j][p] = own[j];
  }
}

// Digits of the thread's column modulo q, below 2q. Over two primes, the threads of each prime take
// half of them.
template <class S>
__device__ __forceinline__ void take_digits(std::uint32_t (&x)[8], const ClusterUnit<S>& u,
                                            const DigitRow<S>& row, std::uint32_t e) {
  if constexpr (S::kPrimes == 1) {
    std::uint32_t v[8][1];
    take_sums(v, u, row.component, 0, e);
#pragma unroll
    for (int j = 0; j < 8; ++j) x[j] = row.form.value(v[j], row.level, u.q, u.a.inverse) + u.m.q;
  } else {
    std::uint32_t v[4][2], d[4];
    take_sums(v, u, row.component, 4 * u.p, e);
#pragma unroll
    for (int j = 0; j < 4; ++j) d[j] = row.form.value(v[j], row.level, u.q, u.a.inverse);
    auto* halves =
        reinterpret_cast<uint4*>(u.shared + u.at.halves) + 2 * S::kLanes * u.group + u.lane;
    halves[u.p * S::kLanes] = make_uint4(d[0], d[1], d[2], d[3]);
    u.sync_group();
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const uint4 y = halves[h * S::kLanes];
      x[4 * h] = y.x + u.m.q, x[4 * h + 1] = y.y + u.m.q;
      x[4 * h + 2] = y.z + u.m.q, x[4 * h + 3] = y.w + u.m.q;
    }
    if (u.groups() < S::rows(u.a)) u.sync_group();  // the memory is used again in this step
  }
}

// Transforms the columns of the digits, and sends them to the blocks of their rows.
template <class S>
__device__ __forceinline__ void send_digits(const ClusterUnit<S>& u, std::uint32_t e) {
  u.each(S::rows(u.a), [&](int digit_row, bool active) {
    const DigitRow<S> row =
        digit_row == u.first_row.index ? u.first_row : DigitRow<S>(u.a, digit_row);
    std::uint32_t x[8];
    take_digits(x, u, row, e);
    lazy_forward<typename S::Column>(x, u.column_forward, u.column_exchange, u.column_t, u.lazy);
    if (!active) return;
    const std::uint32_t c = u.rank + (u.column << S::kLogBlocks);
    std::uint32_t* to =
        u.shared + u.at.arriving_digits + (digit_row * S::kPrimes + u.p) * S::kDigitsWords;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const std::uint32_t r = 8 * u.column_t + 4 * h;
      u.send(to + S::digits_word(r % S::kSliceRows, c), u.digit_arrivals(), r / S::kSliceRows,
             make_uint4(x[4 * h], x[4 * h + 1], x[4 * h + 2], x[4 * h + 3]));
    }
  });
}

// Transforms the rows of all digits to Eval, words below 4q.
template <class S>
__device__ __forceinline__ void transform_digits(const ClusterUnit<S>& u) {
  u.each(S::rows(u.a), [&](int digit_row, bool active) {
    const std::uint32_t* from =
        u.shared + u.at.arriving_digits + (digit_row * S::kPrimes + u.p) * S::kDigitsWords;
    std::uint32_t x[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) x[j] = from[S::digits_word(u.row, u.row_t + S::Row::kThreads * j)];
    lazy_forward<typename S::Row>(x, u.row_forward, u.row_exchange, u.row_t, u.lazy);
    if (!active) return;
    auto* to = reinterpret_cast<uint4*>(u.poly(u.at.digits, digit_row, u.p));
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      to[u.eval_vector(h)] = make_uint4(x[4 * h], x[4 * h + 1], x[4 * h + 2], x[4 * h + 3]);
    }
  });
}

// X^-E - 1 of the step's keys at the block's rows, [key][prime].
template <class S>
__device__ __forceinline__ void make_selectors(const ClusterUnit<S>& u,
                                               const std::uint32_t* exponents) {
  constexpr int kVectors = S::kSlice / 4;
  const std::uint32_t* psi = u.a.ring.psi + (std::size_t(u.a.prime[u.p]) << S::kLogN);
#pragma unroll(S::kFixed ? 4 : 1)
  for (int i = u.group * S::kLanes + u.lane; i < S::keys(u.a) * kVectors;
       i += u.groups() * S::kLanes) {
    const int key = i / kVectors, v = i % kVectors;
    const std::uint32_t first = logical_index(Domain::Eval, 4 * (u.rank * kVectors + v), S::kLogN);
    reinterpret_cast<uint4*>(u.poly(u.at.selectors, key, u.p))[v] =
        selector(psi, selected_exponent(u.a, exponents, key), first, S::kLogN, u.m);
  }
}

// s + x y. reduce() needs s < q 2^32, and one product is below 4q q <= q 2^32. FOLD, for sums that
// could become larger, reduces s after each product.
template <bool FOLD, int WORDS>
__device__ __forceinline__ void add_products_of(std::uint64_t (&s)[WORDS],
                                                const std::uint32_t (&x)[WORDS],
                                                const std::uint32_t (&y)[WORDS], std::uint32_t q) {
#pragma unroll
  for (int i = 0; i < WORDS; ++i) {
    s[i] += static_cast<std::uint64_t>(x[i]) * y[i];
    if constexpr (FOLD) s[i] = fold_sum(s[i], q);
  }
}

// s / R, below 2q.
template <int WORDS>
__device__ __forceinline__ void reduce(std::uint32_t (&y)[WORDS], const std::uint64_t (&s)[WORDS],
                                       const Modulus& m) {
#pragma unroll
  for (int i = 0; i < WORDS; ++i) y[i] = redc(s[i], m) + m.q;
}

// y = sum_rows digit * key row / R, below 2q.
template <bool FOLD, class S, int WORDS>
__device__ __forceinline__ void row_products(std::uint32_t (&y)[WORDS], const ClusterUnit<S>& u,
                                             const std::uint32_t* digits,
                                             const std::uint32_t* keys) {
  constexpr int kDigitStride = S::kPrimes * S::kSlice;
  const int rows = S::rows(u.a), key_stride = S::parts(u.a) * kDigitStride;
  std::uint64_t s[WORDS] = {};
#pragma unroll(S::kFixed ? S::kFixedRows : 2)
  for (int row = 0; row < rows; ++row) {
    std::uint32_t digit[WORDS], key[WORDS];
    load_words(digit, digits + row * kDigitStride);
    load_words(key, keys + row * key_stride);
    add_products_of<FOLD>(s, digit, key, u.m.q);
  }
  reduce(y, s, u.m);
}

// What the step adds, divided by N, in Eval at the block's rows, words below 2q. `keys`: the
// step's, [key of the step][row][component][prime].
template <bool FOLD, class S>
__device__ __forceinline__ void multiply(const ClusterUnit<S>& u, const std::uint32_t* keys) {
  constexpr int kWords = kProductWords<S>;
  const int key_words = S::rows(u.a) * S::parts(u.a) * S::kPrimes * S::kSlice;
  u.each_product([&](int component, int vector) {
    const int at = kWords * vector;
    const std::uint32_t* digits = u.poly(u.at.digits, 0, u.p) + at;
    const std::uint32_t* key = keys + (component * S::kPrimes + u.p) * S::kSlice + at;
    std::uint32_t y[kWords];
    if (S::keys(u.a) == 1) {
      row_products<FOLD>(y, u, digits, key);
    } else {
      const std::uint32_t* selectors = u.poly(u.at.selectors, 0, u.p) + at;
      std::uint64_t s[kWords] = {};
#pragma unroll(S::kFixed ? 4 : 1)
      for (int j = 0; j < S::keys(u.a); ++j) {
        std::uint32_t selector[kWords];
        row_products<FOLD>(y, u, digits, key + j * key_words);
        load_words(selector, selectors + j * S::kPrimes * S::kSlice);
        add_products_of<FOLD>(s, y, selector, u.m.q);
      }
      reduce(y, s, u.m);
    }
#pragma unroll
    for (int i = 0; i < kWords; ++i) y[i] = mul_shoup(y[i], u.scale, u.m.q);
    store_words(u.poly(u.at.products, component, u.p) + at, y);
  });
}

// Whether sums of so many products, of words below 4q and below q, stay below q 2^32 unfolded.
template <class S>
__device__ __forceinline__ bool sums_fit(const ClusterUnit<S>& u) {
  const auto most = static_cast<std::uint64_t>(max(S::rows(u.a), S::keys(u.a)));
  return 4 * most * u.m.q <= std::uint64_t{1} << 32;
}

// Transforms the rows of the products back, and sends them to the blocks of the columns.
template <class S>
__device__ __forceinline__ void send_products(const ClusterUnit<S>& u) {
  u.each(S::parts(u.a), [&](int component, bool active) {
    const auto* from = reinterpret_cast<const uint4*>(u.poly(u.at.products, component, u.p));
    std::uint32_t x[8];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const uint4 v = from[u.eval_vector(h)];
      x[4 * h] = v.x, x[4 * h + 1] = v.y, x[4 * h + 2] = v.z, x[4 * h + 3] = v.w;
    }
    lazy_inverse<typename S::Row>(x, u.row_inverse, u.row_exchange, u.row_t, u.lazy);
    if (!active) return;
    std::uint32_t* to =
        u.shared + u.at.arriving_products + (component * S::kPrimes + u.p) * S::kProductsWords;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const std::uint32_t c = u.row_t + S::Row::kThreads * h;
      u.send(to + 4 * S::products_vector(c / S::kBlocks, u.rank * S::kSliceRows + u.row),
             u.product_arrivals(), c % S::kBlocks, make_uint4(x[h], x[h + 2], x[h + 4], x[h + 6]));
    }
  });
}

// Transforms the columns of the products back and adds them to the class of this block. If `turns`,
// also sends the sum to the block `next` modulo C, whose class the next step's rotation moves it
// to.
template <class S>
__device__ __forceinline__ void add_products(const ClusterUnit<S>& u, bool turns,
                                             std::uint32_t next) {
  u.each(S::parts(u.a), [&](int component, bool active) {
    const std::uint32_t* from =
        u.shared + u.at.arriving_products + (component * S::kPrimes + u.p) * S::kProductsWords;
    std::uint32_t x[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      x[j] =
          from[4 * S::products_vector(u.column % S::kIds, 8 * u.column_t + j) + u.column / S::kIds];
    }
    lazy_inverse<typename S::Column>(x, u.column_inverse, u.column_exchange, u.column_t, u.lazy);
    if (!active) return;
    const std::uint32_t q = u.m.q;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const std::uint32_t vector = h * S::kLanes + u.lane;
      uint4& own = reinterpret_cast<uint4*>(u.own(component, u.p))[vector];
      uint4 v = own;
      v = make_uint4(add_mod(v.x, fold(x[4 * h], q), q), add_mod(v.y, fold(x[4 * h + 1], q), q),
                     add_mod(v.z, fold(x[4 * h + 2], q), q),
                     add_mod(v.w, fold(x[4 * h + 3], q), q));
      own = v;
      if (!turns) continue;
      push(u.rotated_residue_class(component, u.p) + 4 * vector, u.turned_arrivals(),
           next % S::kBlocks, v);
    }
  });
}

}  // namespace latticino::cuda
