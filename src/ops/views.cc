#include "ops/views.h"

namespace latticino {
namespace {

struct Views : FieldVisitor {
  using FieldVisitor::read, FieldVisitor::write;
  const std::function<void(const PolyView&, bool)>& visit;
  explicit Views(const std::function<void(const PolyView&, bool)>& v) : visit(v) {}

  void read(const PolyView& v, const Field&) {
    if (v.segments > 0) visit(v, false);
  }
  void write(const PolyView& v, const Field&) {
    if (v.segments > 0) visit(v, true);
  }
  void read(const PolyArray& a, const Field& field) { read(a.first, field); }
  void write(const PolyArray& a, const Field& field) { write(a.first, field); }
};

struct Addresses : FieldVisitor {
  using FieldVisitor::read, FieldVisitor::write;
  const std::function<void(const void*)>& visit;
  explicit Addresses(const std::function<void(const void*)>& v) : visit(v) {}

  void read(const LweView& v, const Field&) { visit(v.data); }
  void write(const LweView& v, const Field&) { visit(v.data); }
  void read(const Memory& m, const Field&) { visit(m.address); }
  void write(const Memory& m, const Field&) { visit(m.address); }
};

}  // namespace

PolyView limbs_on(const PolyView& view, const Basis& part) {
  if (view.segments == 0) return {};
  const Basis common = view.basis().intersect(part);
  return common.size() == 0 ? PolyView{} : view.select(common);
}

void for_each_address(const Operation& op, const std::function<void(const void*)>& visit) {
  Addresses addresses(visit);
  std::visit([&](const auto& record) { record.fields(addresses); }, op);
}

void for_each_view(const Operation& op,
                   const std::function<void(const PolyView& view, bool written)>& visit) {
  Views views(visit);
  std::visit([&](const auto& record) { record.fields(views); }, op);
}

}  // namespace latticino
