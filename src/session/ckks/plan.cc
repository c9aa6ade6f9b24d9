// Dry runs of programs.
#include "session/ckks/plan.h"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <sstream>

#include "math/errors.h"
#include "math/text.h"
#include "session/ckks/state.h"
#include "session/claims/slot_noise.h"

namespace latticino {
namespace session {
namespace {

constexpr std::size_t kMaxCiphertexts = std::size_t{1} << 16;  // the most ciphertexts of an example

// An array without data, with the shape that the example would have once encrypted.
Array stand_in(const ContextStatePtr& twin, const ContextState& original, const Example& example) {
  const Params& params = twin->params();
  if (const Array* x = std::get_if<Array>(&example.value)) {
    const ArrayState& s = state(*x);
    if (s.context->root() != original.root()) {
      throw ContextError("plan", "an example of another context", "arrays of this one",
                         "encrypt it here");
    }
    ArrayState out{twin, {{}, s.known(), s.rest()}, s.shape};
    for (const ckks::Ciphertext& part : s.parts()) {
      out.contents.parts.push_back(shape_of(twin->host()->native, part));
    }
    return Array(std::make_shared<const ArrayState>(std::move(out)));
  }
  const Values* sample = std::get_if<Values>(&example.value);
  const Input* input = std::get_if<Input>(&example.value);
  const Shape& shape = sample ? sample->shape() : input->shape;
  const std::size_t size = size_of(shape);
  const int level = !input || input->level == -1 ? params.default_level() : input->level;
  if (level < 0 || level > params.top_level()) {
    throw LevelError("plan", "level " + std::to_string(level),
                     "a level from 0 to " + std::to_string(params.top_level()), "leave it out");
  }
  const int slots = slots_for(size, params.max_slots(), "plan");
  const std::size_t count =
      (size + static_cast<std::size_t>(slots) - 1) / static_cast<std::size_t>(slots);
  if (count > kMaxCiphertexts) {
    throw ShapeError("plan", "an example of " + std::to_string(count) + " ciphertexts",
                     "up to " + std::to_string(kMaxCiphertexts), "plan the work in parts");
  }
  const double scale = params.scale(level), error = fresh_error(params, scale, slots, false);
  Known known;
  if (sample) {
    require_finite(sample->numbers(), "plan");
    known = Known::fresh(sample->numbers(), sample->is_real(), error);
  } else {
    known = Known::fresh(input->range ? range_of(*input->range) : Range::unit_disc(), error);
  }
  ArrayState out{twin, {{}, std::move(known), UnusedSlots::zero()}, shape};
  for (std::size_t i = 0; i < count; ++i) {
    out.contents.parts.push_back(shape_only(twin->host()->native, level, scale, slots));
  }
  return Array(std::make_shared<const ArrayState>(std::move(out)));
}

double mib(std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

}  // namespace

std::uint64_t PlanState::key_bytes() const {
  std::uint64_t sum = 0;
  for (const auto& [label, bytes] : bytes_by_key) sum += bytes;
  for (const auto& [name, bytes] : switching) sum += bytes;
  for (const auto& [product, bytes] : products) sum += bytes;
  return sum;
}

}  // namespace session

using session::PlanState;

Plan detail::plan_of(const Context& context, const ListProgram& program,
                     const std::vector<Example>& examples) {
  const session::ContextState& original = *context.state();
  const auto host = std::make_shared<session::Host>(*original.host(), session::Host::Dry{});
  const auto twin = std::make_shared<session::ContextState>(host);
  const Queue& queue = host->native->queue();
  std::vector<Array> inputs;
  inputs.reserve(examples.size());
  for (const Example& example : examples) {
    inputs.push_back(session::stand_in(twin, original, example));
  }
  const std::uint64_t input_bytes = queue.live_bytes();
  const std::vector<Array> results = program(inputs);

  const DryReport report = queue.report();
  PlanState out;
  out.params_hash = host->params().hash();
  out.log_n = host->params().log_n();
  out.keys = host->dry_run->request();
  for (const auto& [label, level] : out.keys) {
    out.bytes_by_key[label] =
        rlwe::key_shape(host->native->constants(), label, level).bytes(host->params().n());
  }
  std::uint64_t in_memory = 0;  // switching keys live in the twin's memory as in the device's
  for (const auto& [name, keys] : host->dry_switch_keys()) {
    std::uint64_t rest = keys->bytes();
    in_memory += rest;
    for (const auto& [shape, key] : keys->matvec) {
      out.products[{name, shape}] = key.bytes();
      rest -= key.bytes();
    }
    out.switching[name] = rest;
  }
  out.constant_bytes = host->constant_bytes();
  const std::uint64_t peak = std::max(
      {report.peak_bytes, queue.peak_bytes(), input_bytes + out.constant_bytes + in_memory});
  out.working_bytes = peak - std::min(peak, out.constant_bytes + in_memory);
  for (const Array& r : results) {
    out.levels.push_back(r.level());
    out.bits.push_back(r.bits());
  }
  out.bootstraps = host->bootstraps;
  const session::DryCounts counts = session::counts_of(report, host->timed);
  out.lookups = counts.rotations;
  out.bytes_moved = counts.bytes_moved;
  out.operations = counts.operations;
  out.seconds = counts.seconds;
  out.prepared_seconds =
      counts.seconds - session::counts_of(queue.preparation(), host->timed).seconds;
  out.notes = host->notes();
  return Plan(std::make_shared<const PlanState>(std::move(out)));
}

std::vector<PlannedKey> Plan::keys() const {
  std::vector<PlannedKey> out;
  for (const auto& [label, level] : state_->keys) {
    out.push_back({label.describe(state_->log_n), level, state_->bytes_by_key.at(label)});
  }
  return out;
}
std::uint64_t Plan::key_bytes() const { return state_->key_bytes(); }
std::uint64_t Plan::constant_bytes() const { return state_->constant_bytes; }
std::uint64_t Plan::peak_bytes() const {
  return key_bytes() + state_->constant_bytes + state_->working_bytes;
}
std::vector<int> Plan::levels() const { return state_->levels; }
std::vector<Bits> Plan::bits() const { return state_->bits; }
std::uint64_t Plan::bootstraps() const { return state_->bootstraps; }
std::uint64_t Plan::lookups() const { return state_->lookups; }
double Plan::seconds() const { return state_->seconds; }
double Plan::prepared_seconds() const { return state_->prepared_seconds; }
std::uint64_t Plan::bytes_moved() const { return state_->bytes_moved; }
std::uint64_t Plan::operations() const { return state_->operations; }
std::vector<std::string> Plan::notes() const { return state_->notes; }

std::vector<std::string> Plan::missing(const ServerKeys& keys) const {
  std::vector<std::string> out;
  const auto bundle = keys.state()->bundle();
  for (const auto& [label, level] : state_->keys) {
    if (!bundle->keys->has(label, level)) out.push_back(label.describe(state_->log_n));
  }
  for (const auto& [name, bytes] : state_->switching) {
    if (!bundle->switching.contains(name)) out.push_back(name);
  }
  return out;
}

std::string Plan::str() const {
  using session::mib;
  std::ostringstream out;
  out << "evaluation keys    " << state_->keys.size() << ", "
      << formatted("%.0f MiB", mib(key_bytes())) << "\nencoded matrices   "
      << formatted("%.0f MiB", mib(constant_bytes())) << "\npeak memory        "
      << formatted("%.0f MiB", mib(peak_bytes())) << "\nresult levels      ";
  for (std::size_t i = 0; i < state_->levels.size(); ++i) {
    out << (i ? ", " : "") << state_->levels[i];
  }
  for (const Bits& b : state_->bits) {
    out << "\nexpected bits      " << formatted("%.1f", b.mean) << ", worst value "
        << formatted("%.1f", b.worst) << " (" << session::name_of(b.claim) << ")";
  }
  out << "\nbootstrappings     " << state_->bootstraps;
  if (state_->lookups > 0) out << "\ntable lookups      " << state_->lookups;
  out << "\ndata moved         " << formatted("%.2f GiB", mib(state_->bytes_moved) / 1024)
      << "\npredicted time     " << formatted("%.3g s", state_->seconds) << ", "
      << formatted("%.3g s", state_->prepared_seconds) << " once all constants are encoded";
  for (const std::string& note : state_->notes) out << "\n" << note;
  return out.str();
}

Plan operator|(const Plan& x, const Plan& y) {
  const PlanState &a = *x.state(), &b = *y.state();
  if (a.params_hash != b.params_hash) {
    throw ContextError("plan", "plans for different parameters", "one parameter set",
                       "plan both in one context");
  }
  PlanState out = a;
  for (const auto& [label, level] : b.keys) {
    const auto [at, fresh] = out.keys.try_emplace(label, level);
    if (!fresh && at->second > level) continue;
    at->second = level;
    out.bytes_by_key[label] = b.bytes_by_key.at(label);
  }
  out.switching.insert(b.switching.begin(), b.switching.end());
  out.products.insert(b.products.begin(), b.products.end());
  out.constant_bytes += b.constant_bytes;
  out.working_bytes = std::max(a.working_bytes, b.working_bytes);
  out.levels.insert(out.levels.end(), b.levels.begin(), b.levels.end());
  out.bits.insert(out.bits.end(), b.bits.begin(), b.bits.end());
  out.bootstraps += b.bootstraps;
  out.lookups += b.lookups;
  out.bytes_moved += b.bytes_moved;
  out.operations += b.operations;
  out.seconds += b.seconds;
  out.prepared_seconds += b.prepared_seconds;
  for (const std::string& note : b.notes) {
    if (std::ranges::find(out.notes, note) == out.notes.end()) out.notes.push_back(note);
  }
  return Plan(std::make_shared<const PlanState>(std::move(out)));
}

std::ostream& operator<<(std::ostream& out, const Plan& plan) { return out << plan.str(); }

}  // namespace latticino
