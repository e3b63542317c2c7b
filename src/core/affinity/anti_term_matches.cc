#include "core/affinity/anti_term_matches.h"

#include <string>

namespace stowage::core {

const AntiTermMatches::Matches& AntiTermMatches::matches_of(LabelSetIndex index) {
  if (by_set_.size() <= index.at()) by_set_.resize(sets_.rows());
  Matches& matches = by_set_[index.at()];
  const std::uint64_t version = namespaces_.version() + terms_.version();
  if (matches.version != version) {
    remembered_ -= matches.terms.size();
    matches = Matches{.version = version};
  }
  const LabelSet& set = sets_[index];
  for (; matches.checked < terms_.rows() && remembered_ < kMaxRemembered; ++matches.checked) {
    const AntiTermIndex term(matches.checked);
    if (!namespaces_.selects(terms_[term].term, set.ns, set.labels)) continue;
    matches.terms.push_back(term);
    ++remembered_;
  }
  return matches;
}

std::vector<AntiTermIndex> AntiTermMatches::find(const PodSpec& pod) {
  std::vector<AntiTermIndex> found;
  std::size_t checked = 0;
  if (const LabelSetIndex set = sets_.intern_within_limits(pod); set.valid()) {
    const Matches& matches = matches_of(set);
    for (const AntiTermIndex term : matches.terms) {
      if (!terms_[term].by_node.empty()) found.push_back(term);
    }
    checked = matches.checked;
  }
  if (checked == terms_.rows()) return found;
  const std::string ns(namespace_of(pod.name));
  for (std::size_t i = checked; i < terms_.rows(); ++i) {
    const AntiTerm& term = terms_[AntiTermIndex(i)];
    if (term.by_node.empty() || !namespaces_.selects(term.term, ns, pod.constraints.labels)) {
      continue;
    }
    found.emplace_back(i);
  }
  return found;
}

void AntiTermMatches::forget(const std::vector<LabelSetIndex>& freed) {
  for (const LabelSetIndex set : freed) {
    if (set.at() >= by_set_.size()) continue;
    remembered_ -= by_set_[set.at()].terms.size();
    by_set_[set.at()] = Matches{};
  }
}

}  // namespace stowage::core
