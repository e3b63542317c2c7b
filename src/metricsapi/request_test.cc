#include "metricsapi/request.h"

#include <gtest/gtest.h>

namespace stowage::metricsapi {
namespace {

using What = Ask::What;

// As sent by kubectl 1.27 to 1.33 and by the API server.
constexpr const char* kTable =
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s."
    "io,application/json";
constexpr const char* kDiscovery =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g="
    "apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
constexpr const char* kTyped = "application/vnd.kubernetes.protobuf,application/json";
const std::string kBase = "/apis/metrics.nvidia.com/v1alpha1";

tl::expected<Ask, ApiError> ask(const std::string& target, const std::string& accept = "",
                                const std::string& method = "GET") {
  net::HttpRequest request{.method = method, .target = target};
  if (!accept.empty()) request.headers.emplace_back("Accept", accept);
  return read_ask(request);
}

int code(const std::string& target, const std::string& accept = "",
         const std::string& method = "GET") {
  const auto read = ask(target, accept, method);
  return read ? 200 : read.error().code;
}

TEST(Accept, TheFormIsNegotiated) {
  struct Row {
    const char* name;
    const char* accept;
    std::optional<Form> form;
  };
  const Row rows[] = {
      {"nothing", "", Form::object},
      {"anything", "*/*", Form::object},
      {"kubectl get", kTable, Form::table},
      {"kubectl get -o json", "application/json", Form::object},
      {"kubectl api-resources", "application/json, */*", Form::object},
      {"kubectl describe", kTyped, Form::object},
      {"discovery", kDiscovery, Form::object},
      {"any application", "application/*", Form::object},
      {"a charset", "application/json; charset=utf-8", Form::object},
      {"case does not matter", "Application/JSON", Form::object},
      {"an older table alone", "application/json;as=Table;v=v1beta1;g=meta.k8s.io", std::nullopt},
      {"a table of another group", "application/json;as=Table;v=v1;g=x", std::nullopt},
      {"protobuf alone", "application/vnd.kubernetes.protobuf", std::nullopt},
      {"yaml", "application/yaml", std::nullopt},
      {"a page", "text/html,application/xhtml+xml,*/*;q=0.8", Form::object},
      {"not this", "application/json;q=0", std::nullopt},
      {"rather an object", "application/json;as=Table;v=v1;g=meta.k8s.io;q=0.5,application/json",
       Form::object},
      {"the first of equals", "application/json,application/json;as=Table;v=v1;g=meta.k8s.io",
       Form::object},
      {"blanks", "  application/json ; as=Table ; v=v1 ; g=meta.k8s.io ", Form::table},
      {"nonsense", ";;,=,q=", std::nullopt},
      {"a bad weight is none", "application/json;q=abc", Form::object},
  };
  for (const Row& row : rows) EXPECT_EQ(wanted_form(row.accept), row.form) << row.name;
}

TEST(Request, PathsAreKnown) {
  const std::pair<const char*, What> documents[] = {
      {"/healthz", What::health},
      {"/livez", What::health},
      {"/health?node=n1", What::health},
      {"/readyz", What::ready},
      {"/apis", What::groups},
      {"/apis/", What::groups},
      {"/apis?timeout=32s", What::groups},
      {"/apis/metrics.nvidia.com", What::group},
      {"/apis/metrics.nvidia.com/v1alpha1?timeout=32s", What::resources},
      {"/agent/v1/reports", What::agents},
  };
  for (const auto& [target, what] : documents) {
    const auto read = ask(target, kDiscovery);
    ASSERT_TRUE(read) << target;
    EXPECT_EQ(read->what, what) << target;
  }
  const auto list = ask(kBase + "/gpuinfos");
  ASSERT_TRUE(list);
  EXPECT_EQ(list->what, What::list);
  EXPECT_EQ(list->shape, (Shape{.resource = Resource::gpu_infos, .style = Style::original}));
  const auto get = ask(kBase + "/podresources/d.p%2Fx");
  ASSERT_TRUE(get);
  EXPECT_EQ(get->what, What::get);
  EXPECT_EQ(get->name, "d.p/x");
  EXPECT_EQ(get->shape.resource, Resource::pod_resources);
  EXPECT_EQ(get->shape.style, Style::kubernetes) << "the original had none";
  for (const char* verb : {"filter", "prioritize", "preempt"}) {
    const auto schedule = ask(kBase + "/schedule/" + verb, "", "POST");
    ASSERT_TRUE(schedule) << verb;
    EXPECT_EQ(schedule->what, What::schedule);
    EXPECT_EQ(word(schedule->verb), verb);
  }
}

TEST(Request, WhatIsNotThereIsRefused) {
  for (const std::string& path :
       {std::string("/"), std::string("/api"), std::string("/apisx"), std::string("/openapi/v2"),
        std::string("/openapi/v3"), std::string("/apis/metrics.nvidia.com/v1"),
        std::string("/hostgpuinfo"), std::string("/podresources"), kBase + "/nodes",
        kBase + "/gpuinfos/a/b", kBase + "/gpuinfos//", kBase + "/schedule",
        kBase + "/schedule/bind"}) {
    const auto read = ask(path);
    ASSERT_FALSE(read) << path;
    EXPECT_EQ(read.error().code, 404) << path;
    EXPECT_NE(status_json(read.error()).find(R"("code":404,"msg":"api not found"})"),
              std::string::npos);
  }
  EXPECT_EQ(code(kBase + "/gpuinfos/%zz"), 400);
  EXPECT_EQ(code(kBase + "/gpuinfos/" + std::string(507, 'n')), 200);
  EXPECT_EQ(code(kBase + "/gpuinfos/" + std::string(508, 'n')), 400) << "no name is so long";
  EXPECT_EQ(code(kBase + "/gpuinfos?fieldSelector=metadata.name%3D" + std::string(508, 'n')), 400);
  EXPECT_EQ(code(kBase + "/gpuinfos", "", "POST"), 405);
  EXPECT_EQ(code(kBase + "/gpuinfos/n1", "", "DELETE"), 405);
  EXPECT_EQ(code(kBase + "/schedule/filter"), 405);
  EXPECT_EQ(code("/healthz", "", "PUT"), 405);
  EXPECT_EQ(code("/healthz", "", "HEAD"), 200);
  EXPECT_EQ(net::find_header(refusal(ask("/healthz", "", "PUT").error()).headers, "allow"),
            "GET, HEAD");
  EXPECT_EQ(code(kBase + "/gpuinfos", "application/yaml"), 406);
  EXPECT_EQ(code(kBase + "/gpuinfos/n1", "application/vnd.kubernetes.protobuf"), 406);
  EXPECT_EQ(code(kBase + "/gpuinfos?watch=true", "text/html"), 406);
  EXPECT_EQ(code(kBase, "application/yaml"), 200) << "discovery is JSON for everybody";
}

TEST(Request, WhoShowsThatItIsOfKubernetesIsAnsweredSo) {
  struct Row {
    const char* name;
    const char* query;
    const char* accept;
    Style style;
  };
  const Row rows[] = {
      {"curl", "", "*/*", Style::original},
      {"the original's client", "", "", Style::original},
      {"its watch", "?watch=true", "", Style::original},
      {"for a while", "?watch=true&timeoutSeconds=9", "", Style::original},
      {"kubectl get", "?limit=500", kTable, Style::kubernetes},
      {"kubectl get --chunk-size=0", "", kTable, Style::kubernetes},
      {"kubectl get -o json", "?limit=500", "application/json", Style::kubernetes},
      {"kubectl get -w", "?resourceVersion=10&watch=true", kTable, Style::kubernetes},
      {"kubectl wait", "?fieldSelector=metadata.name%3Dn1&limit=500&resourceVersion=0",
       "application/json", Style::kubernetes},
      {"an informer", "?allowWatchBookmarks=true&resourceVersion=5&timeoutSeconds=454&watch=true",
       "application/json", Style::kubernetes},
      {"a label selector that is empty", "?labelSelector=", "", Style::kubernetes},
  };
  for (const Row& row : rows) {
    const auto read = ask(kBase + "/gpuinfos" + row.query, row.accept);
    ASSERT_TRUE(read) << row.name;
    EXPECT_EQ(read->shape.style, row.style) << row.name;
  }
}

TEST(Request, OptionsAreRead) {
  const auto watch = ask(kBase +
                         "/gpuinfos?watch=1&resourceVersion=77&allowWatchBookmarks=true&"
                         "timeoutSeconds=30&includeObject=Object");
  ASSERT_TRUE(watch);
  EXPECT_EQ(watch->what, What::watch);
  EXPECT_EQ(
      watch->watch,
      (WatchRequest{
          .initial = false, .since = 77, .bookmarks = true, .timeout = std::chrono::seconds{30}}));
  EXPECT_EQ(watch->shape.rows, RowObject::whole);
  EXPECT_TRUE(ask(kBase + "/gpuinfos?watch=true&resourceVersion=0")->watch.initial);
  EXPECT_TRUE(ask(kBase + "/gpuinfos?watch=true&resourceVersion=")->watch.initial);
  EXPECT_EQ(ask(kBase + "/gpuinfos?watch=false")->what, What::list);
  EXPECT_EQ(ask(kBase + "/gpuinfos?watch=true&timeoutSeconds=99999999999")->watch.timeout,
            std::chrono::hours{24});
  const auto streamed = ask(kBase +
                            "/gpuinfos?watch=true&sendInitialEvents=true&allowWatchBookmarks=true&"
                            "resourceVersionMatch=NotOlderThan&resourceVersion=5");
  ASSERT_TRUE(streamed);
  EXPECT_TRUE(streamed->watch.initial);
  EXPECT_TRUE(streamed->watch.initial_end);
  EXPECT_EQ(code(kBase + "/gpuinfos?watch=true&sendInitialEvents=true"), 422);
  for (const char* bad :
       {"watch=true&resourceVersion=x", "watch=true&resourceVersion=-1",
        "watch=true&timeoutSeconds=1s", "labelSelector=a%3Db", "fieldSelector=spec.x%3D1",
        "fieldSelector=metadata.name", "includeObject=All", "limit=%zz",
        "watch=true&resourceVersion=99999999999999999999999"}) {
    EXPECT_EQ(code(kBase + "/gpuinfos?" + bad), 400) << bad;
  }
}

TEST(Request, NamesAreSelected) {
  const auto selector = [](const std::string& text) {
    return ask(kBase + "/gpuinfos?fieldSelector=" + net::percent_encode(text))->selector;
  };
  EXPECT_TRUE(selector("").matches("n1"));
  EXPECT_TRUE(selector("metadata.name=n1").matches("n1"));
  EXPECT_FALSE(selector("metadata.name==n1").matches("n2"));
  EXPECT_TRUE(selector("metadata.name!=n1").matches("n2"));
  EXPECT_FALSE(selector("metadata.name!=n1,metadata.name!=n2").matches("n2"));
  EXPECT_EQ(selector("metadata.name=n1").only(), "n1");
  EXPECT_EQ(selector("metadata.name!=n1").only(), "");
}

TEST(Answers, DiscoveryIsWhatClientsExpect) {
  EXPECT_EQ(api_resource_list(),
            R"({"kind":"APIResourceList","apiVersion":"v1",)"
            R"("groupVersion":"metrics.nvidia.com/v1alpha1","resources":[)"
            R"({"name":"podresources","singularName":"podresource","namespaced":false,)"
            R"("kind":"PodResource","verbs":["get","list","watch"],"shortNames":["podres"]},)"
            R"({"name":"gpuinfos","singularName":"gpuinfo","namespaced":false,"kind":"GpuInfo",)"
            R"("verbs":["get","list","watch"],"shortNames":["gpui"]}]})");
  EXPECT_EQ(api_group(),
            R"({"kind":"APIGroup","apiVersion":"v1","name":"metrics.nvidia.com","versions":[)"
            R"({"groupVersion":"metrics.nvidia.com/v1alpha1","version":"v1alpha1"}],)"
            R"("preferredVersion":{"groupVersion":"metrics.nvidia.com/v1alpha1",)"
            R"("version":"v1alpha1"}})");
  EXPECT_TRUE(api_group_list().starts_with(
      R"({"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"metrics.nvidia.com",)"));
}

TEST(Answers, ErrorsAreStatusObjects) {
  EXPECT_EQ(
      status_json(not_found(Resource::gpu_infos, "n9")),
      R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)"
      R"("message":"gpuinfos.metrics.nvidia.com \"n9\" not found","reason":"NotFound",)"
      R"("details":{"name":"n9","group":"metrics.nvidia.com","kind":"gpuinfos"},"code":404})");
  const net::HttpResponse busy = refusal(too_many("later"));
  EXPECT_EQ(busy.status, 429);
  EXPECT_EQ(net::find_header(busy.headers, "retry-after"), "5");
  EXPECT_NE(busy.body.find(R"("details":{"retryAfterSeconds":5})"), std::string::npos);
}

}  // namespace
}  // namespace stowage::metricsapi
