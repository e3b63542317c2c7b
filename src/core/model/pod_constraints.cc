#include "core/model/pod_constraints.h"

#include <algorithm>

namespace stowage::core {
namespace {

bool holds(const Requirement& requirement, const Labels& labels) {
  const auto found = labels.find(requirement.key);
  const bool there = found != labels.end();
  const auto listed = [&] {
    return std::find(requirement.values.begin(), requirement.values.end(), found->second) !=
           requirement.values.end();
  };
  switch (requirement.op) {
    case Requirement::Op::in: return there && listed();
    case Requirement::Op::not_in: return !there || !listed();
    case Requirement::Op::exists: return there;
    case Requirement::Op::does_not_exist: return !there;
    case Requirement::Op::gt:
    case Requirement::Op::lt: return false;  // only node selectors compare numbers
  }
  return false;
}

// Everything of variable length is preceded by its length, so that different values have different
// keys.
void put(std::string& out, std::int64_t value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put(std::string& out, const std::string& text) {
  put(out, static_cast<std::int64_t>(text.size()));
  out += text;
}

template <class T, class Put>
void put_each(std::string& out, const T& list, Put put_one) {
  put(out, static_cast<std::int64_t>(list.size()));
  for (const auto& entry : list) put_one(entry);
}

void put(std::string& out, const std::vector<std::string>& list) {
  put_each(out, list, [&](const std::string& entry) { put(out, entry); });
}

void put(std::string& out, const std::vector<PodTerm>& terms) {
  put_each(out, terms, [&](const PodTerm& term) {
    append_key(term, out);
    put(out, term.weight);
  });
}

void put(std::string& out, const SpreadRule& rule) {
  put(out, rule.topology_key);
  put(out, rule.max_skew);
  put(out, rule.min_domains);
  out += rule.hard ? 'h' : 's';
  out += rule.honour_affinity ? 'a' : '-';
  out += rule.honour_taints ? 't' : '-';
  append_key(rule.selector, out);
}

void put(std::string& out, const HostPort& port) {
  put(out, port.ip);
  put(out, port.protocol);
  put(out, port.port);
}

void put(std::string& out, const Disk& disk) {
  put(out, static_cast<std::int64_t>(disk.kind));
  put(out, disk.id);
  put(out, disk.monitors);
  out += disk.read_only ? 'r' : 'w';
}

void put(std::string& out, const ClaimUse& claim) {
  put(out, claim.name);
  out += claim.ephemeral ? 'e' : 'c';
}

}  // namespace

bool matches(const LabelSelector& selector, const Labels& labels) {
  return !selector.nothing &&
         std::all_of(selector.all.begin(), selector.all.end(),
                     [&](const Requirement& requirement) { return holds(requirement, labels); });
}

void append_key(const LabelSelector& selector, std::string& out) {
  out += selector.nothing ? 'n' : 'y';
  put_each(out, selector.all, [&](const Requirement& requirement) {
    put(out, requirement.key);
    put(out, static_cast<std::int64_t>(requirement.op));
    put(out, requirement.values);
  });
}

void append_key(const PodTerm& term, std::string& out) {
  append_key(term.selector, out);
  put(out, term.namespaces);
  out += term.namespace_selector ? 'n' : '-';
  if (term.namespace_selector) append_key(*term.namespace_selector, out);
  put(out, term.topology_key);
}

void append_key(const PodConstraints& constraints, std::string& out) {
  put_each(out, constraints.labels, [&](const auto& label) {
    put(out, label.first);
    put(out, label.second);
  });
  put(out, constraints.affinity);
  put(out, constraints.anti_affinity);
  put(out, constraints.preferred);
  put(out, constraints.preferred_anti);
  const auto put_one = [&](const auto& entry) { put(out, entry); };
  put_each(out, constraints.spread, put_one);
  put_each(out, constraints.ports, put_one);
  put_each(out, constraints.claims, put_one);
  put_each(out, constraints.disks, put_one);
}

}  // namespace stowage::core
