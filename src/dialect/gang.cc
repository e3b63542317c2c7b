// Pods that are meant to run together, in the notations of several systems.
#include <algorithm>
#include <array>

#include "dialect/amounts.h"
#include "dialect/dialect.h"

namespace stowage::dialect {
namespace {

constexpr std::array<std::string_view, 2> kLabels{"scheduling.x-k8s.io/pod-group",
                                                  "pod-group.scheduling.sigs.k8s.io/name"};
constexpr std::array<std::string_view, 3> kAnnotations{"scheduling.k8s.io/group-name",
                                                       "scheduling.volcano.sh/group-name",
                                                       "gang.scheduling.koordinator.sh/name"};
constexpr std::string_view kOwner = "PodGroup";

// "training" or "team-a/training"; empty if there is no name.
std::string key_of(std::string_view text, const std::string& ns) {
  text = trimmed(text);
  const auto slash = text.find('/');
  std::string_view where = slash == std::string_view::npos ? "" : trimmed(text.substr(0, slash));
  std::string_view name = trimmed(slash == std::string_view::npos ? text : text.substr(slash + 1));
  if (name.empty()) std::swap(name, where);  // "training/"
  if (name.empty()) return {};
  std::string key = where.empty() ? ns : std::string(where);
  key += '/';
  key += name;
  constexpr std::size_t kLongest = 512;  // longer than any object name
  return key.size() > kLongest ? std::string() : key;
}

}  // namespace

std::string gang_of(const PodObject& object) {
  for (const std::string_view label : kLabels) {
    const std::string* text = find(object.constraints.labels, label);
    if (text == nullptr) continue;
    if (auto key = key_of(*text, object.ns); !key.empty()) return key;
  }
  for (const std::string_view annotation : kAnnotations) {
    const std::string* text = find(object.annotations, annotation);
    if (text == nullptr) continue;
    if (auto key = key_of(*text, object.ns); !key.empty()) return key;
  }
  // The name of the owner is not known here, so all such pods of a namespace count as one gang.
  const auto& owners = object.owner_kinds;
  if (std::find(owners.begin(), owners.end(), kOwner) == owners.end()) return {};
  return object.ns + '/' + std::string(kOwner);
}

}  // namespace stowage::dialect
