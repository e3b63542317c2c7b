// Selectors of nodes and of labels, tolerations and taints.
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "codec/fields.h"

namespace stowage::codec {
namespace {

using core::NodeTerm;
using core::Requirement;
using core::TaintEffect;
using core::Toleration;

constexpr std::size_t kMaxShown = 64;  // characters of an unknown word in a message

std::optional<Requirement::Op> requirement_op(std::string_view word) {
  if (word == "In") return Requirement::Op::in;
  if (word == "NotIn") return Requirement::Op::not_in;
  if (word == "Exists") return Requirement::Op::exists;
  if (word == "DoesNotExist") return Requirement::Op::does_not_exist;
  if (word == "Gt") return Requirement::Op::gt;
  if (word == "Lt") return Requirement::Op::lt;
  return std::nullopt;
}

std::optional<TaintEffect> taint_effect(std::string_view word) {
  if (word == "NoSchedule") return TaintEffect::no_schedule;
  if (word == "PreferNoSchedule") return TaintEffect::prefer_no_schedule;
  if (word == "NoExecute") return TaintEffect::no_execute;
  return std::nullopt;
}

void not_understood(Unsupported& unsupported, std::string words) {
  if (unsupported.size() < kMaxUnsupported) unsupported.push_back(std::move(words));
}

// The subject of expressions: labels of nodes, fields of the node, or the labels of a label
// selector, which supports fewer operators.
enum class Subject : std::uint8_t { nodes, fields, labels };

Status read_requirements(JsonValue& value, Subject subject, std::vector<Requirement>& out,
                         Unsupported& unsupported) {
  out.clear();
  return each_element(value, [&](JsonValue& element) -> Status {
    if (out.size() > kMaxTexts) return {};
    Requirement& requirement = out.emplace_back();
    std::string op;
    STOWAGE_TRY_VOID(each_field(element, [&](std::string_view key, JsonValue& field) -> Status {
      if (key == "key") return read(field, requirement.key);
      if (key == "operator") return read(field, op);
      if (key == "values") return read_strings(field, requirement.values);
      return {};
    }));
    auto known = requirement_op(op);
    if (subject == Subject::labels && (op == "Gt" || op == "Lt")) known.reset();
    if (!known) {
      not_understood(unsupported,
                     fmt::format("{} operator \"{}\"",
                                 subject == Subject::labels ? "label selector" : "node affinity",
                                 op.substr(0, kMaxShown)));
    }
    requirement.op = known.value_or(Requirement::Op::in);
    if (subject == Subject::fields && requirement.key != "metadata.name") {
      not_understood(unsupported, fmt::format("node affinity to the field \"{}\"",
                                              requirement.key.substr(0, kMaxShown)));
    }
    return {};
  });
}

Status read_term(JsonValue& value, NodeTerm& out, Unsupported& unsupported) {
  return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "matchExpressions") {
      return read_requirements(field, Subject::nodes, out.labels, unsupported);
    }
    if (key == "matchFields") {
      return read_requirements(field, Subject::fields, out.fields, unsupported);
    }
    return {};
  });
}

Status read_preferred(JsonValue& value, core::NodeRules& rules) {
  rules.preferred.clear();
  return each_element(value, [&](JsonValue& element) -> Status {
    if (rules.preferred.size() > core::kMaxNodeTerms) return {};
    core::PreferredNodes preferred;
    // A preference that is not supported does not prevent placement.
    Unsupported unknown;
    STOWAGE_TRY_VOID(each_field(element, [&](std::string_view key, JsonValue& field) -> Status {
      if (key == "weight") return read(field, preferred.weight);
      if (key == "preference") return read_term(field, preferred.term, unknown);
      return {};
    }));
    if (unknown.empty()) rules.preferred.push_back(std::move(preferred));
    return {};
  });
}

Status read_toleration(JsonValue& value, core::NodeRules& rules, Unsupported& unsupported) {
  Toleration toleration;
  std::string op;
  std::string effect;
  STOWAGE_TRY_VOID(each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "key") return read(field, toleration.key);
    if (key == "operator") return read(field, op);
    if (key == "value") return read(field, toleration.value);
    if (key == "effect") return read(field, effect);
    return {};
  }));
  if (op == "Exists") {
    toleration.op = Toleration::Op::exists;
  } else if (!op.empty() && op != "Equal") {
    not_understood(unsupported, fmt::format("toleration operator \"{}\"", op.substr(0, kMaxShown)));
    return {};
  }
  if (!effect.empty()) {
    toleration.effect = taint_effect(effect);
    if (!toleration.effect) return {};  // an unknown effect tolerates no taint
  }
  rules.tolerations.push_back(std::move(toleration));
  return {};
}

}  // namespace

Status read_node_selector(JsonValue& value, std::vector<NodeTerm>& terms,
                          Unsupported& unsupported) {
  return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key != "nodeSelectorTerms") return {};
    terms.clear();
    return each_element(field, [&](JsonValue& element) -> Status {
      if (terms.size() > core::kMaxNodeTerms) return {};
      return read_term(element, terms.emplace_back(), unsupported);
    });
  });
}

Status read_node_affinity(JsonValue& value, core::NodeRules& rules, Unsupported& unsupported) {
  return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "requiredDuringSchedulingIgnoredDuringExecution") {
      return read_node_selector(field, rules.required.emplace(), unsupported);
    }
    if (key == "preferredDuringSchedulingIgnoredDuringExecution") {
      return read_preferred(field, rules);
    }
    return {};
  });
}

Status read_label_selector(JsonValue& value, core::LabelSelector& out, Unsupported& unsupported) {
  core::Labels equal;
  std::vector<Requirement> expressions;
  STOWAGE_TRY_VOID(each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "matchLabels") return read_texts(field, equal);
    if (key != "matchExpressions") return {};
    return read_requirements(field, Subject::labels, expressions, unsupported);
  }));
  out = {};
  for (auto& [key, label] : equal) {
    out.all.push_back({.key = key, .op = Requirement::Op::in, .values = {std::move(label)}});
  }
  std::move(expressions.begin(), expressions.end(), std::back_inserter(out.all));
  return {};
}

Status read_tolerations(JsonValue& value, core::NodeRules& rules, Unsupported& unsupported) {
  rules.tolerations.clear();
  return each_element(value, [&](JsonValue& element) -> Status {
    if (rules.tolerations.size() > core::kMaxTolerations) return {};
    return read_toleration(element, rules, unsupported);
  });
}

Status read_taints(JsonValue& value, std::vector<core::Taint>& taints) {
  taints.clear();
  return each_element(value, [&](JsonValue& element) -> Status {
    if (taints.size() > core::kMaxTaints) return {};
    core::Taint taint;
    STOWAGE_TRY_VOID(each_field(element, [&](std::string_view key, JsonValue& field) -> Status {
      if (key == "key") return read(field, taint.key);
      if (key == "value") return read(field, taint.value);
      if (key == "effect") {
        STOWAGE_TRY(word, field.text());
        // An unknown effect is treated as NoSchedule.
        taint.effect = taint_effect(word).value_or(TaintEffect::no_schedule);
      }
      return {};
    }));
    taints.push_back(std::move(taint));
    return {};
  });
}

}  // namespace stowage::codec
