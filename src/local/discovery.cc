#include "local/discovery.h"

#include <algorithm>

#include <fmt/core.h>

#include "local/json.h"

namespace stowage::local {
namespace {

constexpr std::string_view kGroups[] = {"apps",
                                        "events.k8s.io",
                                        "authorization.k8s.io",
                                        "batch",
                                        "policy",
                                        "rbac.authorization.k8s.io",
                                        "storage.k8s.io",
                                        "scheduling.k8s.io",
                                        "coordination.k8s.io"};

json::array texts(std::span<const std::string_view> list) {
  json::array out;
  for (const std::string_view one : list) out.emplace_back(one);
  return out;
}

json::object describe(const Resource& resource) {
  json::object out{
      {"name", resource.plural},
      {"singularName", resource.singular},
      {"namespaced", resource.namespaced},
      {"kind", resource.kind},
      {"verbs",
       {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}}};
  if (!resource.short_names.empty()) out["shortNames"] = texts(resource.short_names);
  if (!resource.categories.empty()) out["categories"] = texts(resource.categories);
  return out;
}

json::object describe_part(const Resource& resource, std::string_view part) {
  json::object out{{"name", fmt::format("{}/{}", resource.plural, part)},
                   {"singularName", ""},
                   {"namespaced", resource.namespaced}};
  if (part == "binding") {
    out["kind"] = "Binding";
    out["verbs"] = json::array{"create"};
  } else if (part == "eviction") {
    out["group"] = "policy";
    out["version"] = "v1";
    out["kind"] = "Eviction";
    out["verbs"] = json::array{"create"};
  } else {
    if (part == "scale") {
      out["group"] = "autoscaling";
      out["version"] = "v1";
    }
    out["kind"] = part == "scale" ? std::string_view("Scale") : resource.kind;
    out["verbs"] = json::array{"get", "patch", "update"};
  }
  return out;
}

json::object only_create(std::string_view name, std::string_view singular, bool namespaced,
                         std::string_view kind) {
  return {{"name", name},
          {"singularName", singular},
          {"namespaced", namespaced},
          {"kind", kind},
          {"verbs", json::array{"create"}}};
}

std::string resource_list(std::string_view group, std::string_view group_version) {
  json::array resources;
  if (group.empty()) resources.push_back(only_create("bindings", "binding", true, "Binding"));
  if (group == "authorization.k8s.io") {
    resources.push_back(only_create("selfsubjectaccessreviews", "selfsubjectaccessreview", false,
                                    "SelfSubjectAccessReview"));
    resources.push_back(
        only_create("subjectaccessreviews", "subjectaccessreview", false, "SubjectAccessReview"));
  }
  for (const Resource& resource : all_resources()) {
    const bool second_form = group == kEventsGroup && resource.kind_id == Kind::event;
    if (resource.group != group && !second_form) continue;
    resources.push_back(describe(resource));
    for (const std::string_view part : resource.subresources) {
      resources.push_back(describe_part(resource, part));
    }
  }
  return json::serialize(json::object{{"kind", "APIResourceList"},
                                      {"apiVersion", "v1"},
                                      {"groupVersion", group_version},
                                      {"resources", std::move(resources)}});
}

json::object group_entry(std::string_view group) {
  const json::object version{{"groupVersion", fmt::format("{}/v1", group)}, {"version", "v1"}};
  return {{"name", group}, {"versions", json::array{version}}, {"preferredVersion", version}};
}

}  // namespace

std::span<const std::string_view> all_groups() { return kGroups; }

std::string version_document(const ServerVersion& version) {
  return json::serialize(json::object{{"major", version.major},
                                      {"minor", version.minor},
                                      {"gitVersion", version.git_version},
                                      {"gitCommit", ""},
                                      {"gitTreeState", "clean"},
                                      {"buildDate", "1970-01-01T00:00:00Z"},
                                      {"goVersion", ""},
                                      {"compiler", ""},
                                      {"platform", "linux/amd64"}});
}

std::optional<std::string> discovery_document(std::string_view path) {
  if (path == "/api") {
    return json::serialize(json::object{{"kind", "APIVersions"}, {"versions", json::array{"v1"}}});
  }
  if (path == "/api/v1") return resource_list("", "v1");
  if (path == "/apis") {
    json::array groups;
    for (const std::string_view group : kGroups) groups.push_back(group_entry(group));
    return json::serialize(json::object{
        {"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", std::move(groups)}});
  }
  constexpr std::string_view kPrefix = "/apis/";
  if (!path.starts_with(kPrefix)) return std::nullopt;
  std::string_view rest = path.substr(kPrefix.size());
  const std::size_t slash = rest.find('/');
  const std::string_view group = rest.substr(0, slash);
  if (std::find(std::begin(kGroups), std::end(kGroups), group) == std::end(kGroups)) {
    return std::nullopt;
  }
  if (slash == std::string_view::npos) {
    json::object entry = group_entry(group);
    entry["kind"] = "APIGroup";
    entry["apiVersion"] = "v1";
    return json::serialize(entry);
  }
  if (rest.substr(slash + 1) != "v1") return std::nullopt;
  return resource_list(group, rest);
}

}  // namespace stowage::local
