// The table of policy names.
#include "core/model/policy.h"

#include <algorithm>
#include <array>
#include <string>

namespace stowage::core {
namespace {

struct NodeName {
  std::string_view name;
  NodePolicy policy;
  CardPolicy with;  // its default card policy
};

constexpr std::array kNodePolicies{
    NodeName{"dual-price", NodePolicy::dual_price, CardPolicy::dual_price},
    NodeName{"fgd", NodePolicy::fgd, CardPolicy::fgd},
    NodeName{"best-fit", NodePolicy::best_fit, CardPolicy::best_fit},
    NodeName{"dot-product", NodePolicy::dot_product, CardPolicy::best_fit},
    NodeName{"gpu-packing", NodePolicy::gpu_packing, CardPolicy::best_fit},
    NodeName{"gpu-clustering", NodePolicy::gpu_clustering, CardPolicy::best_fit},
    NodeName{"random", NodePolicy::random, CardPolicy::random},
    NodeName{"binpack", NodePolicy::binpack, CardPolicy::binpack},
    NodeName{"spread", NodePolicy::spread, CardPolicy::spread},
    NodeName{"tightest", NodePolicy::tightest, CardPolicy::tightest},
    NodeName{"most-used", NodePolicy::most_used, CardPolicy::first},
    NodeName{"most-free", NodePolicy::most_free, CardPolicy::first},
    NodeName{"elastic-binpack", NodePolicy::elastic_binpack, CardPolicy::elastic_binpack},
    NodeName{"load", NodePolicy::load, CardPolicy::load},
    NodeName{"first", NodePolicy::first, CardPolicy::first},
};

// Aliases that are parsed but not listed: vgpu-manager's name for no policy, and gpu-manager's
// choice of cards.
constexpr std::array kOtherNodeNames{
    NodeName{"none", NodePolicy::first, CardPolicy::first},
    NodeName{"topology", NodePolicy::binpack, CardPolicy::fragment},
};

struct CardName {
  std::string_view name;
  CardPolicy policy;
};

constexpr std::array kCardPolicies{
    CardName{"dual-price", CardPolicy::dual_price},
    CardName{"fgd", CardPolicy::fgd},
    CardName{"best-fit", CardPolicy::best_fit},
    CardName{"binpack", CardPolicy::binpack},
    CardName{"spread", CardPolicy::spread},
    CardName{"random", CardPolicy::random},
    CardName{"tightest", CardPolicy::tightest},
    CardName{"elastic-binpack", CardPolicy::elastic_binpack},
    CardName{"load", CardPolicy::load},
    CardName{"first", CardPolicy::first},
    CardName{"topology", CardPolicy::fragment},
};

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

template <typename Table>
std::string unknown(std::string_view kind, std::string_view text, const Table& table) {
  const auto nearest =
      std::min_element(table.begin(), table.end(), [&](const auto& a, const auto& b) {
        return edit_distance(text, a.name) < edit_distance(text, b.name);
      });
  std::string message = "unknown ";
  message += kind;
  message +=
      " \"" + std::string(text) + "\"; the nearest is \"" + std::string(nearest->name) + "\"";
  return message;
}

template <typename Table>
auto find(const Table& table, std::string_view name) {
  return std::find_if(table.begin(), table.end(),
                      [&](const auto& row) { return row.name == name; });
}

const NodeName* find_node(std::string_view name) {
  const auto known = find(kNodePolicies, name);
  if (known != kNodePolicies.end()) return &*known;
  const auto other = find(kOtherNodeNames, name);
  return other == kOtherNodeNames.end() ? nullptr : &*other;
}

template <typename Table>
std::vector<std::string> names_of(const Table& table) {
  std::vector<std::string> names;
  names.reserve(table.size());
  for (const auto& row : table) names.emplace_back(row.name);
  return names;
}

}  // namespace

Result<PolicyChoice> parse_policy(std::string_view text) {
  const auto slash = text.find('/');
  const auto node_text = text.substr(0, slash);
  const NodeName* node = find_node(node_text);
  if (node == nullptr) return fail(unknown("policy", node_text, kNodePolicies));
  PolicyChoice choice{.node = node->policy, .card = node->with};
  if (slash == std::string_view::npos) return choice;
  STOWAGE_TRY_ASSIGN(choice.card, parse_card_policy(text.substr(slash + 1)));
  return choice;
}

Result<NodePolicy> parse_node_policy(std::string_view text) {
  const NodeName* node = find_node(text);
  if (node == nullptr) return fail(unknown("node policy", text, kNodePolicies));
  return node->policy;
}

Result<CardPolicy> parse_card_policy(std::string_view text) {
  if (text == "none") return CardPolicy::first;
  const auto card = find(kCardPolicies, text);
  if (card == kCardPolicies.end()) return fail(unknown("card policy", text, kCardPolicies));
  return card->policy;
}

std::string to_text(PolicyChoice choice) {
  const auto node = std::find_if(kNodePolicies.begin(), kNodePolicies.end(),
                                 [&](const auto& row) { return row.policy == choice.node; });
  std::string text(node->name);
  if (node->with == choice.card) return text;
  const auto card = std::find_if(kCardPolicies.begin(), kCardPolicies.end(),
                                 [&](const auto& row) { return row.policy == choice.card; });
  return text + "/" + std::string(card->name);
}

std::vector<std::string> policy_names() { return names_of(kNodePolicies); }
std::vector<std::string> card_policy_names() { return names_of(kCardPolicies); }

}  // namespace stowage::core
