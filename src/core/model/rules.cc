#include "core/model/rules.h"

#include <algorithm>

#include "base/number.h"

namespace stowage::core {
namespace {

// Gt and Lt compare integers; a label or bound that is not an integer matches nothing.
bool compares(const Requirement& requirement, const std::string& value) {
  if (requirement.values.size() != 1) return false;
  const auto number = base::parse_number<std::int64_t>(value);
  const auto bound = base::parse_number<std::int64_t>(requirement.values.front());
  if (!number || !bound) return false;
  return requirement.op == Requirement::Op::gt ? *number > *bound : *number < *bound;
}

bool holds(const Requirement& requirement, const std::string* value) {
  const auto& wanted = requirement.values;
  const auto listed = [&] {
    return value != nullptr && std::find(wanted.begin(), wanted.end(), *value) != wanted.end();
  };
  switch (requirement.op) {
    case Requirement::Op::in: return listed();
    case Requirement::Op::not_in: return !listed();
    case Requirement::Op::exists: return value != nullptr;
    case Requirement::Op::does_not_exist: return value == nullptr;
    case Requirement::Op::gt:
    case Requirement::Op::lt: return value != nullptr && compares(requirement, *value);
  }
  return false;
}

void put(std::string& out, std::int64_t value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put(std::string& out, const std::string& text) {
  put(out, static_cast<std::int64_t>(text.size()));
  out += text;
}

void put(std::string& out, const std::vector<Requirement>& list) {
  put(out, static_cast<std::int64_t>(list.size()));
  for (const auto& r : list) {
    put(out, r.key);
    put(out, static_cast<std::int64_t>(r.op));
    put(out, static_cast<std::int64_t>(r.values.size()));
    for (const auto& value : r.values) put(out, value);
  }
}

const std::string* find(const Labels& labels, const std::string& key) {
  const auto found = labels.find(key);
  return found == labels.end() ? nullptr : &found->second;
}

}  // namespace

bool tolerates(const std::vector<Toleration>& tolerations, const Taint& taint) {
  return std::any_of(tolerations.begin(), tolerations.end(), [&](const Toleration& t) {
    if (t.effect && *t.effect != taint.effect) return false;
    if (!t.key.empty() && t.key != taint.key) return false;
    if (t.op == Toleration::Op::exists) return true;
    return !t.key.empty() && t.value == taint.value;
  });
}

const Taint* untolerated(const std::vector<Toleration>& tolerations,
                         const std::vector<Taint>& taints) {
  const auto keeps_off = [&](const Taint& taint) {
    return taint.effect != TaintEffect::prefer_no_schedule && !tolerates(tolerations, taint);
  };
  const auto found = std::find_if(taints.begin(), taints.end(), keeps_off);
  return found == taints.end() ? nullptr : &*found;
}

bool matches(const NodeTerm& term, const std::string& node, const Labels& labels) {
  if (term.labels.empty() && term.fields.empty()) return false;
  return std::all_of(term.labels.begin(), term.labels.end(),
                     [&](const Requirement& r) { return holds(r, find(labels, r.key)); }) &&
         std::all_of(term.fields.begin(), term.fields.end(), [&](const Requirement& r) {
           return holds(r, r.key == "metadata.name" ? &node : nullptr);
         });
}

bool selects(const NodeRules& rules, const std::string& node, const Labels& labels) {
  for (const auto& [key, value] : rules.selector) {
    const std::string* found = find(labels, key);
    if (found == nullptr || *found != value) return false;
  }
  if (!rules.required) return true;
  return std::any_of(rules.required->begin(), rules.required->end(),
                     [&](const NodeTerm& term) { return matches(term, node, labels); });
}

void append_key(const NodeRules& rules, std::string& out) {
  for (const auto& [key, value] : rules.selector) {
    out += 's';
    put(out, key);
    put(out, value);
  }
  if (rules.required) out += 'r';
  for (const auto& term : rules.required.value_or(std::vector<NodeTerm>{})) {
    put(out, term.labels);
    put(out, term.fields);
  }
  for (const auto& toleration : rules.tolerations) {
    out += 't';
    put(out, toleration.key);
    put(out, static_cast<std::int64_t>(toleration.op));
    put(out, toleration.value);
    put(out, toleration.effect ? static_cast<std::int64_t>(*toleration.effect) : -1);
  }
}

}  // namespace stowage::core
