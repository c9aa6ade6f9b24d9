#include "rlwe/evaluation_keys.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "math/errors.h"

namespace latticino::rlwe {

std::size_t KeyShape::bytes(int n) const {
  return 2 * digits.size() * static_cast<std::size_t>(basis.size()) * n * sizeof(std::uint32_t);
}

KeyShape key_shape(const Constants& constants, const KeyLabel& label, int level) {
  const Params& params = constants.params();
  if (level < 0 || level > params.top_level()) {
    throw KeyError("rlwe.key", label.str() + " of level " + std::to_string(level),
                   "a level from 0 to " + std::to_string(params.top_level()),
                   "ask for a level of these parameters");
  }
  if (label.band != params.band(level)) {
    throw KeyError("rlwe.key", label.str() + " of level " + std::to_string(level),
                   label.at(params, level).str() + " there", "ask for the key of the level's band");
  }
  const bool encapsulation = label.kind != KeyKind::Relinearize && label.kind != KeyKind::Galois;
  if (encapsulation && !params.bootstrap()) {
    throw KeyError("rlwe.key", label.str() + " of parameters without bootstrapping",
                   "parameters with bootstrapping", "choose a preset that bootstraps");
  }
  if (label.kind == KeyKind::OverRaise && level != params.top_level()) {
    throw KeyError("rlwe.key", label.str() + " of level " + std::to_string(level),
                   "level " + std::to_string(params.top_level()), "ask for the top level");
  }
  if ((label.kind == KeyKind::Galois || label.kind == KeyKind::OverRaise) &&
      (label.galois % 2 == 0 || label.galois >= 2u << params.log_n())) {
    throw KeyError("rlwe.key", label.str(), "an odd Galois element below 2N",
                   "use rotation_element or conjugation_element");
  }
  if (label.kind == KeyKind::DenseToSparse) return {params.encapsulation_basis(), {0}};
  if (encapsulation) return {constants.key_basis(level), {0}};
  return {constants.key_basis(level), constants.key_digits(level)};
}

EvaluationKeys::EvaluationKeys(KeyId id, std::string params_hash)
    : id_(id), params_hash_(std::move(params_hash)) {}

void EvaluationKeys::insert(SwitchKey key) {
  const auto it = keys_.find(key.label);
  if (it == keys_.end()) {
    keys_.emplace(key.label, std::move(key));
  } else if (it->second.level < key.level) {
    it->second = std::move(key);
  }
}

const SwitchKey& EvaluationKeys::get(const KeyLabel& label, int level) const {
  const auto it = keys_.find(label);
  if (it == keys_.end()) {
    throw KeyError("rlwe.key", "no key " + label.str() + " in the bundle of " + id_.str(),
                   "that key at level " + std::to_string(level),
                   "let the client generate it (a dry run lists the keys a program needs)");
  }
  if (it->second.level < level) {
    throw KeyError("rlwe.key", label.str() + " cut to level " + std::to_string(it->second.level),
                   "level " + std::to_string(level),
                   "let the client generate it for the higher level");
  }
  return it->second;
}

bool EvaluationKeys::has(const KeyLabel& label, int level) const {
  const auto it = keys_.find(label);
  return it != keys_.end() && it->second.level >= level;
}

std::vector<KeyLabel> EvaluationKeys::labels() const {
  std::vector<KeyLabel> out;
  out.reserve(keys_.size());
  for (const auto& [label, key] : keys_) out.push_back(label);
  return out;
}

std::size_t EvaluationKeys::bytes() const {
  std::size_t sum = 0;
  for (const auto& [label, key] : keys_) sum += key.bytes();
  return sum;
}

std::size_t EvaluationKeys::sum_bytes() const {
  std::size_t sum = 0;
  for (const auto& [label, key] : keys_) sum += key.merged->bytes();
  return sum;
}

struct KeyRecorder::State {
  explicit State(const Constants& c) : constants(c) {}
  const Constants& constants;
  std::mutex mutex;
  KeyRequest request;
  // One for each level. They are never moved, because callers hold references while later requests
  // arrive.
  std::map<std::pair<KeyLabel, int>, SwitchKey> shapes;
  std::map<KeyLabel, std::shared_ptr<MergedDigits>> merged;  // shared by all levels of a label
};

KeyRecorder::KeyRecorder(const Constants& constants) : state_(std::make_shared<State>(constants)) {}

const SwitchKey& KeyRecorder::get(const KeyLabel& label, int level) const {
  const std::scoped_lock lock(state_->mutex);
  // The key as it is in a bundle: cut to the highest level, with the digit sums of all levels
  // below.
  const auto known = state_->request.find(label);
  const int highest = known == state_->request.end() ? level : std::max(known->second, level);
  const KeyShape shape = key_shape(state_->constants, label, highest);
  const auto [it, added] = state_->shapes.try_emplace({label, highest});
  if (added) {
    const Poly part{nullptr, PolyView::contiguous(nullptr, state_->constants.ring(), shape.basis,
                                                  Domain::Eval)};
    SwitchKey& key = it->second;
    key.label = label;
    key.level = highest;
    key.digit_index = shape.digits;
    key.digits.assign(shape.digits.size(), {part, part});
    key.merged = state_->merged.try_emplace(label, key.merged).first->second;
    state_->request[label] = highest;
  }
  return it->second;
}

KeyRequest KeyRecorder::request() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->request;
}

std::size_t KeyRecorder::bytes() const {
  std::size_t sum = 0;
  for (const auto& [label, level] : request()) {
    sum += key_shape(state_->constants, label, level).bytes(state_->constants.params().n());
  }
  return sum;
}

}  // namespace latticino::rlwe
