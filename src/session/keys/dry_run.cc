#include "session/keys/dry_run.h"

#include <utility>

#include "math/errors.h"

namespace latticino::session {
namespace {

using ContextPtr = std::shared_ptr<const ckks::Context>;

ContextPtr require_dry(const char* operation, ContextPtr context) {
  if (context->is_dry()) return context;
  throw ContextError(operation, "a context with a device", "a dry context", "encrypt instead");
}

}  // namespace

ckks::Ciphertext shape_only(const ContextPtr& context, int level, double scale, int slots) {
  ckks::Ciphertext out{require_dry("shape_only", context), {}, level, scale, slots, {}};
  for (int i = 0; i < 2; ++i) {
    out.parts.push_back(
        context->queue().allocate(context->ring(), context->params().basis(level), Domain::Eval));
  }
  return out;
}

ckks::Ciphertext shape_of(const ContextPtr& context, const ckks::Ciphertext& like) {
  ckks::Ciphertext out = like;
  out.context = require_dry("shape_of", context);
  out.key = {};
  out.seed.reset();
  for (Poly& part : out.parts) {
    part = context->queue().allocate(context->ring(), part.view.basis(), Domain::Eval);
  }
  return out;
}

DryRun::DryRun(ContextPtr context)
    : context_(require_dry("dry_run", std::move(context))),
      keys_(std::make_shared<const rlwe::KeyRecorder>(context_->constants())),
      before_(context_->queue().report()) {}

DryReport DryRun::report() const {
  DryReport out = context_->queue().report();
  out.bytes_moved -= before_.bytes_moved;
  out.operations -= before_.operations;
  for (const auto& [name, count] : before_.operations_by_name) {
    out.operations_by_name[name] -= count;
    out.bytes_by_name[name] -= before_.bytes_by_name.at(name);
  }
  for (const auto& [name, effort] : before_.effort_by_name) {
    Effort& left = out.effort_by_name[name];
    left.items -= effort.items;
    left.work -= effort.work;
    left.path -= effort.path;
    left.fourier_work -= effort.fourier_work;
    left.fourier_path -= effort.fourier_path;
  }
  return out;
}

}  // namespace latticino::session
