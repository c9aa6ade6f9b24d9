#include "record_cases.h"

namespace latticino::bench {

// A rotation whose key has one digit (rlwe::key_inner). The last pass multiplies the input's own
// limbs by the key.
void Shapes::add_one_digit(std::vector<Case>& out) {
  const auto rows = [this](int k) {
    return Operation(
        Transform{{{poly("a1", k, q_, Domain::Eval), poly("half", k, q_, Domain::Half)}}});
  };
  const auto up = [this](int k) {
    return Operation(Convert{{{one_up_.get(), poly("half", k, q_, Domain::Half),
                               poly("one_up", k, one_p_, Domain::Half)}}});
  };
  const auto inner = [this](int k) {
    KeyInner::Target target;
    target.key = {key(k)[0]};
    target.half = {poly("h0", k, one_p_, Domain::Half), poly("h1", k, one_p_, Domain::Half)};
    return Operation(KeyInner{{{{{{}, poly("one_up", k, one_p_, Domain::Half)}}, {target}}}, {}});
  };
  const auto down = [this](int k) {
    Convert op;
    for (const char* part : {"0", "1"}) {
      op.items.push_back({one_down_.get(), poly(std::string("h") + part, k, one_p_, Domain::Half),
                          poly(std::string("d") + part, k, q_, Domain::Half)});
    }
    return Operation(op);
  };
  const auto last = [this](int k) {
    auto op = std::get<ModDownFinish>(subtract(k, 5));
    for (int h = 0; h < 2; ++h) {
      op.items[h].x = poly("a1", k, q_, Domain::Eval);
      op.items[h].times = key(k)[0][h].select(q_);
    }
    return Operation(op);
  };
  const auto add = [&](const char* name, auto... steps) {
    out.push_back({name, [=](int k) { return std::vector<Operation>{steps(k)...}; }});
  };
  add("poly.mod_up_one_digit", up);
  add("poly.key_inner_one_digit", inner);
  add("poly.mod_switch_tile_one_digit", down);
  add("poly.subtract_scale_one_digit", last);
  add("ckks.rotate_one_digit", rows, up, inner, down, last);
}

}  // namespace latticino::bench
