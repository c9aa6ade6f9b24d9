#include "ops/views.h"

namespace latticino {
namespace {

struct Walker {
  const std::function<void(const PolyView&, bool)>& visit;

  void read(const PolyView& v) const {
    if (v.segments > 0) visit(v, false);
  }
  void write(const PolyView& v) const {
    if (v.segments > 0) visit(v, true);
  }

  template <class InOut>
  void in_out(const InOut& op) const {
    for (const auto& item : op.items) {
      read(item.in);
      write(item.out);
    }
  }
  void operator()(const Transform& op) const {
    for (const Transform::Item& item : op.items) {
      read(item.in);
      read(item.times);
      write(item.out);
    }
  }
  void operator()(const Convert& op) const { in_out(op); }
  void operator()(const ModRaise& op) const { in_out(op); }

  void operator()(const KeyInner& op) const {
    for (const KeyInner::Group& group : op.groups) {
      for (const KeyInner::Digit& digit : group.digits) {
        read(digit.own);
        read(digit.converted);
      }
      for (const PolyView& v : group.product.a) read(v);
      for (const PolyView& v : group.product.b) read(v);
      for (const KeyInner::Target& target : group.targets) {
        for (const auto& pair : target.key) {
          read(pair[0]);
          read(pair[1]);
        }
        for (int h = 0; h < 2; ++h) {
          read(target.add[h]);
          write(target.eval[h]);
          write(target.half[h]);
        }
      }
    }
  }
  void operator()(const ModDownFinish& op) const {
    for (const ModDownFinish::Item& item : op.items) {
      read(item.x);
      read(item.y);
      read(item.add);
      read(item.times);
      write(item.out);
    }
  }
  void operator()(const Linear& op) const {
    for (const Linear::Item& item : op.items) {
      for (const Linear::Term& term : item.terms) read(term.x);
      write(item.out);
    }
  }
  void operator()(const Tensor& op) const {
    for (const Tensor::Item& item : op.items) {
      for (const Tensor::Pair& pair : item.pairs) {
        for (const PolyView& v : pair.a) read(v);
        for (const PolyView& v : pair.b) read(v);
      }
      for (const Tensor::Term& term : item.terms) {
        for (const PolyView& v : term.x) read(v);
      }
      for (const PolyView& v : item.out) write(v);
    }
  }
  void operator()(const Dot& op) const {
    for (const auto& input : op.inputs) {
      for (int part = 0; part < op.parts; ++part) read(input[part]);
    }
    for (const Dot::Output& output : op.outputs) {
      for (const Dot::Term& term : output.terms) read(term.factor);
      for (int part = 0; part < op.parts; ++part) write(output.out[part]);
    }
  }
  void operator()(const Automorphism& op) const {
    for (const Automorphism::Item& item : op.items) {
      for (const Automorphism::Term& term : item.terms) read(term.x);
      write(item.out);
    }
  }
  void operator()(const Project& op) const {
    for (const Project::Item& item : op.items) read(item.in);
  }
  template <class OutOnly>
  void operator()(const OutOnly& op) const {  // FromIntegers, Embed, and what expands seeds
    for (const auto& item : op.items) write(item.out);
  }
  void operator()(const SampleExtract& op) const {
    for (const SampleExtract::Item& item : op.items) read(item.in.first);
  }
  void operator()(const FourierKey& op) const {
    for (const FourierKey::Item& item : op.items) read(item.in.first);
  }
  void operator()(const BlindRotate& op) const {
    read(op.key.first);
    for (const BlindRotate::Item& item : op.items) {
      read(item.table);
      write(item.out.first);
    }
  }
  void operator()(const LweLinear&) const {}
  void operator()(const LweKeySwitch&) const {}
  void operator()(const ModSwitch&) const {}
  void operator()(const LweSlots&) const {}
  void operator()(const Copy& op) const {
    for (const Copy::Item& item : op.items) {
      read(item.x);
      write(item.out);
    }
  }
};

struct AddressWalker {
  const std::function<void(const void*)>& visit;

  template <class Record>
  void operator()(const Record&) const {}
  void operator()(const FromIntegers& op) const {
    for (const FromIntegers::Item& item : op.items) visit(item.in);
  }
  void operator()(const SampleGaussian& op) const {
    for (const SampleGaussian::Item& item : op.items) visit(item.seed);
  }
  void operator()(const Embed& op) const {
    for (const Embed::Item& item : op.items) visit(item.in);
  }
  void operator()(const Project& op) const {
    for (const Project::Item& item : op.items) visit(item.out);
  }
  void operator()(const LweLinear& op) const {
    for (const LweLinear::Item& item : op.items) {
      for (const LweLinear::Term& term : item.terms) visit(term.x.data);
      visit(item.out.data);
    }
  }
  void operator()(const LweKeySwitch& op) const {
    visit(op.key.data);
    in_out(op);
  }
  void operator()(const ModSwitch& op) const { in_out(op); }
  void operator()(const LweSlots& op) const {
    for (const LweSlots::Item& item : op.items) {
      visit(item.in.data);
      visit(item.out);
    }
  }
  void operator()(const SampleExtract& op) const {
    for (const SampleExtract::Item& item : op.items) visit(item.out.data);
  }
  void operator()(const FourierKey& op) const {
    for (const FourierKey::Item& item : op.items) visit(item.out);
  }
  void operator()(const BlindRotate& op) const {
    if (op.arithmetic == BlindRotateArithmetic::Fft64) visit(op.fourier);
    for (const BlindRotate::Item& item : op.items) visit(item.exponents.data);
  }

 private:
  template <class InOut>
  void in_out(const InOut& op) const {
    for (const auto& item : op.items) {
      visit(item.in.data);
      visit(item.out.data);
    }
  }
};

}  // namespace

void for_each_address(const Operation& op, const std::function<void(const void*)>& visit) {
  std::visit(AddressWalker{visit}, op);
}

void for_each_view(const Operation& op,
                   const std::function<void(const PolyView& view, bool written)>& visit) {
  std::visit(Walker{visit}, op);
}

}  // namespace latticino
