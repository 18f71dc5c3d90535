#include "fabric/networks.hpp"

namespace weft::fabric {
namespace {

struct Make {
  AnyNetwork operator()(const std::monostate&) const { return {}; }
  AnyNetwork operator()(const model::ClosShape& shape) const { return Clos(shape); }
  AnyNetwork operator()(const model::DragonflyShape& shape) const { return Dragonfly(shape); }
};

}  // namespace

AnyNetwork network_of(const model::Shape& shape) { return std::visit(Make{}, shape.layout); }

}  // namespace weft::fabric
