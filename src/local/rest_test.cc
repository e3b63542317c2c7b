#include "local/rest.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "local/test_cluster.h"

namespace stowage::local {
namespace {

constexpr const char* kTableAccept =
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/"
    "json;as=Table;v=v1beta1;g=meta.k8s.io,"
    "application/json";
constexpr const char* kPodText =
    R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{)"
    R"("name":"c","image":"i"}]}})";

class RestTest : public testing::Test {
 protected:
  net::HttpResponse call(std::string method, std::string target, std::string body = {},
                         std::string type = "application/json", std::string accept = {}) {
    net::HttpRequest request{std::move(method), std::move(target), {}, std::move(body)};
    if (!type.empty()) request.headers.emplace_back("Content-Type", std::move(type));
    if (!accept.empty()) request.headers.emplace_back("Accept", std::move(accept));
    return rest_.answer(request);
  }
  json::object get(const std::string& target, int status = 200) {
    const auto response = call("GET", target);
    EXPECT_EQ(response.status, status) << target << response.body;
    return parsed(response.body);
  }
  void expect_status(const net::HttpResponse& response, int code, std::string_view reason) {
    EXPECT_EQ(response.status, code) << response.body;
    const json::object status = parsed(response.body);
    EXPECT_EQ(text_at(status, "kind"), "Status");
    EXPECT_EQ(text_at(status, "status"), "Failure");
    EXPECT_EQ(text_at(status, "reason"), reason) << response.body;
    EXPECT_EQ(int_at(status, "code"), code);
    EXPECT_FALSE(text_at(status, "message").empty());
  }

  TestCluster cluster_;
  Rest rest_{cluster_.api, {}};
};

const std::string kPods = "/api/v1/namespaces/default/pods";

// It would be stored as invalid JSON.
TEST_F(RestTest, NumbersThatJsonCannotExpressAreRefused) {
  for (const std::string& number :
       std::vector<std::string>{"1e999", "-1e999", "1" + std::string(400, '0')}) {
    expect_status(call("POST", kPods, R"({"metadata":{"name":"p"},"spec":)" + number + "}"), 400,
                  "BadRequest");
    expect_status(
        call("PATCH", kPods + "/p", R"({"spec":[)" + number + "]}", "application/merge-patch+json"),
        400, "BadRequest");
  }
}

TEST_F(RestTest, ServesTheDocumentsOfDiscovery) {
  EXPECT_EQ(get("/api").at("versions").at(0), "v1");
  const json::object core = get("/api/v1?timeout=32s");
  EXPECT_EQ(text_at(core, "groupVersion"), "v1");
  EXPECT_GT(array_at(core, "resources")->size(), 20U);
  const json::object groups = get("/apis");
  for (const auto& group : *array_at(groups, "groups")) {
    const std::string name(text_of(group.at("name")));
    EXPECT_EQ(text_at(get("/apis/" + name), "kind"), "APIGroup");
    EXPECT_EQ(text_at(get("/apis/" + name + "/v1"), "groupVersion"), name + "/v1");
    EXPECT_EQ(text_at(get("/openapi/v3/apis/" + name + "/v1?hash=1"), "openapi"), "3.0.0");
  }
  EXPECT_EQ(text_at(get("/version"), "gitVersion").substr(0, 4), "v1.3");
  EXPECT_NE(find_at(get("/openapi/v3"), "paths"), nullptr);
  EXPECT_EQ(call("GET", "/readyz").body, "ok");
  expect_status(call("GET", "/openapi/v2"), 404, "NotFound");
  expect_status(call("GET", "/apis/apps/v2"), 404, "NotFound");
  expect_status(call("GET", "/apis/none"), 404, "NotFound");
  expect_status(call("GET", "/"), 404, "NotFound");
}

TEST_F(RestTest, CreatesReadsChangesAndDeletes) {
  const auto made = call("POST", kPods + "?fieldValidation=Strict", kPodText);
  EXPECT_EQ(made.status, 201) << made.body;
  expect_status(call("POST", kPods, kPodText), 409, "AlreadyExists");
  json::object pod = get(kPods + "/p");
  make_object(make_object(pod, "metadata"), "labels")["x"] = "y";
  EXPECT_EQ(call("PUT", kPods + "/p", json::serialize(pod)).status, 200);
  expect_status(call("PUT", kPods + "/p", json::serialize(pod)), 409, "Conflict");
  const auto patched = call("PATCH", kPods + "/p/status", R"({"status":{"phase":"Running"}})",
                            "application/merge-patch+json");
  EXPECT_EQ(text_at(parsed(patched.body), "status.phase"), "Running");
  EXPECT_EQ(text_at(parsed(patched.body), "metadata.labels.x"), "y");
  EXPECT_EQ(call("DELETE", kPods + "/p", R"({"propagationPolicy":"Background"})").status, 200);
  expect_status(call("GET", kPods + "/p"), 404, "NotFound");
  expect_status(call("DELETE", kPods + "/p"), 404, "NotFound");
}

TEST_F(RestTest, BindsByBothWays) {
  cluster_.pod("p");
  cluster_.pod("q");
  const char* binding = R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"p",
      "annotations":{"stowage.dev/cards":"0"}},"target":{"kind":"Node","name":"n1"}})";
  const auto bound = call("POST", kPods + "/p/binding", binding);
  EXPECT_EQ(bound.status, 201);
  EXPECT_EQ(bound.body,
            R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201})");
  expect_status(call("POST", kPods + "/p/binding", binding), 409, "Conflict");
  EXPECT_EQ(call("POST", "/api/v1/namespaces/default/bindings",
                 R"({"metadata":{"name":"q"},"target":{"name":"n2"}})")
                .status,
            201);
  EXPECT_EQ(cluster_.get(Kind::pod, "q")->field("spec.nodeName"), "n2");
  expect_status(call("POST", kPods + "/q/binding", R"({"target":{}})"), 422, "Invalid");
  expect_status(call("POST", kPods + "/q/binding", R"({"metadata":{"annotations":{"a":1}}})"), 400,
                "BadRequest");
  expect_status(call("POST", kPods + "/none/binding", R"({"target":{"name":"n"}})"), 404,
                "NotFound");
}

TEST_F(RestTest, ListsInPagesOfOneState) {
  for (int i = 0; i < 5; ++i) cluster_.pod(fmt::format("p{}", i));
  json::object page = get("/api/v1/pods?limit=2");
  EXPECT_EQ(text_at(page, "kind"), "PodList");
  EXPECT_EQ(int_at(page, "metadata.remainingItemCount"), 3);
  const std::string version(text_at(page, "metadata.resourceVersion"));
  cluster_.pod("p11");
  std::size_t count = array_at(page, "items")->size();
  while (!text_at(page, "metadata.continue").empty()) {
    page = get("/api/v1/pods?limit=2&continue=" +
               net::percent_encode(text_at(page, "metadata.continue")));
    EXPECT_EQ(text_at(page, "metadata.resourceVersion"), version);
    count += array_at(page, "items")->size();
  }
  EXPECT_EQ(count, 5U);
  EXPECT_EQ(array_at(get("/api/v1/pods?limit=2&resourceVersion=0"), "items")->size(), 6U);
  expect_status(call("GET", "/api/v1/pods?continue=abc"), 400, "BadRequest");
  expect_status(call("GET", "/api/v1/pods?limit=-1"), 400, "BadRequest");
}

TEST_F(RestTest, APageOfALostStateOffersToGoOn) {
  StoreOptions options;
  options.history_events_max = 2;
  TestCluster cluster(options);
  Rest rest(cluster.api, {});
  for (int i = 0; i < 5; ++i) cluster.pod(fmt::format("p{}", i));
  const auto page = parsed(rest.answer(net::HttpRequest{.target = "/api/v1/pods?limit=2"}).body);
  for (int i = 5; i < 9; ++i) cluster.pod(fmt::format("p{}", i));
  const auto next = [&](const json::object& from) {
    return rest.answer(
        net::HttpRequest{.target = "/api/v1/pods?limit=9&continue=" +
                                   net::percent_encode(text_at(from, "metadata.continue"))});
  };
  const auto lost = next(page);
  expect_status(lost, 410, "Expired");
  const auto rest_of = next(parsed(lost.body));
  EXPECT_EQ(rest_of.status, 200);
  EXPECT_EQ(array_at(parsed(rest_of.body), "items")->size(), 7U);
}

TEST_F(RestTest, VersionsOfTheFutureAndThePastAreTold) {
  const auto future = call("GET", "/api/v1/pods?resourceVersion=99999");
  expect_status(future, 504, "Timeout");
  EXPECT_EQ(net::find_header(future.headers, "Retry-After"), "1");
  EXPECT_EQ(
      get("/api/v1/pods?resourceVersion=1&resourceVersionMatch=NotOlderThan").contains("items"),
      true);
  expect_status(call("GET", "/api/v1/pods?resourceVersionMatch=Exact"), 400, "BadRequest");
}

TEST_F(RestTest, SelectsByLabelsAndFields) {
  cluster_.pod("p");
  cluster_.pod("q");
  ASSERT_TRUE(cluster_.api.bind({{"default", "p"}, "n1", {}, {}}));
  const auto count = [&](const std::string& query) {
    return array_at(get("/api/v1/pods?" + query), "items")->size();
  };
  EXPECT_EQ(count("fieldSelector=spec.nodeName%3Dn1"), 1U);
  EXPECT_EQ(count("fieldSelector=spec.nodeName%21%3Dn1%2Cstatus.phase%21%3DFailed"), 1U);
  EXPECT_EQ(count("labelSelector=x"), 0U);
  expect_status(call("GET", "/api/v1/pods?labelSelector=a%3D%28"), 400, "BadRequest");
  expect_status(call("GET", "/api/v1/pods?fieldSelector=a%3Db"), 400, "BadRequest");
}

TEST_F(RestTest, PrintsTables) {
  cluster_.pod("p");
  const auto list = call("GET", kPods + "?limit=500", {}, {}, kTableAccept);
  const json::object table = parsed(list.body);
  EXPECT_EQ(text_at(table, "kind"), "Table");
  EXPECT_EQ(table.at("columnDefinitions").at(2).at("name"), "Status");
  EXPECT_EQ(table.at("rows").at(0).at("cells").at(2), "Pending");
  EXPECT_EQ(table.at("rows").at(0).at("object").at("kind"), "PartialObjectMetadata");
  const auto one = call("GET", kPods + "/p?includeObject=Object", {}, {}, kTableAccept);
  EXPECT_EQ(parsed(one.body).at("rows").at(0).at("object").at("kind"), "Pod");
  const auto partial = call("GET", kPods, {}, {},
                            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1");
  EXPECT_FALSE(parsed(partial.body).at("items").at(0).get_object().contains("spec"));
}

TEST_F(RestTest, EventsHaveTwoForms) {
  const std::string events = "/apis/events.k8s.io/v1/namespaces/default/events";
  const char* event = R"({"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"name":"p.1"},
      "eventTime":"2026-01-02T03:04:05.000000Z","reason":"Scheduled","type":"Normal",
      "action":"Binding","reportingController":"stowage","reportingInstance":"s-0",
      "regarding":{"kind":"Pod","name":"p","namespace":"default"},"note":"assigned"})";
  const auto made = call("POST", events, event);
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(text_at(parsed(made.body), "note"), "assigned");
  EXPECT_EQ(text_at(get("/api/v1/namespaces/default/events/p.1"), "message"), "assigned");
  EXPECT_EQ(array_at(get("/api/v1/events?fieldSelector=involvedObject.name%3Dp"), "items")->size(),
            1U);
  EXPECT_EQ(get(events).at("items").at(0).at("regarding").at("name"), "p");
  const auto patched =
      call("PATCH", events + "/p.1",
           R"({"series":{"count":2,"lastObservedTime":"2026-01-02T03:04:06.000000Z"}})",
           "application/strategic-merge-patch+json");
  EXPECT_EQ(patched.status, 200) << patched.body;
  expect_status(call("POST", events, R"({"apiVersion":"events.k8s.io/v1","kind":"Event",
      "metadata":{"name":"p.2"}})"),
                422, "Invalid");
}

TEST_F(RestTest, ScalesThroughItsSubresource) {
  ASSERT_TRUE(cluster_.make(Kind::deployment, R"({"metadata":{"name":"d"},"spec":{
      "selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},
      "spec":{"containers":[{"name":"c","image":"i"}]}}}})"));
  const std::string path = "/apis/apps/v1/namespaces/default/deployments/d/scale";
  json::object scale = get(path);
  EXPECT_EQ(text_at(scale, "apiVersion"), "autoscaling/v1");
  EXPECT_EQ(text_at(scale, "status.selector"), "a=b");
  make_object(scale, "spec")["replicas"] = 3;
  EXPECT_EQ(call("PUT", path, json::serialize(scale)).status, 200);
  const auto patched =
      call("PATCH", path, R"({"spec":{"replicas":5}})", "application/merge-patch+json");
  EXPECT_EQ(int_at(parsed(patched.body), "spec.replicas"), 5);
  EXPECT_EQ(*cluster_.api.scale(Kind::deployment, {"default", "d"}), 5);
}

TEST_F(RestTest, DeletesCollections) {
  cluster_.pod("p");
  cluster_.pod("q");
  EXPECT_EQ(call("DELETE", kPods + "?fieldSelector=metadata.name%3Dq").status, 200);
  EXPECT_EQ(cluster_.store().size(Kind::pod), 1U);
  EXPECT_EQ(call("DELETE", kPods).status, 200);
  EXPECT_EQ(cluster_.store().size(Kind::pod), 0U);
  expect_status(call("DELETE", "/api/v1/pods"), 405, "MethodNotAllowed");
}

TEST_F(RestTest, AnswersNonsenseWithAStatus) {
  struct Nonsense {
    const char* method;
    const char* target;
    const char* body;
    const char* type;
    int code;
  };
  const Nonsense rows[] = {
      {"GET", "/api/v1/things", "", "", 404},
      {"GET", "/api/v1/namespaces/default/nodes", "", "", 404},
      {"GET", "/api/v1/pods/p", "", "", 404},
      {"GET", "/api/v1//pods", "", "", 400},
      {"GET", "/api/v1/pods/%zz", "", "", 400},
      {"GET", "/api/v1/namespaces/default/pods/p/log", "", "", 404},
      {"POST", "/api/v1/namespaces/default/pods", "", "application/json", 400},
      {"POST", "/api/v1/namespaces/default/pods", "{", "application/json", 400},
      {"POST", "/api/v1/namespaces/default/pods", "[]", "application/json", 400},
      {"POST", "/api/v1/namespaces/default/pods", "{}", "application/json", 400},
      {"POST", "/api/v1/namespaces/default/pods", R"({"kind":"Node","apiVersion":"v1"})",
       "application/json", 400},
      {"POST", "/api/v1/namespaces/default/pods", "a: b", "application/yaml", 415},
      {"POST", "/api/v1/namespaces/default/pods", "k8s", "application/vnd.kubernetes.protobuf",
       400},
      {"POST", "/api/v1/pods", "{}", "application/json", 405},
      {"PUT", "/api/v1/nodes", "{}", "application/json", 405},
      {"PATCH", "/api/v1/nodes/n", "{}", "text/plain", 415},
      {"PATCH", "/api/v1/nodes/n", "{}", "application/merge-patch+json", 404},
      {"PATCH", "/api/v1/nodes/n", "a: b", "application/apply-patch+yaml", 400},
      {"POST", "/api/v1/nodes?dryRun=Some", "{}", "application/json", 400},
      {"POST", "/api/v1/nodes?fieldValidation=No", "{}", "application/json", 400},
      {"DELETE", "/api/v1/nodes/n?propagationPolicy=No", "", "", 400},
  };
  for (const Nonsense& row : rows) {
    const auto response = call(row.method, row.target, row.body, row.type);
    EXPECT_EQ(response.status, row.code) << row.method << " " << row.target << response.body;
    EXPECT_EQ(text_at(parsed(response.body), "kind"), "Status");
  }
  EXPECT_EQ(call("GET", "/api/v1/pods", {}, {}, "application/yaml").status, 406);
  const std::string deep = std::string(100, '[') + std::string(100, ']');
  expect_status(call("POST", kPods, deep), 400, "BadRequest");
}

TEST_F(RestTest, WarnsOfUnknownFields) {
  std::string text = kPodText;
  text.insert(1, R"("nonsense":1,)");
  const auto made = call("POST", kPods, text);
  EXPECT_EQ(made.status, 201);
  EXPECT_EQ(net::find_header(made.headers, "Warning"), R"(299 - "unknown field \"nonsense\"")");
}

}  // namespace
}  // namespace stowage::local
