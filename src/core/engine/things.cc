// Namespaces, volumes, budgets: what scheduling rules speak of besides nodes and pods.
#include "core/engine/body.h"

namespace stowage::core {

void Engine::Body::on(const ThingChanged& e) {
  std::visit(
      [this](const auto& now) {
        using Now = std::decay_t<decltype(now)>;
        if constexpr (std::is_same_v<Now, Namespace>) {
          peers_.set(now);
        } else if constexpr (std::is_same_v<Now, Budget>) {
          budgets_.insert_or_assign(now.name, now);
          return;  // helps nobody who waits
        } else {
          volumes_.set(now);
        }
        ++epoch_;
      },
      e.now);
}

void Engine::Body::on(const ThingGone& e) {
  if (e.kind == ThingKind::budget) {
    budgets_.erase(e.name);
    return;
  }
  if (e.kind == ThingKind::name_space) {
    peers_.drop_namespace(e.name);
  } else {
    volumes_.drop(e.kind, e.name);
  }
  ++epoch_;
}

}  // namespace stowage::core
