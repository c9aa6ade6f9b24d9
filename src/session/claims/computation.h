// Which computation an encrypted array comes from. Operations on ciphertexts are deterministic: the
// same operation on the same operands gives the same bits, and so the same error. In
// a.sum() * a.sum() one sum is computed twice, and its error counts twice.
//
// So a result is named after its operation, its operands and the parameters. While a Computation is
// in scope, the sources of new errors and the noise of samples follow from that name, and both are
// the same if the computation is done again.
//
// Random numbers here are not secret, so a fixed seed is enough.
#pragma once

#include <bit>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <ranges>
#include <string_view>
#include <type_traits>

namespace latticino::session {

// A number that follows from two others (splitmix64).
std::uint64_t mixed(std::uint64_t a, std::uint64_t b);

// A generator of random numbers (splitmix64).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  // The generator of the computation in scope. Without one, that of the thread: each thread has its
  // own seed, so what two threads add to samples is independent. It holds no lock, so a fork cannot
  // leave it locked.
  static Random& of_this_thread();
  double uniform();               // uniform in (-1, 1)
  std::complex<double> normal();  // complex normal; each part has mean square 1

 private:
  std::uint64_t state_;
};

enum class Step : std::uint8_t {
  Part,
  Taken,
  Repeated,
  Placed,
  Copied,
  Joined,
  Plus,
  Minus,
  Times,
  PlusPlain,
  TimesPlain,
  PlusNumber,
  TimesNumber,
  Conjugated,
  Rotated,
  Summed,
  Reduced,
  Spread,
  Polynomial,
  Refreshed,
  Partners,
  CommonError,
};

class Computation {
 public:
  // `inputs`: names of the operands, and all parameters on which the result depends. These are
  // numbers, optional numbers, and arrays of numbers.
  template <class... T>
  explicit Computation(Step step, const T&... inputs)
      : Computation(name_of(static_cast<std::uint64_t>(step), inputs...)) {}
  ~Computation();
  Computation(const Computation&) = delete;
  Computation& operator=(const Computation&) = delete;

  // The name for a result that is being made. Without a computation in scope, a new name.
  static std::uint64_t name_of_result();
  // An id for the error of a new source. Only the same computation gives the same id again.
  static std::uint64_t new_id();
  // A name for these numbers: the same for the same numbers.
  template <class... T>
  static std::uint64_t name_of(const T&... inputs) {
    std::uint64_t name = 0;
    (take(name, inputs), ...);
    return name;
  }

 private:
  friend class Random;
  explicit Computation(std::uint64_t name);

  template <class T>
  static void take(std::uint64_t& name, const T& x) {
    if constexpr (std::is_floating_point_v<T>) {
      name = mixed(name, std::bit_cast<std::uint64_t>(static_cast<double>(x)));
    } else if constexpr (std::is_integral_v<T>) {
      name = mixed(name, static_cast<std::uint64_t>(x));
    } else if constexpr (requires { x.has_value(); }) {
      take(name, x.has_value());
      if (x) take(name, *x);
    } else if constexpr (requires { x.real(); }) {
      take(name, x.real());
      take(name, x.imag());
    } else {  // a contiguous range: hashed as bytes, as it may have very many numbers
      static_assert(std::ranges::contiguous_range<T>);
      const std::size_t bytes = std::ranges::size(x) * sizeof(*std::ranges::data(x));
      const auto* first = reinterpret_cast<const char*>(std::ranges::data(x));
      name = mixed(name, std::hash<std::string_view>()({first, bytes}));
    }
  }

  std::uint64_t name_, ids_ = 0;
  Random random_;
  Computation* outer_;
};

}  // namespace latticino::session
