// Notes which errors a recorded function adds as independent ones, and what the errors of its
// results are made of. A function is recorded with example arguments, and its noise is counted for
// them. As an example, take u[0] + u[1]. If both elements have errors of their own, the noise grows
// by the root of 2. If a later argument holds the same ciphertext twice, the noise doubles. So each
// run checks that its arguments have independent errors where the examples had.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "tfhe/origins/origins.h"

namespace latticino::tfhe {

class OriginsTrace {
 public:
  // The trace in which the operations of this thread are noted; null outside of recordings.
  static OriginsTrace* current();
  // Notes the operations of this thread, from its construction to its destruction.
  class Open {
   public:
    explicit Open(OriginsTrace& trace);
    ~Open();
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;

   private:
    OriginsTrace* outer_;
  };

  // Terms of different groups were added as independent ones.
  void add_sum(std::vector<Origins> terms, std::vector<std::size_t> groups);
  void add_bootstrapping(Origins from, Origins made);
  void clear() { steps_.clear(); }

  // The identities that those of the recording stand for in a run with other arguments.
  class Images {
   public:
    Origins of(const Origins& x) const;

   private:
    friend class OriginsTrace;
    using Ids = std::vector<std::uint64_t>;
    void add(std::uint64_t id, std::uint64_t image);
    void append(std::uint64_t id, Ids& out) const;
    std::unordered_map<std::uint64_t, Ids> map_;  // an identity that is not in it stays the same
  };
  // The identities of a run. None if errors that were added as independent are not independent
  // there.
  std::optional<Images> images(std::span<const Origins* const> examples,
                               std::span<const Origins* const> arguments) const;

 private:
  struct Step {
    std::vector<Origins> terms;
    std::vector<std::size_t> groups;  // of a sum
    Origins made;                     // of a bootstrapping of one term
  };
  static bool independent(const Step& sum, const Images& images);
  std::vector<Step> steps_;
};

}  // namespace latticino::tfhe
