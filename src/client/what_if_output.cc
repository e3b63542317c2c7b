#include "client/what_if_output.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/json_writer.h"

namespace stowage::client {
namespace {

constexpr std::size_t kColumns = 100;

void write(base::JsonWriter& json, std::string_view key, const dialect::Annotations& texts) {
  json.key(key).begin_object();
  for (const auto& [name, text] : texts) json.key(name).value(text);
  json.end_object();
}

void write(base::JsonWriter& json, const ContainerUse& container) {
  json.begin_object();
  json.key("name").value(container.name);
  json.key("cards").begin_array();
  for (const CardUse& card : container.cards) {
    json.begin_object();
    json.key("index").value(card.index);
    json.key("id").value(card.id);
    json.key("milli").value(card.milli);
    json.key("memory_mib").value(card.memory_mib);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

std::string quoted(std::string_view text) {
  return fmt::format("\"{}\"", base::json_escaped(text));
}

std::string yaml_texts(std::string_view key, const dialect::Annotations& texts) {
  if (texts.empty()) return fmt::format("  {}: {{}}\n", key);
  std::string out = fmt::format("  {}:\n", key);
  for (const auto& [name, text] : texts) {
    out += fmt::format("    {}: {}\n", quoted(name), quoted(text));
  }
  return out;
}

std::string yaml_container(const ContainerUse& container) {
  std::string out = fmt::format("  - name: {}\n", quoted(container.name));
  out += container.cards.empty() ? "    cards: []\n" : "    cards:\n";
  for (const CardUse& card : container.cards) {
    out += fmt::format("    - index: {}\n      id: {}\n      milli: {}\n      memory_mib: {}\n",
                       card.index, quoted(card.id), card.milli, card.memory_mib);
  }
  return out;
}

// "2: 500 milli, 8192 MiB"
std::string card_text(const CardUse& card) {
  std::string text = fmt::format("{}", card.index);
  if (card.milli == 1000) return text;
  text += " (";
  if (card.milli > 0) text += fmt::format("{} milli", card.milli);
  if (card.milli > 0 && card.memory_mib > 0) text += ", ";
  if (card.memory_mib > 0) text += fmt::format("{} MiB", card.memory_mib);
  return text + ")";
}

std::string cards_text(const Placement& placement) {
  std::string text;
  for (const ContainerUse& container : placement.containers) {
    if (container.cards.empty() && container.unnamed == 0) continue;
    text += fmt::format("{}{}: ", text.empty() ? "" : "; ", container.name);
    if (container.unnamed > 0) text += fmt::format("any {}", container.unnamed);
    for (std::size_t i = 0; i < container.cards.size(); ++i) {
      text += (i > 0 ? ", " : "") + card_text(container.cards[i]);
    }
  }
  return text.empty() ? "-" : text;
}

// Splits the text into lines of at most `width` characters, where possible.
std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    const std::size_t blank = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, blank);
    text.remove_prefix(std::min(blank + 1, text.size()));
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > width) {
      lines.emplace_back();
    }
    if (!lines.back().empty()) lines.back() += ' ';
    lines.back() += word;
  }
  return lines;
}

}  // namespace

std::string to_json(const WhatIf& result) {
  base::JsonWriter json;
  json.begin_array();
  for (const Placement& placement : result.placements) {
    json.begin_object();
    json.key("pod").value(placement.pod);
    json.key("node");
    if (placement.node.empty()) {
      json.null();
    } else {
      json.value(placement.node);
    }
    json.key("containers").begin_array();
    for (const ContainerUse& container : placement.containers) write(json, container);
    json.end_array();
    write(json, "annotations", placement.annotations);
    write(json, "labels", placement.labels);
    json.key("reason").value(placement.reason);
    json.key("condition").value(placement.condition);
    json.end_object();
  }
  json.end_array();
  return json.take();
}

std::string to_yaml(const WhatIf& result) {
  if (result.placements.empty()) return "[]\n";
  std::string out;
  for (const Placement& placement : result.placements) {
    out += fmt::format("- pod: {}\n", quoted(placement.pod));
    out += fmt::format("  node: {}\n", placement.node.empty() ? "null" : quoted(placement.node));
    out += placement.containers.empty() ? "  containers: []\n" : "  containers:\n";
    for (const ContainerUse& container : placement.containers) out += yaml_container(container);
    out += yaml_texts("annotations", placement.annotations);
    out += yaml_texts("labels", placement.labels);
    out += fmt::format("  reason: {}\n", quoted(placement.reason));
    out += fmt::format("  condition: {}\n", quoted(placement.condition));
  }
  return out;
}

std::string to_table(const WhatIf& result) {
  std::size_t pod_width = 3;
  std::size_t node_width = 4;
  std::set<std::string_view> nodes;
  for (const Placement& placement : result.placements) {
    pod_width = std::max(pod_width, placement.pod.size());
    node_width = std::max(node_width, placement.node.size());
    if (!placement.node.empty()) nodes.insert(placement.node);
  }
  std::string out =
      fmt::format("{:<{}}  {:<{}}  {}\n", "POD", pod_width, "NODE", node_width, "CARDS");
  for (const Placement& placement : result.placements) {
    const bool placed = placement.reason.empty();
    out +=
        fmt::format("{:<{}}  {:<{}}  {}\n", placement.pod, pod_width, placed ? placement.node : "-",
                    node_width, placed ? cards_text(placement) : "-");
    if (placed) continue;
    const std::string why = placement.condition.empty()
                                ? placement.reason
                                : fmt::format("{}: {}", placement.condition, placement.reason);
    for (const std::string& line : wrapped(why, kColumns - 4)) {
      out += fmt::format("    {}\n", line);
    }
  }
  const std::size_t placed = result.placed();
  out += fmt::format("\n{} of {} pods placed", placed, result.placements.size());
  if (placed > 0) out += fmt::format(", on {} of {} nodes", nodes.size(), result.nodes);
  return out + fmt::format("; {} pod{} there before.\n", result.bound_pods,
                           result.bound_pods == 1 ? " was" : "s were");
}

}  // namespace stowage::client
