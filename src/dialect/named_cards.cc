#include "dialect/named_cards.h"

#include <string>

#include "dialect/amounts.h"

namespace stowage::dialect {
namespace {

constexpr std::size_t kMaxKeyName = 63;  // of an annotation, after the slash

std::string container_key(const NamedCards& keys, const std::string& container) {
  return std::string(keys.container_prefix) + container;
}

}  // namespace

void write_named_cards(const NamedCards& keys, const AnswerRequest& ask, Answer& out) {
  out.annotations[std::string(keys.assumed)] = "true";
  out.labels[std::string(keys.assumed)] = "true";
  for (std::size_t i = 0; i < ask.pod.containers.size(); ++i) {
    const std::string key = container_key(keys, ask.pod.containers[i].name);
    // A key that is too long would make the API server reject the whole binding.
    if (ask.cards.containers[i].empty() || key.size() - key.find('/') - 1 > kMaxKeyName) continue;
    out.annotations[key] = index_list(ask.cards.containers[i], ask.node);
  }
}

Result<std::optional<core::Assignment>> read_named_cards(const NamedCards& keys,
                                                         const PodObject& object,
                                                         const core::PodSpec& pod,
                                                         const core::NodeSpec& node) {
  if (find(object.annotations, keys.assumed) == nullptr) return std::nullopt;
  core::Assignment cards;
  for (const auto& container : pod.containers) {
    auto& shares = cards.containers.emplace_back();
    if (container.gpu.count == 0) continue;
    const std::string key = container_key(keys, container.name);
    const std::string* list = find(object.annotations, key);
    if (list == nullptr) return fail(key + " is missing");
    STOWAGE_TRY_ASSIGN(shares, cards_by_index(*list, container, node));
  }
  return cards;
}

}  // namespace stowage::dialect
