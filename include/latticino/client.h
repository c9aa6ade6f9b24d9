/// \file
/// The owner of a key: generates keys, encrypts and decrypts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "latticino/array.h"
#include "latticino/plan.h"

namespace latticino {

namespace session {
class Owner;
}  // namespace session

/// Options of Client::server_keys.
struct ServerKeyOptions {
  bool public_key = false;  ///< also makes a public key, with which Context::encrypt works
  /// Called after each key, with the number of keys made so far and the number of all keys.
  std::function<void(int done, int all)> progress = {};
};

/// Decrypted values that may be shown to others.
struct SharedValues {
  std::vector<Complex> values = {};  ///< the values with noise, row by row
  double sigma = 0;                  ///< deviation of the noise that was added to each coefficient
  /// Bits of precision that it cost if the error was as large as the bound. It costs more if the
  /// error was smaller: one bit more for the bound that is derived.
  double bits_lost = 0;
};

/// Holds a secret key, in memory that is locked and cleared. Copies are handles of one client.
/// Threads of one process may share it; never send it to a server.
class LATTICINO_API Client {
 public:
  /// A new secret key for the context's parameters, from the operating system's randomness.
  explicit Client(const Context& context);

  Context context() const;     ///< the context that the client was made for
  std::string key_id() const;  ///< every object that is made under the key has it

  /// The keys that the planned programs need, and no others. ContextError for a plan of other
  /// parameters.
  ServerKeys server_keys(const Plan& plan, const ServerKeyOptions& options = {}) const;

  /// Encrypts numbers of any shape under the secret key (half the bytes of a public encryption when
  /// saved). ShapeError for no values, ValueError for NaN, infinity and values outside of a stated
  /// range, ScaleError for values over the message bound, LevelError for a level that is not.
  Array encrypt(const Values& x, const EncryptOptions& options = {}) const;
  /// The values, row by row. For the key's owner only: a decryption that others see gives the key
  /// away (docs/security.md). KeyError if another key made it.
  std::vector<Complex> decrypt(const Array& x) const;
  /// The real parts of the same values.
  std::vector<double> decrypt_real(const Array& x) const;
  /// Values that others may see: noise is added that hides the ciphertext's own. ValueError for
  /// bounds and counts that are too small, UnsupportedError if no bound can be derived, ScaleError
  /// if the noise exceeds the modulus.
  /// \param x an array under this key
  /// \param noise_bound a bound of the Euclidean norm of the noise polynomial, before the division
  /// by the scale. Never measure it on secret data. If it is empty, the library computes a bound
  /// from the error that it tracks. For this, ranges must have been declared.
  /// \param queries how many results of this function, under this key, others will ever see at most
  /// \param statistical_bits from 1 to 1000. The standard deviation of the added noise is
  /// sqrt(12 queries) * 2^(statistical_bits / 2) * noise_bound.
  SharedValues decrypt_for_sharing(const Array& x, std::optional<double> noise_bound,
                                   std::uint64_t queries, int statistical_bits = 30) const;

  /// \cond
  // Moving copies the handle, so that both stay usable.
  Client(const Client&) = default;
  Client& operator=(const Client&) = default;
  // For the library's own code.
  Client(const Context& context, std::shared_ptr<session::Owner> owner)
      : context_(context), owner_(std::move(owner)) {}
  const std::shared_ptr<session::Owner>& owner() const { return owner_; }
  /// \endcond

 private:
  Context context_;
  std::shared_ptr<session::Owner> owner_;
};

}  // namespace latticino
