/// \file
/// TFHE: encrypted booleans and unsigned integers, exact, with operators and tables.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "latticino/context.h"

namespace latticino {

class TfheParams;  // a class of the library

namespace session {
class TfheContextState;
class TfheStoredKeys;
class TfheOwner;
struct TfheArrayState;
}  // namespace session

/// Type of encrypted values: booleans, unsigned integers of whole blocks up to 64 bits, or integers
/// modulo 2^p in one ciphertext each ("m4" of the 2-2 sets).
struct TfheType {
  int bits = 0;  ///< 0: booleans; above: unsigned integers; below: integers modulo 2^-bits
  /// "bool", or for example "u8" and "m4".
  std::string name() const {
    return bits > 0 ? "u" + std::to_string(bits) : bits < 0 ? "m" + std::to_string(-bits) : "bool";
  }
  /// Whether both are one type.
  bool operator==(const TfheType&) const = default;
};
/// \{
/// The types by name: booleans, unsigned integers of 4 to 64 bits, and integers modulo 16.
inline constexpr TfheType kBool{0}, kU4{4}, kU8{8}, kU16{16}, kU32{32}, kU64{64}, kM4{-4};
/// \}

/// Options of a context of TFHE.
struct TfheContextOptions {
  std::string device = {};  ///< as in ContextOptions
  int threads = 0;          ///< as in ContextOptions
  bool simd = true;         ///< as in ContextOptions
  std::string tuning = {};  ///< as in ContextOptions
  /// Arithmetic of blind rotations: "exact" (modulo primes) or "fft64"; "auto" or empty: the faster
  /// one on the device. For sets over one prime the choice may depend on how many ciphertexts are
  /// computed at once; both give the same bits there. The same keys and ciphertexts work with both.
  std::string arithmetic = {};
  /// Adds an encryption of zero to ciphertexts from files before each table (docs/security.md).
  bool rerandomize = false;
  std::optional<std::uint64_t> key_budget = std::nullopt;  ///< as in ContextOptions
  std::function<void(const Warning&)> on_warning = {};     ///< as in ContextOptions
};

/// Bootstrapping keys: all that a server may know, the same for every program. Copies share them.
class LATTICINO_API TfheServerKeys {
 public:
  std::string id() const;       ///< identity of the secret key that they were made from
  std::uint64_t bytes() const;  ///< bytes of device memory
  bool has_public_key() const;  ///< whether TfheContext::encrypt works with them

  /// \cond
  // Moving copies the handle, so that both stay usable.
  TfheServerKeys(const TfheServerKeys&) = default;
  TfheServerKeys& operator=(const TfheServerKeys&) = default;
  // For the library's own code.
  explicit TfheServerKeys(std::shared_ptr<session::TfheStoredKeys> state)
      : state_(std::move(state)) {}
  const std::shared_ptr<session::TfheStoredKeys>& state() const { return state_; }
  /// \endcond

 private:
  std::shared_ptr<session::TfheStoredKeys> state_;
};

class TfheArray;

/// Parameters of TFHE on a device. Server side: it holds public keys, never a secret. Copies are
/// handles of one context; threads may share it.
class LATTICINO_API TfheContext {
 public:
  /// A context with a named set. ParameterError, DeviceError, ValueError or OutOfMemoryError.
  /// \param preset "tfhe-2-2-v1" for integers and booleans, "tfhe-gates-v2" for booleans alone; or
  /// another one of presets()
  /// \param options the device, its threads, and so on
  explicit TfheContext(const std::string& preset = "tfhe-2-2-v1",
                       const TfheContextOptions& options = {});
  static std::vector<std::string> presets();  ///< the names of all sets

  std::string name() const;    ///< name of the set
  std::string device() const;  ///< "cpu" or "cuda:0"
  /// "exact", "fft64", or "auto" if both are used, by the number of ciphertexts.
  std::string arithmetic() const;
  /// The arithmetic that is used for so many bootstrappings at once.
  std::string arithmetic(std::uint32_t together) const;
  std::string explain() const;  ///< text with dimensions, security, noise and failure probability
  std::uint64_t live_bytes() const;  ///< bytes of device memory in use
  void synchronize() const;          ///< waits until the device has finished all work

  /// \{
  /// Works as in Context, with keys and arrays of TFHE.
  const TfheContext& use(const TfheServerKeys& keys) const;
  void forget(const TfheServerKeys& keys) const;
  TfheContext bind(const TfheServerKeys& keys) const;
  TfheArray adopt(const TfheArray& x) const;
  std::vector<BundleUse> resident() const;
  /// \}
  /// \{
  /// Encrypts under the public key of the bundle in use. KeyError without one, and what
  /// TfheClient::encrypt throws.
  TfheArray encrypt(std::span<const std::uint64_t> values, TfheType type) const;
  TfheArray encrypt(const std::vector<std::uint64_t>& values, TfheType type) const;
  /// \}

  /// Whether both are handles of one context.
  bool operator==(const TfheContext& other) const { return state_ == other.state_; }
  /// \cond
  // Moving copies the handle, so that both stay usable.
  TfheContext(const TfheContext&) = default;
  TfheContext& operator=(const TfheContext&) = default;
  // For the library's own code.
  explicit TfheContext(std::shared_ptr<session::TfheContextState> state)
      : state_(std::move(state)) {}
  const std::shared_ptr<session::TfheContextState>& state() const { return state_; }
  /// \endcond

 private:
  std::shared_ptr<session::TfheContextState> state_;
};

/// A vector of encrypted values of one type. Immutable. Operands of one operation have one length,
/// or one of them is a single value, encrypted or clear. Integers wrap modulo 2^bits. If two types
/// meet, the result has the wider one. Results are exact, except with the failure probability of
/// the set for each bootstrapping. Operations throw ShapeError, ParameterError, ValueError,
/// KeyError, ContextError or LevelError (too much noise for a decision).
class LATTICINO_API TfheArray {
 public:
  TfheContext context() const;  ///< the context or session that the array belongs to
  std::size_t size() const;     ///< number of values
  TfheType type() const;        ///< type of the values
  std::uint64_t bytes() const;  ///< bytes of device memory
  double log_failure() const;   ///< log2 of the probability that the next bootstrapping fails
  std::string key_id() const;   ///< identity of the secret key, as stated by whoever sent the array

  /// All bits of the values inverted. No bootstrapping. ParameterError for integers modulo 2^p.
  TfheArray operator~() const;
  TfheArray operator[](std::size_t i) const;  ///< one of the values
  /// The values at these places; no bootstrapping.
  TfheArray take(std::span<const std::uint32_t> places) const;
  /// The values in another type. A wider type has zeros above, a narrower one holds them modulo
  /// 2^bits, and a boolean says whether the value is not 0.
  TfheArray as(TfheType type) const;
  /// f of every value, by a table. Values have at most 4 bits (two blocks).
  TfheArray apply(const std::function<std::uint64_t(std::uint64_t)>& f, TfheType type) const;
  /// f of every pair of values, of at most 2 bits each.
  TfheArray apply(const std::function<std::uint64_t(std::uint64_t, std::uint64_t)>& f,
                  const TfheArray& other, TfheType type) const;
  /// The sum of all values, in their type. Booleans are summed in the smallest type that holds the
  /// count.
  TfheArray sum() const;
  TfheArray min() const;  ///< the least of all values
  TfheArray max() const;  ///< the greatest of all values
  TfheArray any() const;  ///< whether any value is not 0
  TfheArray all() const;  ///< whether all values are not 0
  /// The same values under fresh masks. KeyError unless the keys have a public key.
  TfheArray rerandomize() const;

  /// \cond
  // Moving copies the handle, so that both stay usable.
  TfheArray(const TfheArray&) = default;
  TfheArray& operator=(const TfheArray&) = default;
  // For the library's own code.
  explicit TfheArray(std::shared_ptr<const session::TfheArrayState> state)
      : state_(std::move(state)) {}
  const std::shared_ptr<const session::TfheArrayState>& state() const { return state_; }
  /// \endcond

 private:
  std::shared_ptr<const session::TfheArrayState> state_;
};

/// An operand: an encrypted array, or clear values, which must fit its type (ValueError).
class TfheOperand {
 public:
  /// \{
  /// Each of these becomes an operand by itself: an array, one integer of any type, a list.
  TfheOperand(TfheArray x) : value(std::move(x)) {}                   // NOLINT: implicit
  TfheOperand(std::vector<std::uint64_t> x) : value(std::move(x)) {}  // NOLINT
  template <std::integral T>
  TfheOperand(T x) : value(number(x)) {}  // NOLINT
  /// \}
  /// What was given. One integer is a std::int64_t if it fits that type.
  std::variant<TfheArray, std::vector<std::uint64_t>, std::int64_t> value;

 private:
  template <std::integral T>
  static decltype(value) number(T x) {
    const auto integer = static_cast<std::int64_t>(x);
    if (std::is_unsigned_v<T> && integer < 0) {
      return std::vector<std::uint64_t>{static_cast<std::uint64_t>(x)};
    }
    return integer;
  }
};

/// Clear values that become an operand: one integer of any type, or a list.
template <class T>
concept TfheClear = std::integral<T> || std::same_as<T, std::vector<std::uint64_t>>;

/// \{
/// Bit by bit, of booleans or of integers.
LATTICINO_API TfheArray operator&(const TfheArray& x, const TfheOperand& y);
LATTICINO_API TfheArray operator|(const TfheArray& x, const TfheOperand& y);
LATTICINO_API TfheArray operator^(const TfheArray& x, const TfheOperand& y);
/// \}
/// \{
/// Element by element, modulo 2^bits. Integers modulo 2^p are multiplied by one clear
/// integer only (UnsupportedError for other factors).
LATTICINO_API TfheArray operator+(const TfheArray& x, const TfheOperand& y);
LATTICINO_API TfheArray operator-(const TfheArray& x, const TfheOperand& y);
LATTICINO_API TfheArray operator*(const TfheArray& x, const TfheOperand& y);
/// \}
/// \{
/// Shifts by one clear amount from 0 (ValueError for others), or by encrypted ones. Bits that leave
/// are lost, and zeros come in.
LATTICINO_API TfheArray operator<<(const TfheArray& x, const TfheOperand& amount);
LATTICINO_API TfheArray operator>>(const TfheArray& x, const TfheOperand& amount);
/// \}
/// \{
/// Compares element by element. The results are encrypted booleans.
LATTICINO_API TfheArray operator<(const TfheArray& x, const TfheOperand& y);
LATTICINO_API TfheArray operator<=(const TfheArray& x, const TfheOperand& y);
LATTICINO_API TfheArray operator>(const TfheArray& x, const TfheOperand& y);
LATTICINO_API TfheArray operator>=(const TfheArray& x, const TfheOperand& y);
LATTICINO_API TfheArray operator==(const TfheArray& x, const TfheOperand& y);
LATTICINO_API TfheArray operator!=(const TfheArray& x, const TfheOperand& y);
/// \}
/// \cond
// Exact matches. Without them, C++20 would also take the operators above with exchanged operands.
inline TfheArray operator==(const TfheArray& x, const TfheArray& y) { return x == TfheOperand(y); }
inline TfheArray operator!=(const TfheArray& x, const TfheArray& y) { return x != TfheOperand(y); }
template <TfheClear T>
TfheArray operator==(const TfheArray& x, const T& y) {
  return x == TfheOperand(y);
}
template <TfheClear T>
TfheArray operator!=(const TfheArray& x, const T& y) {
  return x != TfheOperand(y);
}
namespace detail {
// The clear values x as an array of the type of y.
LATTICINO_API TfheArray clear_like(const TfheOperand& x, const TfheArray& y);
}  // namespace detail
/// \endcond
/// \{
/// The same operators with clear values on the left: one integer, or a list. For example, `100 - x`
/// and `1 << x`. The clear values get the type of y.
template <TfheClear T>
TfheArray operator&(const T& x, const TfheArray& y) {
  return y & TfheOperand(x);
}
template <TfheClear T>
TfheArray operator|(const T& x, const TfheArray& y) {
  return y | TfheOperand(x);
}
template <TfheClear T>
TfheArray operator^(const T& x, const TfheArray& y) {
  return y ^ TfheOperand(x);
}
template <TfheClear T>
TfheArray operator+(const T& x, const TfheArray& y) {
  return y + TfheOperand(x);
}
template <TfheClear T>
TfheArray operator-(const T& x, const TfheArray& y) {
  return detail::clear_like(x, y) - TfheOperand(y);
}
template <TfheClear T>
TfheArray operator*(const T& x, const TfheArray& y) {
  return y * TfheOperand(x);
}
template <TfheClear T>
TfheArray operator<<(const T& x, const TfheArray& amount) {
  return detail::clear_like(x, amount) << TfheOperand(amount);
}
template <TfheClear T>
TfheArray operator>>(const T& x, const TfheArray& amount) {
  return detail::clear_like(x, amount) >> TfheOperand(amount);
}
template <TfheClear T>
TfheArray operator<(const T& x, const TfheArray& y) {
  return y > TfheOperand(x);
}
template <TfheClear T>
TfheArray operator<=(const T& x, const TfheArray& y) {
  return y >= TfheOperand(x);
}
template <TfheClear T>
TfheArray operator>(const T& x, const TfheArray& y) {
  return y < TfheOperand(x);
}
template <TfheClear T>
TfheArray operator>=(const T& x, const TfheArray& y) {
  return y <= TfheOperand(x);
}
template <TfheClear T>
TfheArray operator==(const T& x, const TfheArray& y) {
  return y == TfheOperand(x);
}
template <TfheClear T>
TfheArray operator!=(const T& x, const TfheArray& y) {
  return y != TfheOperand(x);
}
/// \}
/// x where the encrypted condition is true, y elsewhere.
LATTICINO_API TfheArray where(const TfheArray& condition, const TfheArray& x, const TfheOperand& y);
/// The smaller one of x and y, element by element.
LATTICINO_API TfheArray minimum(const TfheArray& x, const TfheOperand& y);
/// The larger one of x and y, element by element.
LATTICINO_API TfheArray maximum(const TfheArray& x, const TfheOperand& y);
/// The arrays one after the other, in the widest of their types; no bootstrapping.
LATTICINO_API TfheArray concatenate(std::span<const TfheArray> x);
/// Size, type, set and probability of failure, in one line.
LATTICINO_API std::ostream& operator<<(std::ostream& out, const TfheArray& x);

/// The owner of a TFHE key. Copies are handles of one client; threads of one process may share it.
class LATTICINO_API TfheClient {
 public:
  /// Makes a new secret key for the parameter set of the context. Its randomness comes from the
  /// operating system.
  explicit TfheClient(const TfheContext& context);
  TfheContext context() const;  ///< the context that the client was made for
  std::string key_id() const;  ///< identity of the secret key; arrays and keys made from it have it
  /// Makes the keys that a server needs. The same keys serve every program.
  /// \param public_key true: also makes a public key. TfheContext::encrypt and re-randomisation
  /// need it.
  /// \param progress a function that is called after each key. `done` is the number of keys that
  /// were made, `all` is the number of keys that will be made.
  TfheServerKeys server_keys(bool public_key = false,
                             const std::function<void(int done, int all)>& progress = {}) const;
  /// \{
  /// Encrypts values of one type. ParameterError for types that the set does not hold, ValueError
  /// for values that do not fit the type, ShapeError for no values.
  TfheArray encrypt(std::span<const std::uint64_t> values, TfheType type) const;
  TfheArray encrypt(const std::vector<std::uint64_t>& values, TfheType type) const {
    return encrypt(std::span<const std::uint64_t>(values), type);
  }
  /// \}
  /// The exact values. KeyError if another key made x, LevelError if noise makes a wrong value more
  /// likely than the set states.
  std::vector<std::uint64_t> decrypt(const TfheArray& x) const;

  /// \cond
  // Moving copies the handle, so that both stay usable.
  TfheClient(const TfheClient&) = default;
  TfheClient& operator=(const TfheClient&) = default;
  // For the library's own code.
  TfheClient(const TfheContext& context, std::shared_ptr<session::TfheOwner> owner)
      : context_(context), owner_(std::move(owner)) {}
  const std::shared_ptr<session::TfheOwner>& owner() const { return owner_; }
  /// \endcond

 private:
  TfheContext context_;
  std::shared_ptr<session::TfheOwner> owner_;
};

/// Stands for a fresh encryption of `size` values in a plan.
struct TfheInput {
  std::size_t size = 1;  ///< number of values
  TfheType type = {};    ///< type of the values
};

/// What a program of TFHE needs.
struct TfhePlan {
  std::uint64_t bootstrappings = 0;  ///< how many elements the whole program bootstraps
  std::uint64_t rounds = 0;          ///< how many groups of these run one after another
  std::uint64_t key_bytes = 0;       ///< device memory of the evaluation keys
  std::uint64_t input_bytes = 0;     ///< device memory of the arguments
  std::uint64_t peak_bytes = 0;      ///< the most device memory in use at any time
  std::uint64_t operations = 0;      ///< how many operations the device runs
  double seconds = 0;                ///< predicted time of a run
  double log_failure = 0;  ///< log2 of a bound on the probability that any bootstrapping goes wrong
};
/// Prints the plan as a table.
LATTICINO_API std::ostream& operator<<(std::ostream& out, const TfhePlan& plan);

namespace detail {
using TfheListProgram = std::function<void(std::span<const TfheArray>)>;
LATTICINO_API TfhePlan plan_of(const TfheContext& context, const TfheListProgram& program,
                               const std::vector<std::variant<TfheArray, TfheInput>>& examples);
}  // namespace detail

/// Runs a program without data, and returns what the program needs. If the program throws an error,
/// this function throws it.
/// \param context the context that the program will use
/// \param program a function of one or more TfheArray arguments
/// \param examples an encrypted array or a TfheInput for each argument of the program
template <class Program, class... Examples>
TfhePlan plan(const TfheContext& context, Program&& program, const Examples&... examples) {
  return detail::plan_of(context,
                         [&](std::span<const TfheArray> x) {
                           [&]<std::size_t... i>(std::index_sequence<i...>) {
                             std::invoke(program, x[i]...);
                           }
                           (std::make_index_sequence<sizeof...(Examples)>());
                         },
                         {std::variant<TfheArray, TfheInput>(examples)...});
}

namespace session {
class TfheRecordedArrays;
}  // namespace session

namespace detail {
using TfheFunction = std::function<std::vector<TfheArray>(std::span<const TfheArray>)>;
/// A recorded program of lists of arrays. Copies are handles of one recording.
class LATTICINO_API TfheRecorded {
 public:
  TfheRecorded(const TfheFunction& program, std::span<const TfheArray> examples);
  std::vector<TfheArray> run(std::span<const TfheArray> arguments) const;
  std::uint64_t arena_bytes() const;
  // Moving copies the handle, so that both stay usable.
  TfheRecorded(const TfheRecorded&) = default;
  TfheRecorded& operator=(const TfheRecorded&) = default;

 private:
  std::shared_ptr<session::TfheRecordedArrays> state_;
};
}  // namespace detail

/// A recorded program of encrypted arrays, which gives one array. Threads may share it.
class TfheRecording {
 public:
  /// \cond
  explicit TfheRecording(const detail::TfheRecorded& recorded) : recorded_(recorded) {}
  /// \endcond
  /// Runs the recording on arguments like those that it was recorded with. ContextError, KeyError,
  /// ShapeError, ParameterError or LevelError (more noise) for others.
  template <class... Arguments>
  TfheArray operator()(const Arguments&... arguments) const {
    const std::array<TfheArray, sizeof...(Arguments)> list{arguments...};
    return recorded_.run(list).front();
  }
  /// Device memory that the recording keeps for itself.
  std::uint64_t arena_bytes() const { return recorded_.arena_bytes(); }

 private:
  detail::TfheRecorded recorded_;
};

/// Records a program of encrypted arrays for arguments like these; it is called twice.
template <class Program, class... More>
TfheRecording record(Program&& program, const TfheArray& first, const More&... more) {
  const std::array<TfheArray, 1 + sizeof...(More)> list{first, more...};
  return TfheRecording(detail::TfheRecorded(
      [&](std::span<const TfheArray> x) {
        return [&]<std::size_t... i>(std::index_sequence<i...>) {
          return std::vector<TfheArray>{std::invoke(program, x[i]...)};
        }
        (std::make_index_sequence<1 + sizeof...(More)>());
      },
      list));
}

}  // namespace latticino
