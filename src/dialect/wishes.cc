#include "dialect/wishes.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "dialect/amounts.h"
#include "dialect/own_annotations.h"

namespace stowage::dialect {
namespace {

constexpr std::string_view kModels = "stowage.dev/gpu-model";
constexpr std::string_view kNotModels = "stowage.dev/exclude-gpu-model";
constexpr std::string_view kIds = "stowage.dev/gpu-ids";
constexpr std::string_view kNotIds = "stowage.dev/exclude-gpu-ids";
constexpr std::string_view kTopology = "stowage.dev/topology";
constexpr std::string_view kPolicy = "stowage.dev/policy";
constexpr std::string_view kNodePolicy = "stowage.dev/node-policy";
constexpr std::string_view kCardPolicy = "stowage.dev/card-policy";

constexpr std::size_t kShown = 64;  // characters of a value in a message

// A fast check: nearly all pods have no wishes.
bool has_wishes(const PodObject& pod) {
  const auto first = pod.annotations.lower_bound(std::string(kOwnDomain));
  return first != pod.annotations.end() && first->first.starts_with(kOwnDomain);
}

// The value without leading and trailing blanks; empty if missing.
std::string_view value_of(const PodObject& pod, std::string_view key) {
  const std::string* text = find(pod.annotations, key);
  return text == nullptr ? std::string_view() : trimmed(*text);
}

std::vector<std::string> model_list(std::string_view text) {
  std::vector<std::string> list;
  for (const std::string& model : comma_list(text)) {
    for (std::string& name : model_spellings(model)) list.push_back(std::move(name));
  }
  return list;
}

tl::unexpected<Error> chosen_twice(const PodObject& pod, std::string_view key,
                                   std::string_view what, std::string_view dialect) {
  return fail(fmt::format(
      "pod {}/{}: annotation {} chooses {}, and so do the annotations of dialect {}; keep one of "
      "them",
      pod.ns, pod.name, key, what, dialect));
}

Status add_filter(const PodObject& pod, Reading& reading) {
  core::CardFilter wanted{.models_any = model_list(value_of(pod, kModels)),
                          .models_none = model_list(value_of(pod, kNotModels)),
                          .ids_any = comma_list(value_of(pod, kIds)),
                          .ids_none = comma_list(value_of(pod, kNotIds))};
  for (core::GpuRequest& ask : reading.asks) {
    if (ask.count == 0) continue;
    core::CardFilter& filter = ask.filter;
    if (wanted.constrains_models()) {
      const auto key = wanted.models_any.empty() ? kNotModels : kModels;
      if (filter.constrains_models()) return chosen_twice(pod, key, "models", reading.dialect);
      filter.model_match = wanted.model_match;
      filter.models_any = wanted.models_any;
      filter.models_none = wanted.models_none;
    }
    if (wanted.constrains_ids()) {
      const auto key = wanted.ids_any.empty() ? kNotIds : kIds;
      if (filter.constrains_ids()) return chosen_twice(pod, key, "cards", reading.dialect);
      filter.ids_any = wanted.ids_any;
      filter.ids_none = wanted.ids_none;
    }
  }
  return {};
}

template <typename T>
Result<T> about(const PodObject& pod, std::string_view key, Result<T> parsed) {
  if (parsed) return parsed;
  return fail(
      fmt::format("pod {}/{}: annotation {}: {}", pod.ns, pod.name, key, parsed.error().message));
}

}  // namespace

tl::unexpected<Error> bad_annotation(const PodObject& pod, std::string_view key,
                                     std::string_view text, std::string_view words) {
  return fail(fmt::format("pod {}/{}: annotation {} is \"{}\"; {}", pod.ns, pod.name, key,
                          text.substr(0, kShown), words));
}

Result<core::Topology> parse_topology(const PodObject& pod, std::string_view key,
                                      std::string_view text) {
  using core::Topology;
  constexpr std::array<std::pair<std::string_view, Topology>, 5> kWords{
      {{"none", Topology::none},
       {"numa", Topology::numa},
       {"numa-strict", Topology::numa_strict},
       {"link", Topology::link},
       {"link-strict", Topology::link_strict}}};
  for (const auto& [word, topology] : kWords) {
    if (text == word) return topology;
  }
  return bad_annotation(pod, key, text, "write none, numa, numa-strict, link or link-strict");
}

Status read_card_wishes(const PodObject& pod, Reading& reading) {
  if (!has_wishes(pod)) return {};
  STOWAGE_TRY_VOID(add_filter(pod, reading));
  const std::string_view text = value_of(pod, kTopology);
  if (text.empty()) return {};
  STOWAGE_TRY(topology, parse_topology(pod, kTopology, text));
  for (core::GpuRequest& ask : reading.asks) {
    if (ask.count > 0) ask.topology = topology;
  }
  return {};
}

Status read_policy_wish(const PodObject& pod, core::PolicyWish& wish) {
  if (!has_wishes(pod)) return {};
  core::PolicyWish wished = wish;
  // Cut to keep an error short; policy names are shorter.
  if (const auto text = value_of(pod, kPolicy).substr(0, kShown); !text.empty()) {
    STOWAGE_TRY(choice, about(pod, kPolicy, core::parse_policy(text)));
    wished.node = choice.node;
    wished.card = choice.card;
  }
  if (const auto text = value_of(pod, kNodePolicy).substr(0, kShown); !text.empty()) {
    STOWAGE_TRY_ASSIGN(wished.node, about(pod, kNodePolicy, core::parse_node_policy(text)));
  }
  if (const auto text = value_of(pod, kCardPolicy).substr(0, kShown); !text.empty()) {
    STOWAGE_TRY_ASSIGN(wished.card, about(pod, kCardPolicy, core::parse_card_policy(text)));
  }
  wish = wished;
  return {};
}

}  // namespace stowage::dialect
