// Chooses the variant of a kernel for a shape. A kernel with several equivalent forms numbers them,
// and asks pick() for the one to launch; results never depend on the answer. Answers come from a
// table of measurements (`latticino tune`). One table is shipped for each architecture that was
// measured, and a file can replace it. If a shape has no entry, the kernel's own rule decides.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace latticino {

// Kernels with variants. A kernel that renumbers its variants takes a new name in tuning.cc, so
// that an old table is refused and not misread.
enum class TunedKernel : std::uint8_t {
  ConvertTile,  // shape: source limbs, target limbs, items
  KeyInner,     // shape: digits, primes, targets of all groups, groups; not used for products
  BlindRotate,  // shape: k + 1, primes, 16 * levels + keys per step, ciphertexts
  Transform,    // shape: 0 from Coeff to Eval or 1 back, limbs, polynomials
  kCount
};
const char* name(TunedKernel kernel);

struct TuningKey {
  TunedKernel kernel = TunedKernel::ConvertTile;
  int log_n = 0;
  // Counts up to 4095 are exact; all larger ones count as the same shape.
  std::array<int, 4> shape{};

  std::uint64_t packed() const;
  static TuningKey unpacked(std::uint64_t packed);
  bool operator==(const TuningKey&) const = default;
};

// Used by one backend at a time: like a backend, it is not thread-safe.
class Tuning {
 public:
  static constexpr int kVariants = 32;
  // Bit v says whether the kernel can run variant v for this shape on this device.
  using Variants = std::uint32_t;

  // Architecture of the table; 0: any.
  explicit Tuning(int arch = 0) : arch_(arch) { forced_kernel_.fill(-1); }
  // The table shipped for an architecture (90: sm_90); empty if there is none.
  static Tuning shipped(int arch);
  // FileError tells the line that is wrong. Format: the first lines are "latticino tuning 1" and
  // "arch 90"; then one entry per line, "convert_tile 16  12 47 4 0 = 3" (kernel, log2 N, shape,
  // variant); # begins a comment.
  static Tuning parse(const std::string& text, const std::string& origin);
  static Tuning load(const std::string& path);

  int arch() const { return arch_; }
  std::size_t size() const { return entries_.size(); }

  // The variant to run: that of the table if it can run, else `own`, the choice of the kernel.
  int pick(const TuningKey& key, int own, Variants can_run) {
    if (!forced_any_ && !watching_) {
      const auto it = entries_.find(key.packed());
      return it != entries_.end() && (can_run >> it->second & 1) != 0 ? it->second : own;
    }
    return pick_for_tuner(key, own, can_run);
  }

  void set(const TuningKey& key, int variant);
  void erase(const TuningKey& key) { entries_.erase(key.packed()); }

  // For tuners and tests. force(n) makes every kernel run the n-th of the variants that it can run,
  // counted cyclically. force(kernel, v) makes this kernel run variant v for all shapes for which
  // it can. The argument -1 ends the forcing. watch(true) starts to record the shapes that kernels
  // ask for, and seen() lists each of them once.
  struct Question {
    TuningKey key;
    int own = 0;
    Variants can_run = 0;
  };
  void force(int n);
  void force(TunedKernel kernel, int variant);
  void watch(bool on);
  const std::vector<Question>& seen() const { return seen_; }

  // The table as a file; every line of `comment` is shown at its head.
  std::string text(const std::string& comment) const;

 private:
  int pick_for_tuner(const TuningKey& key, int own, Variants can_run);

  int arch_ = 0, forced_ = -1;
  std::array<int, static_cast<std::size_t>(TunedKernel::kCount)> forced_kernel_;
  bool forced_any_ = false, watching_ = false;
  std::unordered_map<std::uint64_t, std::uint8_t> entries_;
  std::vector<Question> seen_;
};

// The shipped tables, compiled in from src/backend/tuned.
struct ShippedTuning {
  const char* name;
  const char* text;
};
std::vector<ShippedTuning> shipped_tunings();

}  // namespace latticino
