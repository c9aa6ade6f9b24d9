#include "session/claims/computation.h"

#include <atomic>
#include <cmath>

namespace latticino::session {
namespace {

constexpr std::uint64_t kSeed = 20240229, kStep = 0x9E3779B97F4A7C15u;

thread_local Computation* in_scope = nullptr;

std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  // The highest bit keeps it apart from the numbers of next_number().
  return mixed(a * kStep + b + 0x632BE59BD9B4E019u) | (std::uint64_t{1} << 63);
}

Random& Random::of_this_thread() {
  if (in_scope != nullptr) return in_scope->random_;
  static std::atomic<std::uint64_t> threads{0};
  thread_local Random own(mixed(kSeed + kStep * threads.fetch_add(1)));
  return own;
}

double Random::uniform() {
  const std::uint64_t x = mixed(state_ += kStep);
  return (static_cast<double>(x >> 11) + 0.5) * 0x1p-52 - 1;
}

// Uses Marsaglia's polar method.
std::complex<double> Random::normal() {
  for (;;) {
    const double u = uniform(), v = uniform(), s = u * u + v * v;
    if (s >= 1 || s == 0) continue;
    const double factor = std::sqrt(-2 * std::log(s) / s);
    return {u * factor, v * factor};
  }
}

Computation::Computation(std::uint64_t name) : name_(name), random_(name), outer_(in_scope) {
  in_scope = this;
}

Computation::~Computation() { in_scope = outer_; }

std::uint64_t Computation::name_of_result() {
  return in_scope != nullptr ? in_scope->name_ : next_number();
}

std::uint64_t Computation::new_id() {
  return in_scope != nullptr ? mixed(in_scope->name_, ++in_scope->ids_) : next_number();
}

}  // namespace latticino::session
