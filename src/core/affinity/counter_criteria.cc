#include "core/affinity/counter_criteria.h"

#include <algorithm>
#include <utility>

namespace stowage::core {

EligibleNodes::EligibleNodes(std::uint64_t number, Rules rules)
    : number_(number), rules_(std::move(rules)) {}

void EligibleNodes::refresh(const NodeTable& nodes, std::uint64_t version) {
  if (version_ == version) return;
  version_ = version;
  eligible_.assign(nodes.rows(), 0);
  for (std::size_t n = 0; n < eligible_.size(); ++n) {
    if (!nodes.present(NodeIndex(n))) continue;
    const NodeSpec& spec = nodes.spec(NodeIndex(n));
    const bool eligible =
        std::all_of(rules_.labels.begin(), rules_.labels.end(),
                    [&](const std::string& label) { return spec.labels.contains(label); }) &&
        (!rules_.selected_by || selects(*rules_.selected_by, spec.name, spec.labels)) &&
        (!rules_.tolerated_by || untolerated(*rules_.tolerated_by, spec.taints) == nullptr);
    eligible_[n] = eligible ? 1 : 0;
  }
}

std::shared_ptr<const TermList> SharedCriteria::terms(const std::vector<PodTerm>& all) {
  std::string key;
  for (const PodTerm& term : all) append_key(term, key);
  auto& shared = terms_[key];
  if (!shared) shared = std::make_shared<TermList>(TermList{.number = ++last_number_, .all = all});
  return shared;
}

std::shared_ptr<EligibleNodes> SharedCriteria::nodes(const PodSpec& pod, const SpreadRule& rule) {
  EligibleNodes::Rules rules;
  for (const SpreadRule& other : pod.constraints.spread) {
    if (other.hard == rule.hard) rules.labels.push_back(other.topology_key);
  }
  std::sort(rules.labels.begin(), rules.labels.end());
  std::string key;
  for (const auto& label : rules.labels) key += '#' + std::to_string(label.size()) + ':' + label;
  if (rule.honour_affinity && (!pod.rules.selector.empty() || pod.rules.required.has_value())) {
    rules.selected_by.emplace();
    rules.selected_by->selector = pod.rules.selector;
    rules.selected_by->required = pod.rules.required;
    key += 'n';
    append_key(*rules.selected_by, key);
  }
  if (rule.honour_taints) {
    NodeRules tolerations;
    tolerations.tolerations = pod.rules.tolerations;
    key += 't';
    append_key(tolerations, key);
  }
  auto& shared = nodes_[key];
  if (shared) return shared;
  if (rule.honour_taints) rules.tolerated_by = pod.rules.tolerations;
  shared = std::make_shared<EligibleNodes>(++last_number_, std::move(rules));
  return shared;
}

void SharedCriteria::free_unused() {
  std::erase_if(terms_, [](const auto& entry) { return entry.second.use_count() == 1; });
  std::erase_if(nodes_, [](const auto& entry) { return entry.second.use_count() == 1; });
}

}  // namespace stowage::core
