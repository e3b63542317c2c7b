// For any request, the answer is an object or a Status, and what is stored can be read back.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "local/rest.h"
#include "local/test_cluster.h"

namespace stowage::local {
namespace {

const std::vector<std::string> kWords{"metadata",
                                      "spec",
                                      "status",
                                      "containers",
                                      "name",
                                      "labels",
                                      "annotations",
                                      "finalizers",
                                      "ownerReferences",
                                      "uid",
                                      "conditions",
                                      "type",
                                      "env",
                                      "ports",
                                      "containerPort",
                                      "resources",
                                      "limits",
                                      "requests",
                                      "cpu",
                                      "nvidia.com/gpu",
                                      "volumes",
                                      "tolerations",
                                      "key",
                                      "nodeName",
                                      "replicas",
                                      "template",
                                      "selector",
                                      "matchLabels",
                                      "$patch",
                                      "delete",
                                      "replace",
                                      "merge",
                                      "$retainKeys",
                                      "namespace",
                                      "resourceVersion",
                                      "c",
                                      "1",
                                      "op",
                                      "path",
                                      "value",
                                      "add",
                                      "remove",
                                      "copy",
                                      "from",
                                      "/spec/containers/0",
                                      "/metadata",
                                      "",
                                      "kind",
                                      "apiVersion",
                                      "Pod",
                                      "v1",
                                      "/",
                                      "deletionGracePeriodSeconds",
                                      "deletionTimestamp",
                                      "$setElementOrder/containers",
                                      "$deleteFromPrimitiveList/finalizers"};

json::value random_json(int depth) {
  const int what = *rc::gen::inRange(0, depth > 0 ? 8 : 5);
  switch (what) {
    case 0: return nullptr;
    case 1: return *rc::gen::arbitrary<bool>();
    case 2: return *rc::gen::arbitrary<std::int64_t>();
    case 3: return *rc::gen::arbitrary<double>();
    case 4: return json::value(*rc::gen::elementOf(kWords));
    case 5: {
      json::array list;
      const int count = *rc::gen::inRange(0, 4);
      for (int i = 0; i < count; ++i) list.push_back(random_json(depth - 1));
      return list;
    }
    default: {
      json::object object;
      const int count = *rc::gen::inRange(0, 6);
      for (int i = 0; i < count; ++i) {
        object[*rc::gen::elementOf(kWords)] = random_json(depth - 1);
      }
      return object;
    }
  }
}

void expect_sound(const net::HttpResponse& response) {
  const auto body = parse_json(response.body);
  RC_ASSERT(body.has_value() && body->is_object());
  RC_ASSERT(response.status < 500);
  const bool failed = response.status >= 400;
  RC_ASSERT(failed == (text_at(body->get_object(), "status") == "Failure"));
}

RC_GTEST_PROP(RestRandom, PatchesOfAnyShapeAreAppliedOrRefused, ()) {
  TestCluster cluster;
  Rest rest(cluster.api, {});
  cluster.pod("p");
  for (int i = 0; i < 5; ++i) {
    const std::string type = *rc::gen::elementOf(std::vector<std::string>{
        "application/json-patch+json", "application/merge-patch+json",
        "application/strategic-merge-patch+json", "application/apply-patch+yaml"});
    json::value patch = random_json(5);
    if (type == "application/json-patch+json" && !patch.is_array()) patch = json::array{patch};
    const std::string part = *rc::gen::elementOf(std::vector<std::string>{"", "/status"});
    net::HttpRequest request{"PATCH",
                             "/api/v1/namespaces/default/pods/p" + part + "?fieldManager=m",
                             {{"Content-Type", type}},
                             json::serialize(patch)};
    expect_sound(rest.answer(request));
    if (const ObjectPtr pod = cluster.get(Kind::pod, "p")) {
      const json::object tree = pod->tree();
      RC_ASSERT(text_at(tree, "metadata.name") == "p");
      RC_ASSERT(text_at(tree, "metadata.uid") == pod->uid);
    }
  }
}

RC_GTEST_PROP(RestRandom, ObjectsOfAnyShapeAreStoredOrRefused, ()) {
  TestCluster cluster;
  Rest rest(cluster.api, {});
  const auto resources = all_resources();
  const Resource& resource =
      resources[static_cast<std::size_t>(*rc::gen::inRange(0, static_cast<int>(kKinds)))];
  json::object object;
  object["kind"] = resource.kind;
  object["apiVersion"] = api_version_of(resource.kind_id);
  object["metadata"] = random_json(3);
  object["spec"] = random_json(6);
  object["status"] = random_json(4);
  if (json::object* metadata = object_in(object, "metadata")) (*metadata)["name"] = "x";
  std::string path =
      resource.group.empty() ? "/api/v1" : "/apis/" + std::string(resource.group) + "/v1";
  if (resource.namespaced) path += "/namespaces/default";
  path += "/" + std::string(resource.plural);
  net::HttpRequest request{
      "POST", path, {{"Content-Type", "application/json"}}, json::serialize(object)};
  expect_sound(rest.answer(request));
  request.headers = {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}};
  request.method = "GET";
  request.body.clear();
  const auto table = rest.answer(request);
  RC_ASSERT(table.status == 200);
  RC_ASSERT(parse_json(table.body).has_value());
}

RC_GTEST_PROP(RestRandom, TargetsOfAnyShapeAreAnswered, ()) {
  TestCluster cluster;
  Rest rest(cluster.api, {});
  const std::vector<std::string> parts{"/api",
                                       "/apis",
                                       "/v1",
                                       "/pods",
                                       "/namespaces",
                                       "/default",
                                       "/p",
                                       "/status",
                                       "/apps",
                                       "/%2e",
                                       "/%00",
                                       "//",
                                       "?",
                                       "limit=",
                                       "1",
                                       "&",
                                       "watch",
                                       "continue=",
                                       "e30=",
                                       "=",
                                       "%",
                                       "/nodes",
                                       "/events.k8s.io",
                                       "/events",
                                       "fieldSelector=",
                                       "labelSelector=",
                                       "a%3Db",
                                       "%2C",
                                       "resourceVersion=",
                                       "0",
                                       "/bindings",
                                       "/scale"};
  std::string target;
  const int count = *rc::gen::inRange(1, 12);
  for (int i = 0; i < count; ++i) target += *rc::gen::elementOf(parts);
  net::HttpRequest request{*rc::gen::elementOf(std::vector<std::string>{"GET", "POST", "PUT",
                                                                        "PATCH", "DELETE", "BREW"}),
                           target,
                           {},
                           *rc::gen::elementOf(std::vector<std::string>{"", "{}", "[", "null"})};
  RC_ASSERT(rest.answer(request).status > 0);
}

}  // namespace
}  // namespace stowage::local
