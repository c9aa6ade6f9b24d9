#include <algorithm>
#include <sstream>
#include <utility>
#include <variant>

#include "backend/backend.h"
#include "backend/lowering.h"
#include "math/errors.h"

namespace latticino {
namespace {

struct Flag {
  const char* name;
  bool Features::*member;
};
constexpr Flag kFlags[] = {{"tiles", &Features::tiles},       {"matrix", &Features::matrix},
                           {"inner", &Features::inner},       {"last_step", &Features::last_step},
                           {"sums", &Features::sums},         {"batches", &Features::batches},
                           {"overlap", &Features::overlap},   {"graphs", &Features::graphs},
                           {"tuning", &Features::tuning},     {"lazy", &Features::lazy},
                           {"key_sums", &Features::key_sums}, {"twiddles", &Features::twiddles}};

struct Fill {
  void* p;
  std::size_t bytes;
  std::uint8_t value;
};
using Step = std::variant<Operation, Fill>;

void run_step(Backend& backend, const Step& step) {
  if (const auto* op = std::get_if<Operation>(&step)) return backend.run(*op);
  const Fill& fill = std::get<Fill>(step);
  backend.fill(fill.p, fill.bytes, fill.value);
}

// Scratch blocks of one record, or of one recording, which then keeps them.
class ScratchList {
 public:
  explicit ScratchList(std::shared_ptr<Backend> backend) : backend_(std::move(backend)) {}
  ScratchList(const ScratchList&) = delete;
  ScratchList& operator=(const ScratchList&) = delete;
  ~ScratchList() {
    for (const Block& block : blocks_) backend_->release(block.p, block.bytes);
  }

  void* take(std::size_t bytes) {
    for (Block& block : blocks_) {
      if (!block.used && block.bytes >= bytes) return block.used = true, block.p;
    }
    blocks_.push_back({backend_->allocate(bytes), bytes, true});
    return blocks_.back().p;
  }
  void free_all() {
    for (Block& block : blocks_) block.used = false;
  }

 private:
  struct Block {
    void* p;
    std::size_t bytes;
    bool used;
  };
  std::shared_ptr<Backend> backend_;
  std::vector<Block> blocks_;
};

// A recorded graph, or the steps that replace it, with the scratch that it uses.
class LoweredReplay : public Backend::Replay {
 public:
  LoweredReplay(std::shared_ptr<Backend> backend, std::unique_ptr<ScratchList> scratch,
                std::unique_ptr<Backend::Replay> graph, std::vector<Step> steps)
      : backend_(std::move(backend)),
        scratch_(std::move(scratch)),
        graph_(std::move(graph)),
        steps_(std::move(steps)) {}
  void launch() override {
    if (graph_ != nullptr) return graph_->launch();
    for (const Step& step : steps_) run_step(*backend_, step);
  }

 private:
  std::shared_ptr<Backend> backend_;
  std::unique_ptr<ScratchList> scratch_;
  std::unique_ptr<Backend::Replay> graph_;
  std::vector<Step> steps_;
};

class LoweredBackend : public Backend {
 public:
  LoweredBackend(std::unique_ptr<Backend> inner, std::shared_ptr<const Features> features)
      : inner_(std::move(inner)),
        features_(std::move(features)),
        lowering_(
            features_,
            [this](const Ring& ring, const Basis& basis, Domain domain) {
              void* p = scratch_->take(sizeof(std::uint32_t) * ring.n() * basis.size());
              return PolyView::contiguous(static_cast<std::uint32_t*>(p), ring, basis, domain);
            },
            [this](const Operation& op) { step(op); }) {
    renew_scratch();
  }

  DeviceInfo info() const override { return inner_->info(); }
  void* allocate(std::size_t bytes) override { return inner_->allocate(bytes); }
  void release(void* p, std::size_t bytes) noexcept override { inner_->release(p, bytes); }
  MemoryUse memory() const override { return inner_->memory(); }
  void reset_memory_peak() override { inner_->reset_memory_peak(); }
  void trim() noexcept override { inner_->trim(); }
  void clear_unused() override { inner_->clear_unused(); }
  void clear(void* p, std::size_t bytes) override { inner_->clear(p, bytes); }
  void fill(void* p, std::size_t bytes, std::uint8_t value) override {
    step(Fill{p, bytes, value});
  }
  void copy_in(void* device, const void* host, std::size_t bytes) override {
    refuse_transfer("copy_in");
    inner_->copy_in(device, host, bytes);
  }
  void copy_out(void* host, const void* device, std::size_t bytes) override {
    refuse_transfer("copy_out");
    inner_->copy_out(host, device, bytes);
  }
  void upload(const PolyView& to, const std::uint32_t* host) override {
    refuse_transfer("upload");
    inner_->upload(to, host);
  }
  void download(std::uint32_t* host, const PolyView& from) override {
    refuse_transfer("download");
    inner_->download(host, from);
  }

  void run(const Operation& op) override {
    lowering_.lower(op);
    scratch_->free_all();
    if (!recording_) renew_scratch();
  }
  void synchronize() override { inner_->synchronize(); }

  void begin_record() override {
    renew_scratch();
    graphs_ = features_->graphs;
    if (graphs_) inner_->begin_record();
    recording_ = true;
  }
  std::unique_ptr<Replay> end_record() override {
    recording_ = false;
    auto graph = graphs_ ? inner_->end_record() : nullptr;
    auto replay = std::make_unique<LoweredReplay>(inner_, std::move(scratch_), std::move(graph),
                                                  std::exchange(steps_, {}));
    renew_scratch();
    return replay;
  }
  void abandon_record() noexcept override {
    if (recording_ && graphs_) inner_->abandon_record();
    recording_ = false;
    steps_.clear();
    renew_scratch();
  }

 private:
  void renew_scratch() { scratch_ = std::make_unique<ScratchList>(inner_); }
  void step(Step s) {
    if (recording_ && !graphs_) {
      steps_.push_back(std::move(s));
    } else {
      run_step(*inner_, s);
    }
  }
  void refuse_transfer(const char* operation) const {
    if (!recording_) return;
    throw UnsupportedError(operation, "a host transfer while recording", "an immediate run",
                           "move the transfer out of the recorded function");
  }

  std::shared_ptr<Backend> inner_;
  std::shared_ptr<const Features> features_;
  Lowering lowering_;
  std::unique_ptr<ScratchList> scratch_;
  std::vector<Step> steps_;
  bool recording_ = false, graphs_ = true;
};

}  // namespace

Features Features::without(const std::string& list) {
  Features features;
  std::istringstream text(list);
  for (std::string name; std::getline(text, name, ',');) {
    const auto* flag = std::find_if(std::begin(kFlags), std::end(kFlags),
                                    [&](const Flag& f) { return name == f.name; });
    if (flag == std::end(kFlags)) {
      std::string known;
      for (const Flag& f : kFlags) known += (known.empty() ? "" : ", ") + std::string(f.name);
      throw UnsupportedError("features", "'" + name + "'", "one of " + known, "check the name");
    }
    features.*flag->member = false;
  }
  return features;
}

const std::vector<std::string>& Features::names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Flag& flag : kFlags) all.emplace_back(flag.name);
    return all;
  }();
  return names;
}

std::unique_ptr<Backend> make_lowered_backend(std::unique_ptr<Backend> inner,
                                              std::shared_ptr<const Features> features) {
  return std::make_unique<LoweredBackend>(std::move(inner), std::move(features));
}

}  // namespace latticino
