#include "metricsapi/certificate_manager.h"

#include <optional>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/base64.h"
#include "codec/config_map.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/temp_folder.h"

namespace stowage::metricsapi {
namespace {

using namespace std::chrono_literals;
using kube::testing::FakeApiServer;
using kube::testing::not_found;
using kube::testing::refuse;
using kube::testing::reply;
using kube::testing::run_for;
using kube::testing::run_until;
using kube::testing::SeenRequest;
using Responder = std::shared_ptr<net::Responder>;

constexpr const char* kSecrets = "/api/v1/namespaces/stowage/secrets";
constexpr const char* kSecret = "/api/v1/namespaces/stowage/secrets/stowage-metrics-api";
constexpr const char* kMaps = "/api/v1/namespaces/stowage/configmaps";
constexpr const char* kMap = "/api/v1/namespaces/stowage/configmaps/stowage-ca";
constexpr const char* kService =
    "/apis/apiregistration.k8s.io/v1/apiservices/v1alpha1.metrics.nvidia.com";

// The part of an API server that certificate managers write to.
struct Cluster {
  explicit Cluster(net::EventLoop& loop) : api(loop) {
    const auto on = [this](const char* method, const char* path, auto answer) {
      api.script(method, path, {[this, answer](const SeenRequest& request, Responder responder) {
                   answer(*this, request, responder);
                 }});
    };
    on("GET", kSecret, [](Cluster& self, const SeenRequest& request, const Responder& to) {
      self.show(request, to, self.secret, [&] {
        return codec::secret({.ns = "stowage", .name = "s", .data = self.secret->data});
      });
    });
    on("POST", kSecrets, [](Cluster& self, const SeenRequest& request, const Responder& to) {
      if (self.before_write) std::exchange(self.before_write, nullptr)();
      if (self.secret) return refuse(409, "AlreadyExists", "is there")(request, to);
      self.secret =
          codec::Secret{.resource_version = self.next(), .data = self.data_of(request.body)};
      reply(201)(request, to);
    });
    on("PATCH", kSecret, [](Cluster& self, const SeenRequest& request, const Responder& to) {
      if (self.before_write) std::exchange(self.before_write, nullptr)();
      const codec::Secret patch = codec::read_secret(request.body).value();
      if (patch.resource_version != self.secret->resource_version) {
        return refuse(409, "Conflict", "is another")(request, to);
      }
      self.secret = codec::Secret{.resource_version = self.next(), .data = patch.data};
      reply(200)(request, to);
    });
    on("GET", kService, [](Cluster& self, const SeenRequest& request, const Responder& to) {
      self.show(request, to, self.service, [&] {
        return fmt::format(R"({{"spec":{{"service":{{"name":"{}","namespace":"{}"}},)"
                           R"("caBundle":"{}","insecureSkipTLSVerify":{}}}}})",
                           self.service->service, self.service->service_ns, self.service->ca_bundle,
                           self.service->insecure);
      });
    });
    on("PATCH", kService, [](Cluster& self, const SeenRequest& request, const Responder& to) {
      const auto patch = codec::read_api_service(request.body).value();
      self.service->ca_bundle = patch.ca_bundle;
      self.service->insecure = patch.insecure;
      self.service->resource_version = self.next();
      reply(200)(request, to);
    });
    on("GET", kMap, [](Cluster& self, const SeenRequest& request, const Responder& to) {
      if (!self.map) return not_found("configmaps", "stowage-ca")(request, to);
      reply(200, codec::config_map(*self.map))(request, to);
    });
    const auto write_map = [](Cluster& self, const SeenRequest& request, const Responder& to) {
      codec::JsonText parser;
      self.map = codec::read_config_map(parser, request.body).value();
      reply(200)(request, to);
    };
    on("POST", kMaps, write_map);
    on("PATCH", kMap, write_map);
  }

  template <typename Object, typename Text>
  void show(const SeenRequest& request, const Responder& to, const std::optional<Object>& object,
            Text text) {
    if (!object) {
      const bool of_secret = request.path == kSecret;
      return of_secret ? not_found("secrets", "stowage-metrics-api")(request, to)
                       : not_found("apiservices", "v1alpha1.metrics.nvidia.com")(request, to);
    }
    std::string json = text();
    json.insert(1, R"("metadata":{"resourceVersion":")" + object->resource_version + "\"},");
    // The name and namespace of a complete object then occur twice, which has no effect.
    const std::size_t second = json.find(R"("metadata":{"name")");
    if (second != std::string::npos) json.replace(second + 1, 8, "ignored_");
    reply(200, json)(request, to);
  }
  // From a complete Secret, which has no version yet.
  [[nodiscard]] std::map<std::string, std::string> data_of(std::string body) const {
    body.insert(body.find(R"("name")"), R"("resourceVersion":"0",)");
    return codec::read_secret(body).value().data;
  }
  std::string next() { return std::to_string(++version); }
  [[nodiscard]] KeptCertificates kept() const { return from_secret(*secret); }

  FakeApiServer api;
  int version = 0;
  std::optional<codec::Secret> secret;
  std::optional<codec::ApiService> service;
  std::optional<codec::ConfigMap> map;
  std::function<void()> before_write;
};

struct CertificateManagerTest : ::testing::Test {
  CertificateManagerTest() {
    client = cluster.api.client(
        {.wall_clock = [this] { return kube::WallTime{std::chrono::seconds{now}}; }});
  }
  // A replica.
  struct Replica {
    std::vector<ServingCertificates> used;
    std::unique_ptr<CertificateManager> keeper;
  };
  std::unique_ptr<Replica> replica(CertificateManagerOptions options = {}) {
    auto made = std::make_unique<Replica>();
    options.deadline = 200ms;
    options.retry_min = 5ms;
    if (options.look == CertificateManagerOptions{}.look) options.look = 20ms;
    made->keeper = std::make_unique<CertificateManager>(
        options,
        CertificateManager::Deps{.client = *client,
                                 .log = log,
                                 .use = [at = made.get()](const ServingCertificates& fresh) {
                                   at->used.push_back(fresh);
                                 }});
    made->keeper->start();
    return made;
  }
  [[nodiscard]] bool soon(const std::function<bool()>& met) { return run_until(loop, met); }
  static constexpr std::int64_t kDay = 86'400;

  std::int64_t now = 1'800'000'000;
  net::EventLoop loop;
  Cluster cluster{loop};
  std::unique_ptr<kube::ApiClient> client;
  std::string lines;
  base::Log log{{.write = [this](std::string_view line) { lines += line; }}};
};

TEST_F(CertificateManagerTest, MakesKeepsAndTells) {
  cluster.service = codec::ApiService{.resource_version = "1",
                                      .service = "stowage-metrics-api",
                                      .service_ns = "stowage",
                                      .ca_bundle = {},
                                      .insecure = true};
  const auto first = replica();
  ASSERT_TRUE(soon([&] { return cluster.map.has_value(); }));
  ASSERT_EQ(first->used.size(), 1U);
  const KeptCertificates kept = cluster.kept();
  EXPECT_EQ(first->used[0].pair, kept.serving);
  EXPECT_EQ(first->used[0].trusted_pem, kept.authority.certificate_pem);
  EXPECT_EQ(net::read_certificate(kept.serving.certificate_pem)->hosts,
            service_hosts("stowage-metrics-api", "stowage"));
  EXPECT_EQ(cluster.service->ca_bundle, base::base64_encode(kept.authority.certificate_pem));
  EXPECT_FALSE(cluster.service->insecure);
  EXPECT_EQ(cluster.map->data.at("ca.crt"), kept.authority.certificate_pem);
  ASSERT_TRUE(soon([&] { return first->keeper->counters().looks > 3; }));
  EXPECT_EQ(first->keeper->counters().written, 1U) << "what is good stays";
  EXPECT_EQ(first->keeper->counters().told, 2U);
  EXPECT_EQ(first->keeper->trouble(), "");

  const auto second = replica();
  ASSERT_TRUE(soon([&] { return !second->used.empty(); }));
  EXPECT_EQ(second->used[0], first->used[0]) << "all replicas have the same";
}

TEST_F(CertificateManagerTest, WritesTheBundleOfWebhooks) {
  constexpr const char* kHooks =
      "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/hooks";
  std::string bundle;
  cluster.api.script("GET", kHooks, {[&](const SeenRequest& request, const Responder& to) {
                       reply(200,
                             fmt::format(R"({{"metadata":{{"resourceVersion":"3"}},"webhooks":[{{)"
                                         R"("name":"a.dev","clientConfig":{{"caBundle":"{}",)"
                                         R"("service":{{"name":"stowage-metrics-api",)"
                                         R"("namespace":"stowage"}}}}}}]}})",
                                         bundle))(request, to);
                     }});
  cluster.api.script("PATCH", kHooks, {[&](const SeenRequest& request, const Responder& to) {
                       EXPECT_EQ(request.header("content-type"), kube::kStrategicMergePatch);
                       bundle = base::base64_encode(cluster.kept().authority.certificate_pem);
                       EXPECT_EQ(request.body, codec::webhooks_patch({.resource_version = "3",
                                                                      .hooks = {"a.dev"},
                                                                      .ca_bundle = bundle}));
                       reply(200)(request, to);
                     }});
  CertificateManagerOptions options;
  options.webhooks = "hooks";
  const auto first = replica(options);
  ASSERT_TRUE(soon([&] { return first->keeper->counters().looks > 3; }));
  EXPECT_EQ(cluster.api.seen("PATCH", kHooks).size(), 1U) << "it knows the bundle then";
  EXPECT_TRUE(cluster.map) << "agents are told as well";
  EXPECT_EQ(first->keeper->trouble(), "");
}

TEST_F(CertificateManagerTest, WithoutTheConfigurationOfTheWebhookTheRestIsTold) {
  cluster.api.script("GET",
                     "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/hooks",
                     {not_found("mutatingwebhookconfigurations", "hooks")});
  CertificateManagerOptions options;
  options.webhooks = "hooks";
  const auto first = replica(options);
  ASSERT_TRUE(soon([&] { return cluster.map.has_value(); }));
  ASSERT_TRUE(soon([&] { return first->keeper->trouble().empty(); }));
}

TEST_F(CertificateManagerTest, OfTwoThatWriteAtOnceOneCounts) {
  // Another replica is slightly faster.
  const KeptCertificates theirs =
      plan_certificates({}, {.hosts = service_hosts("stowage-metrics-api", "stowage")}, now)
          .value()
          .kept;
  cluster.before_write = [&] {
    cluster.secret = codec::Secret{.resource_version = "77", .data = secret_data(theirs)};
  };
  const auto mine = replica();
  ASSERT_TRUE(soon([&] { return cluster.map.has_value(); }));
  EXPECT_EQ(cluster.kept(), theirs);
  ASSERT_EQ(mine->used.size(), 1U);
  EXPECT_EQ(mine->used[0].pair, theirs.serving);
  EXPECT_EQ(mine->keeper->counters().conflicts, 1U);

  // The same when a new one is due.
  now += 300 * kDay;
  const KeptCertificates renewed =
      plan_certificates(theirs, {.hosts = service_hosts("stowage-metrics-api", "stowage")}, now)
          .value()
          .kept;
  cluster.before_write = [&] {
    cluster.secret = codec::Secret{.resource_version = "78", .data = secret_data(renewed)};
  };
  ASSERT_TRUE(soon([&] { return mine->used.size() == 2; }));
  EXPECT_EQ(mine->used[1].pair, renewed.serving);
}

TEST_F(CertificateManagerTest, RenewsInTime) {
  cluster.service = codec::ApiService{
      .resource_version = "1", .service = "stowage-metrics-api", .service_ns = "stowage"};
  const auto mine = replica({.rules = {.authority_days = 90, .serving_days = 400}});
  ASSERT_TRUE(soon([&] { return cluster.map.has_value(); }));
  const std::string first = cluster.map->data.at("ca.crt");
  now += 61 * kDay;
  ASSERT_TRUE(soon([&] { return cluster.map->data.at("ca.crt").size() > first.size(); }));
  EXPECT_EQ(cluster.map->data.at("ca.crt"), first + cluster.kept().next.certificate_pem)
      << "both are trusted";
  EXPECT_EQ(cluster.kept().authority.certificate_pem, first);
  const std::string second = cluster.kept().next.certificate_pem;
  now += 2 * kDay;
  ASSERT_TRUE(soon([&] { return cluster.map->data.at("ca.crt") == second + first; }));
  EXPECT_EQ(mine->used.back().pair, cluster.kept().serving);
  EXPECT_EQ(cluster.service->ca_bundle, base::base64_encode(second + first));
  now += 2 * kDay;
  ASSERT_TRUE(soon([&] { return cluster.map->data.at("ca.crt") == second; }));
}

TEST_F(CertificateManagerTest, LeavesServicesOfOthersAlone) {
  cluster.service =
      codec::ApiService{.resource_version = "1", .service = "gpuserver", .service_ns = "gpu"};
  const auto mine = replica();
  ASSERT_TRUE(soon([&] { return cluster.map.has_value(); }));
  EXPECT_EQ(cluster.service->ca_bundle, "");
  EXPECT_TRUE(cluster.api.seen("PATCH", kService).empty());
}

TEST_F(CertificateManagerTest, RestoresWhatWasRemoved) {
  const auto mine = replica();
  ASSERT_TRUE(soon([&] { return cluster.map.has_value(); }));
  cluster.map.reset();
  ASSERT_TRUE(soon([&] { return cluster.map.has_value(); }));
  // Others trust the certificates in use: they are kept.
  const KeptCertificates before = cluster.kept();
  cluster.secret.reset();
  ASSERT_TRUE(soon([&] { return cluster.secret.has_value(); }));
  EXPECT_EQ(cluster.kept(), before);
  cluster.secret = codec::Secret{.resource_version = cluster.next(), .data = {}};
  ASSERT_TRUE(soon([&] { return !cluster.secret->data.empty(); }));
  EXPECT_EQ(cluster.kept(), before) << "emptied";
  EXPECT_EQ(mine->used.size(), 1U);
  EXPECT_NE(lines.find("the secret no longer had them"), std::string::npos) << lines;
}

TEST_F(CertificateManagerTest, AnAuthorityThatIsRemovedIsMadeAgain) {
  const auto mine = replica();
  ASSERT_TRUE(soon([&] { return cluster.map.has_value(); }));
  const KeptCertificates before = cluster.kept();
  cluster.secret->data.erase("ca.crt");
  cluster.secret->data.erase("ca.key");
  cluster.secret->resource_version = cluster.next();
  ASSERT_TRUE(soon([&] { return mine->used.size() == 2; }));
  EXPECT_NE(cluster.kept().authority, before.authority);
  ASSERT_TRUE(soon(
      [&] { return cluster.map->data.at("ca.crt") == cluster.kept().authority.certificate_pem; }));
}

TEST_F(CertificateManagerTest, UsesWhatIsThereIfItMayNotWrite) {
  const KeptCertificates old = plan_certificates({}, {.hosts = {"other.host"}}, now).value().kept;
  cluster.secret = codec::Secret{.resource_version = "5", .data = secret_data(old)};
  cluster.api.script("PATCH", kSecret, {refuse(403, "Forbidden", "no")});
  const auto mine = replica();
  ASSERT_TRUE(soon([&] { return mine->keeper->counters().failures > 2; }));
  ASSERT_EQ(mine->used.size(), 1U);
  EXPECT_EQ(mine->used[0].pair, old.serving);
  EXPECT_NE(mine->keeper->trouble().find("write the secret"), std::string::npos);
  EXPECT_NE(mine->keeper->trouble().find("stowage/stowage-metrics-api"), std::string::npos);
  EXPECT_EQ(lines.find("cannot maintain"), lines.rfind("cannot maintain"))
      << "told once: " << lines;
}

TEST_F(CertificateManagerTest, AServerThatIsAwayIsAskedAgain) {
  cluster.api.script("GET", kSecret, {kube::testing::drop()});
  const auto mine = replica();
  ASSERT_TRUE(soon([&] { return mine->keeper->counters().failures > 0; }));
  EXPECT_TRUE(mine->used.empty());
  cluster.api.script("GET", kSecret, {not_found("secrets", "stowage-metrics-api")});
  ASSERT_TRUE(soon([&] { return !mine->used.empty(); }));
}

TEST_F(CertificateManagerTest, GoesWhileItAsks) {
  cluster.api.script("GET", kSecret, {cluster.api.hold()});
  auto mine = replica();
  ASSERT_TRUE(soon([&] { return !cluster.api.held().empty(); }));
  mine.reset();
  cluster.api.held().front()->send({.status = 404});
  run_for(loop, 20ms);
}

TEST(CertificateFiles, AreReadAgainWhenTheyChange) {
  net::EventLoop loop;
  const kube::testing::TempFolder folder;
  std::string lines;
  base::Log log{{.write = [&](std::string_view line) { lines += line; }}};
  const auto pair = [] {
    return net::make_self_signed({.common_name = "s", .hosts = {"a.b"}}).value();
  };
  const net::KeyPair first = pair();
  const net::KeyPair second = pair();
  const CertificatePaths paths{
      .certificate = folder.path("tls.crt"), .key = folder.path("tls.key"), .ca = {}, .look = 10ms};
  std::vector<ServingCertificates> used;
  const auto use = [&](const ServingCertificates& fresh) { used.push_back(fresh); };
  EXPECT_FALSE(CertificateFiles(loop, paths, log, use).start()) << "they are not there";
  folder.write("tls.crt", first.certificate_pem);
  folder.write("tls.key", second.key_pem);
  EXPECT_EQ(CertificateFiles(loop, paths, log, use).start().error().message,
            paths.certificate + " and " + paths.key + ": the key does not match the certificate");
  folder.write("tls.key", first.key_pem);
  CertificateFiles files(loop, paths, log, use);
  ASSERT_TRUE(files.start());
  ASSERT_EQ(used.size(), 1U);
  EXPECT_EQ(used[0], (ServingCertificates{.pair = first, .trusted_pem = first.certificate_pem}));
  folder.write("tls.crt", second.certificate_pem);
  ASSERT_TRUE(
      run_until(loop, [&] { return lines.find("keeping the old ones") != std::string::npos; }));
  folder.write("tls.key", second.key_pem);
  ASSERT_TRUE(run_until(loop, [&] { return used.size() == 2; }));
  EXPECT_EQ(used[1].pair, second);
}

}  // namespace
}  // namespace stowage::metricsapi
