#include "runtime/observe.h"

#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>

#include "backend/ranges.h"
#include "ops/effort.h"
#include "runtime/queue.h"

namespace latticino {
namespace {

struct Observers {
  std::mutex mutex;
  std::map<const Backend*, Observed> of;
};

Observers& observers() {
  // Never destroyed, because queues may be destroyed after static objects.
  static auto* const kObservers = new Observers;
  return *kObservers;
}

std::atomic<int> g_observed{0};

double now() {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(time).count();
}

bool is_observed(const Backend* backend) {
  if (!any_observed()) return false;
  Observers& all = observers();
  const std::lock_guard lock(all.mutex);
  return all.of.contains(backend);
}

std::uint64_t key_switches(const Operation& op) {
  const auto* inner = std::get_if<KeyInner>(&op);
  if (inner == nullptr) return 0;
  std::uint64_t sum = 0;
  for (const KeyInner::Group& group : inner->groups) sum += group.targets.size();
  return sum;
}

}  // namespace

WorkCounts& WorkCounts::operator+=(const WorkCounts& other) {
  records += other.records;
  bytes_moved += other.bytes_moved;
  key_switches += other.key_switches;
  blind_rotations += other.blind_rotations;
  return *this;
}

WorkCounts work_of(const Operation& op) {
  const std::uint64_t rotations =
      std::holds_alternative<BlindRotate>(op) ? effort(op).items : std::uint64_t{0};
  return {1, bytes_moved(op), key_switches(op), rotations};
}

void observe(Queue& queue, bool on) {
  Observers& all = observers();
  const std::lock_guard lock(all.mutex);
  if (on) {
    all.of[queue.backend()] = {};
  } else {
    all.of.erase(queue.backend());
  }
  g_observed = static_cast<int>(all.of.size());
}

Observed observed(Queue& queue) {
  Observers& all = observers();
  const std::lock_guard lock(all.mutex);
  const auto found = all.of.find(queue.backend());
  return found == all.of.end() ? Observed{} : found->second;
}

bool any_observed() { return g_observed.load(std::memory_order_relaxed) > 0; }

void note_work(const Backend* backend, const WorkCounts& work) {
  Observers& all = observers();
  const std::lock_guard lock(all.mutex);
  const auto found = all.of.find(backend);
  if (found != all.of.end()) found->second.work += work;
}

Stage::Stage(Queue& queue, const char* name) : name_(name) {
  if (!is_observed(queue.backend())) return;
  queue.synchronize();
  queue_ = &queue;
  exceptions_ = std::uncaught_exceptions();
  start_ = now();
  push_range(name);
}

Stage::~Stage() {
  if (queue_ == nullptr) return;
  try {
    if (std::uncaught_exceptions() == exceptions_) queue_->synchronize();
    Observers& all = observers();
    const std::lock_guard lock(all.mutex);
    const auto found = all.of.find(queue_->backend());
    if (found != all.of.end()) {
      StageTime& stage = found->second.stages[name_];
      ++stage.count;
      stage.seconds += now() - start_;
    }
  } catch (...) {  // NOLINT(bugprone-empty-catch): the next operation on the queue throws it again
  }
  pop_range();
}

}  // namespace latticino
