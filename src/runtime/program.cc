#include <algorithm>

#include "math/errors.h"
#include "runtime/arena.h"
#include "runtime/observe.h"
#include "runtime/queue.h"

namespace latticino {

struct Program::State {
  std::shared_ptr<Block::Owner> owner;
  std::shared_ptr<Block::Arena> arena;
  std::vector<Buffer> kept;
  std::unique_ptr<Backend::Replay> replay;
  WorkCounts work;  // what one run counts as

  ~State() {
    owner->finish([last = std::shared_ptr<Backend::Replay>(std::move(replay))]() mutable {
      last.reset();  // must be destroyed before the memory that it uses
    });
  }
};

Program::Program(std::unique_ptr<State> s) : state_(std::move(s)) {}
Program::Program(Program&&) noexcept = default;
Program::~Program() = default;

void Program::run() {
  const auto lock = state_->owner->hold();
  if (state_->owner->recording != nullptr) {
    throw UnsupportedError("Program::run", "a recording", "a queue that computes now",
                           "run programs outside of recorded functions");
  }
  state_->replay->launch();
  if (any_observed()) note_work(state_->owner->backend.get(), state_->work);
}

std::uint64_t Program::arena_bytes() const { return state_->arena->bytes(); }

namespace {

// Bytes that the body had in use at once, in addition to those that were in use before.
std::uint64_t warm_up(Block::Owner& owner, const std::function<void()>& body) {
  struct Scope {
    Block::Owner& owner;
    std::uint64_t before;
    ~Scope() {
      owner.peak = std::max(owner.peak, before);
      owner.warming_up = false;
    }
  } scope{owner, owner.peak};
  const std::uint64_t live = owner.live;
  owner.peak = live;
  owner.warming_up = true;
  body();
  owner.backend->synchronize();
  owner.backend->trim();  // what the body freed in pieces; the arena takes it back as a whole
  return owner.peak - live;
}

// Ends the recording in any case. Blocks that outlive the recording are not reused.
std::unique_ptr<Block::Owner::Recording> collect(Block::Owner& owner,
                                                 std::shared_ptr<Block::Arena> arena,
                                                 const std::function<void()>& body) {
  const auto stop = [&] {
    owner.recording->arena->close();
    return std::move(owner.recording);
  };
  owner.recording = std::make_unique<Block::Owner::Recording>();
  owner.recording->arena = std::move(arena);
  try {
    body();
  } catch (...) {
    stop();
    throw;
  }
  return stop();
}

WorkCounts work_of(const std::vector<ProgramStep>& steps) {
  WorkCounts sum;
  for (const ProgramStep& step : steps) {
    if (const auto* op = std::get_if<Operation>(&step)) sum += latticino::work_of(*op);
  }
  return sum;
}

std::unique_ptr<Backend::Replay> capture(Backend& backend, const std::vector<ProgramStep>& steps) {
  backend.begin_record();
  try {
    for (const ProgramStep& step : steps) {
      if (const auto* op = std::get_if<Operation>(&step)) {
        backend.run(*op);
      } else {
        const FillStep& fill = std::get<FillStep>(step);
        backend.fill(fill.p, fill.bytes, fill.value);
      }
    }
    return backend.end_record();
  } catch (...) {
    backend.abandon_record();
    throw;
  }
}

}  // namespace

Program Queue::record(const std::function<void()>& body) {
  const auto lock = owner_->hold();
  if (is_dry() || owner_->recording != nullptr || owner_->warming_up) {
    throw UnsupportedError("record", is_dry() ? "a dry run" : "a recording",
                           "a queue that computes now", "record once, outside");
  }
  const std::uint64_t expected = warm_up(*owner_, body);
  auto state = std::make_unique<Program::State>();
  state->owner = owner_;
  state->arena = std::make_shared<Block::Arena>(owner_, expected);
  std::unique_ptr<Block::Owner::Recording> recording = collect(*owner_, state->arena, body);
  state->kept = std::move(recording->kept);
  state->work = work_of(recording->steps);
  state->replay = capture(*owner_->backend, recording->steps);
  return Program(std::move(state));
}

}  // namespace latticino
