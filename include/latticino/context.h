/// \file
/// A context: parameters on a device, with the public keys to compute with. It cannot decrypt.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "latticino/params.h"
#include "latticino/values.h"

namespace latticino {

namespace session {
class ContextState;
class StoredKeys;
}  // namespace session

class Array;
struct BootstrapOptions;

/// Something that a caller should know, although the call continues.
struct Warning {
  /// What a warning is about.
  enum class Kind {
    Security,  ///< the parameters do not have 128 bits of security
    Range,     ///< values may leave the range that is allowed or assumed
  };
  Kind kind = Kind::Range;   ///< what it is about
  std::string message = {};  ///< the text for people
};

/// Options of a context.
struct ContextOptions {
  /// "cpu", "cuda", or for example "cuda:1". Empty: CUDA if the library was built with it and there
  /// is a GPU, otherwise the CPU.
  std::string device = {};
  int threads = 0;   ///< threads of the CPU, up to 4096; 0: all cores
  bool simd = true;  ///< false: the plain reference code
  /// Operations that need more levels than their operand has refresh it first.
  bool auto_bootstrap = false;
  /// File with a table of `latticino tune` for the GPU; empty: the shipped table.
  std::string tuning = {};
  /// Bytes of device memory for bundles of server keys; none: no limit. At the limit, the bundles
  /// that were not used for the longest time move to host memory.
  std::optional<std::uint64_t> key_budget = std::nullopt;
  /// Called with every warning, in the thread that causes it. Empty: they go to standard error.
  std::function<void(const Warning&)> on_warning = {};
};

namespace detail {
/// A first member of option structs that callers cannot set, so that they give the other fields by
/// name.
struct ByName {
  explicit ByName() = default;
};
}  // namespace detail

/// Options of an encryption, by name: `{.level = 3}`. Numbers in braces do not compile, because
/// they look like a shape.
struct EncryptOptions {
  /// \cond
  [[no_unique_address]] detail::ByName by_name = detail::ByName();
  /// \endcond
  int level = -1;  ///< -1: the default level
  /// The scale: the factor that values are multiplied by; 0: the canonical one of the level.
  double scale = 0;
  /// The range of the values, which is public. If it is not given, the unit box is assumed.
  std::optional<Range> range = std::nullopt;
  /// Sample data of the same shape that may be public: precision is then calibrated on them.
  std::optional<Values> like = std::nullopt;
};

/// Public keys of one client: evaluation keys, and a public key if it was asked for. This is all
/// that a server may know: it cannot decrypt. Copies share the keys.
class LATTICINO_API ServerKeys {
 public:
  std::string id() const;       ///< identity of the secret key that they were made from
  std::uint64_t bytes() const;  ///< bytes of device memory
  std::size_t count() const;    ///< number of evaluation keys
  bool has_public_key() const;  ///< whether Context::encrypt works with them
  std::vector<std::string> switching() const;  ///< sets of switching for which there are keys

  /// \cond
  // Moving copies the handle, so that both stay usable.
  ServerKeys(const ServerKeys&) = default;
  ServerKeys& operator=(const ServerKeys&) = default;
  // For the library's own code.
  explicit ServerKeys(std::shared_ptr<session::StoredKeys> state) : state_(std::move(state)) {}
  const std::shared_ptr<session::StoredKeys>& state() const { return state_; }
  /// \endcond

 private:
  std::shared_ptr<session::StoredKeys> state_;
};

/// A bundle of server keys on a context's device.
struct BundleUse {
  std::string id = {};           ///< The name of the secret key.
  std::uint64_t bytes = 0;       ///< The bytes that the keys take in device memory.
  std::uint64_t host_bytes = 0;  ///< The bytes of their copy in host memory. 0: there is no copy.
  bool resident = false;         ///< Whether the keys are in device memory now.
  bool pinned = false;           ///< Whether a running operation or a recording uses the keys.
  double last_use = 0;           ///< When they were last used, in seconds since 1970. 0: never.
  std::uint64_t evictions = 0;   ///< How often the keys were moved to host memory.
};

/// The form of bootstrapping that is chosen for a ciphertext, and why.
struct BootstrapForm {
  /// Whether SlotToCoeff is the first step of bootstrapping, at the lowest levels. Otherwise it is
  /// the last step.
  bool slot_to_coeff_first = false;
  /// Whether ModRaise also applies one factor of CoeffToSlot. This is called OverModRaise.
  bool over_mod_raise = false;
  /// Degree of the arcsine polynomial that corrects the error of the sine: 3, 5 or 7. The value 1
  /// stands for no correction, and 0 for the choice of the parameter set.
  int arcsine = 0;
  /// The number r. Bootstrapping scales a coefficient of size 1 to at most q0 / 2^r. The value 0
  /// stands for the choice of the parameter set.
  int log_message_ratio = 0;
  int input_level = 0;      ///< level at which bootstrapping begins
  int output_level = 0;     ///< level of the result
  double mean_bits = 0;     ///< predicted bits of the mean error
  double worst_bits = 0;    ///< predicted bits of the largest error
  std::string reason = {};  ///< the reason, in one line
};

/// Parameters on a device. Server side: it holds public keys, never a secret. Copies are handles of
/// one context. Threads may share it.
class LATTICINO_API Context {
 public:
  /// A context with a named set. ParameterError, DeviceError, ValueError or OutOfMemoryError.
  /// \param preset the name of a set, one of ParameterSet::presets
  /// \param options the device, its threads, and so on
  explicit Context(const std::string& preset = "n16-d40-boot-v1",
                   const ContextOptions& options = {});
  /// The same for a parameter set, for instance one of your own.
  explicit Context(const ParameterSet& parameters, const ContextOptions& options = {});

  const ParameterSet& parameters() const;  ///< the parameters of the context
  std::string device() const;              ///< "cpu" or "cuda:0"
  int slots() const;                       ///< values that one ciphertext holds: N/2
  int level() const;                       ///< level of fresh ciphertexts
  /// Bytes of device memory in use: keys, constants, ciphertexts.
  std::uint64_t live_bytes() const;
  std::uint64_t peak_bytes() const;  ///< the most since the start or since reset_peak()
  void reset_peak() const;           ///< peak_bytes() counts from now on
  void synchronize() const;          ///< waits until the device has finished all work

  /// Computes with these public keys, and returns the context itself. Bundles of several clients
  /// may be in use at once: an operation takes the bundle of its operands' key. A bundle replaces
  /// an earlier one of the same key. ContextError for keys of other parameters, or of another
  /// context.
  const Context& use(const ServerKeys& keys) const;
  /// Ends the use() of this bundle.
  void forget(const ServerKeys& keys) const;
  /// A session of one client: a context on the same device that always has exactly these keys.
  /// Arrays of a session belong to it. An array under another key is a KeyError.
  Context bind(const ServerKeys& keys) const;
  /// Makes x an array of this bound context, without copying its ciphertexts. ContextError if x
  /// belongs neither to it nor to the context that bind() was called on. KeyError if x is under
  /// another key.
  Array adopt(const Array& x) const;
  /// The bundles in the store, whether in device or in host memory.
  std::vector<BundleUse> resident() const;

  /// Encrypts under the public key of the bundle that was used last. KeyError without one, and what
  /// Client::encrypt throws.
  Array encrypt(const Values& x, const EncryptOptions& options = {}) const;
  /// The form that Array::bootstrap takes for `slots` slots (0: all) at `level`.
  BootstrapForm bootstrap_form(int level, const BootstrapOptions& options, int slots = 0) const;
  /// Number of bootstrappings done so far, in all threads.
  std::uint64_t bootstraps() const;

  /// Whether both are handles of one context.
  bool operator==(const Context& other) const { return state_ == other.state_; }

  /// \cond
  // Moving copies the handle, so that both stay usable.
  Context(const Context&) = default;
  Context& operator=(const Context&) = default;
  // For the library's own code.
  explicit Context(std::shared_ptr<session::ContextState> state) : state_(std::move(state)) {}
  const std::shared_ptr<session::ContextState>& state() const { return state_; }
  /// \endcond

 private:
  std::shared_ptr<session::ContextState> state_;
};

/// The set, the device, the slots and the memory of the keys, in one line.
LATTICINO_API std::ostream& operator<<(std::ostream& out, const Context& context);

}  // namespace latticino
