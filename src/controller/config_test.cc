#include "controller/config.h"

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "base/file.h"
#include "controller/config_check.h"
#include "controller/controller.h"
#include "net/address.h"
#include "yaml/strict_map.h"

namespace stowage::controller {
namespace {

std::string error_of(const std::string& text) {
  const auto config = parse_config(text, "c.yaml");
  return config ? "accepted" : config.error().message;
}

TEST(Config, ATextThatIsNoDocumentIsRefusedAndNotReadForEver) {
  EXPECT_EQ(error_of(","), "c.yaml: more than one YAML document");
  EXPECT_EQ(error_of("a: 1\n---\nb: 2\n"), "c.yaml: more than one YAML document");
}

TEST(Config, AnEmptyFileHasTheBuiltInProfiles) {
  const auto config = parse_config("", "c.yaml");
  ASSERT_TRUE(config) << config.error().message;
  std::vector<std::string> names;
  for (const auto& profile : config->profiles) names.push_back(profile.name);
  EXPECT_EQ(names, (std::vector<std::string>{"stowage", "toyscheduler", "alnair-cost-saving",
                                             "alnair-high-performance", "gpu-scheduler",
                                             "vgpu-scheduler"}));
  EXPECT_EQ(config->listen, "127.0.0.1:10360");
  EXPECT_TRUE(config->engine.preemption);
  EXPECT_EQ(config->engine.patience_ns, 60'000'000'000) << "a minute";
  EXPECT_EQ(config->volume_timeout, std::chrono::minutes{10});
}

TEST(Config, MemoryWithCoreIsProportionalOrNone) {
  const auto config = parse_config(
      "apiVersion: stowage.dev/v1alpha1\nkind: ControllerConfig\n"
      "profiles: [{name: stowage, memoryWithCore: half}]\n",
      "c.yaml");
  ASSERT_FALSE(config);
  EXPECT_NE(config.error().message.find("\"half\" is not known; write proportional or none"),
            std::string::npos)
      << config.error().message;
}

TEST(Config, EverythingCanBeSaid) {
  const auto config = parse_config(
      "apiVersion: stowage.dev/v1alpha1\n"
      "kind: ControllerConfig\n"
      "profiles:\n"
      "- name: gpu-scheduler\n"
      "  floorWholeCards: true\n"
      "- name: mine\n"
      "  policy: fgd/spread\n"
      "  holdBack: true\n"
      "  memoryWithCore: none\n"
      "  picker: {url: 'http://127.0.0.1:8900/pick', timeout: 20ms, candidates: 8, "
      "maxInFlight: 5}\n"
      "preemption: false\n"
      "reservation: {pendingThreshold: 5m, nodesPerReservation: 10, timeout: 2h}\n"
      "volumes: {bindTimeout: 30s}\n"
      "listen: 0.0.0.0:9000\n"
      "api: {qps: 100, burst: 10, maxBindsInFlight: 7}\n"
      "events: {qps: 5, burst: 6}\n"
      "log: {level: debug, format: json}\n",
      "c.yaml");
  ASSERT_TRUE(config) << config.error().message;
  ASSERT_EQ(config->profiles.size(), 2U);
  EXPECT_TRUE(config->profiles[0].reading.floor_whole_cards);
  EXPECT_EQ(core::to_text(config->profiles[0].policy.choice), "tightest");
  EXPECT_EQ(core::to_text(config->profiles[1].policy.choice), "fgd/spread");
  EXPECT_TRUE(config->profiles[1].policy.hold_back);
  EXPECT_EQ(config->profiles[0].reading.memory_with_core, dialect::MemoryWithCore::proportional);
  EXPECT_EQ(config->profiles[1].reading.memory_with_core, dialect::MemoryWithCore::none);
  EXPECT_FALSE(config->profiles[0].picker);
  EXPECT_EQ(config->profiles[0].policy.picker_candidates, 0);
  ASSERT_TRUE(config->profiles[1].picker);
  EXPECT_EQ(config->profiles[1].picker->url, "http://127.0.0.1:8900/pick");
  EXPECT_EQ(config->profiles[1].picker->timeout, std::chrono::milliseconds{20});
  EXPECT_EQ(config->profiles[1].picker->in_flight_max, 5U);
  EXPECT_EQ(config->profiles[1].policy.picker_candidates, 8);
  EXPECT_FALSE(config->engine.preemption);
  EXPECT_EQ(config->engine.patience_ns, 300'000'000'000);
  EXPECT_EQ(config->engine.nodes_per_nomination, 10);
  EXPECT_EQ(config->engine.nomination_ns, 7'200'000'000'000);
  EXPECT_EQ(config->volume_timeout, std::chrono::seconds{30});
  EXPECT_EQ(config->listen, "0.0.0.0:9000");
  EXPECT_EQ(config->api.binds_in_flight, 7U);
  EXPECT_EQ(config->api.calls_per_second, 100);
  EXPECT_EQ(config->events.burst, 6);
  EXPECT_EQ(config->log.level, base::LogLevel::debug);
  EXPECT_EQ(config->log.format, base::LogFormat::json);
}

TEST(Config, MistakesNameFileLineKeyAndWhatWasMeant) {
  struct Row {
    const char* name;
    const char* text;
    const char* error;
  };
  const Row rows[] = {
      {"an unknown key", "profils: []\n",
       "c.yaml:1: profils: unknown key; did you mean \"profiles\"?"},
      {"an unknown key inside", "log:\n  levl: info\n",
       "c.yaml:2: log.levl: unknown key; did you mean \"level\"?"},
      {"nothing like it", "log: {zzzzzzzzzz: 1}\n",
       "c.yaml:1: log.zzzzzzzzzz: unknown key; known are level, format"},
      {"in a list", "profiles:\n- name: stowage\n- nam: x\n",
       "c.yaml:3: profiles[1].name: a profile needs a name: the schedulerName of pods"},
      {"twice", "profiles:\n- name: stowage\n- name: stowage\n",
       "c.yaml:3: profiles[1].name: \"stowage\" appears twice"},
      {"a key twice", "listen: a:1\nlisten: b:1\n", "c.yaml:2: listen: the key appears twice"},
      {"no policy", "profiles: [{name: mine}]\n",
       "c.yaml:1: profiles[0].policy: a profile of your own needs a policy, e.g. policy: "
       "dual-price"},
      {"no profile", "profiles: []\n", "c.yaml:1: profiles: at least one profile is needed"},
      {"not a list", "profiles: 3\n", "c.yaml:1: profiles: expected a list, found \"3\""},
      {"not a mapping", "log: info\n", "c.yaml:1: log: expected a mapping of keys, found \"info\""},
      {"a list of texts", "profiles: [stowage]\n",
       "c.yaml:1: profiles[0]: expected a mapping of keys, found \"stowage\""},
      {"not a number", "api: {burst: many}\n",
       "c.yaml:1: api.burst: expected a number from 1 to 1000000, found \"many\""},
      {"out of range", "api: {maxBindsInFlight: 0}\n",
       "c.yaml:1: api.maxBindsInFlight: expected a number from 1 to 10000, found \"0\""},
      {"not whole", "api: {maxBindsInFlight: 1.5}\n",
       "c.yaml:1: api.maxBindsInFlight: expected a whole number, found 1.5"},
      {"not a truth", "profiles: [{name: stowage, holdBack: maybe}]\n",
       "c.yaml:1: profiles[0].holdBack: expected true or false, found \"maybe\""},
      {"another version", "apiVersion: v2\n",
       "c.yaml:1: apiVersion: this program reads stowage.dev/v1alpha1"},
      {"a log level", "log:\n  level: loud\n",
       "c.yaml:2: log.level: unknown log level \"loud\": write debug, info, warn or error"},
      {"a picker without an address", "profiles: [{name: stowage, picker: {timeout: 1s}}]\n",
       "c.yaml:1: profiles[0].picker.url: the address of the picker is missing; write e.g. "
       "http://127.0.0.1:8900/pick or unix:/run/picker.sock"},
      {"a picker by https", "profiles: [{name: stowage, picker: {url: 'https://a'}}]\n",
       "c.yaml:1: profiles[0].picker.url: write http:// or unix: for a picker on the same machine; "
       "https:// is not supported"},
      {"one candidate", "profiles: [{name: stowage, picker: {url: 'unix:/p', candidates: 1}}]\n",
       "c.yaml:1: profiles[0].picker.candidates: expected a number from 2 to 1000, found \"1\""},
      {"a time without a unit", "reservation: {pendingThreshold: 60}\n",
       "c.yaml:1: reservation.pendingThreshold: expected a time from 0s to 168h, e.g. 50ms, 60s, "
       "10m or "
       "1h, found \"60\""},
      {"a time that is too long", "volumes: {bindTimeout: 25h}\n",
       "c.yaml:1: volumes.bindTimeout: expected a time from 1s to 24h, e.g. 50ms, 60s, 10m or 1h, "
       "found \"25h\""},
      {"a time that is a list", "reservation: {timeout: [1h]}\n",
       "c.yaml:1: reservation.timeout: expected a time from 1s to 168h, e.g. 50ms, 60s, 10m or 1h, "
       "found a list"},
      {"a key of a reservation", "reservation: {pendingTreshold: 1s}\n",
       "c.yaml:1: reservation.pendingTreshold: unknown key; did you mean \"pendingThreshold\"?"},
      {"preemption that is no truth", "preemption: 1\n",
       "c.yaml:1: preemption: expected true or false, found \"1\""},
      {"two documents", "{}\n---\n{}\n", "c.yaml: more than one YAML document"},
      {"a text", "hello\n", "c.yaml: expected a mapping of keys, found \"hello\""},
  };
  for (const auto& row : rows) EXPECT_EQ(error_of(row.text), row.error) << row.name;
  EXPECT_TRUE(error_of("a: [\n").starts_with("c.yaml:")) << error_of("a: [\n");
  EXPECT_NE(error_of("profiles: [{name: x, policy: dual-prise}]\n").find("dual-pri"),
            std::string::npos);
}

TEST(Duration, IsANumberWithAUnit) {
  using std::chrono::nanoseconds;
  EXPECT_EQ(yaml::parse_duration("50ms"), nanoseconds{50'000'000});
  EXPECT_EQ(yaml::parse_duration("0"), nanoseconds{0});
  EXPECT_EQ(yaml::parse_duration("0s"), nanoseconds{0});
  EXPECT_EQ(yaml::parse_duration("1h"), nanoseconds{3'600'000'000'000});
  for (const char* bad : {"", "s", "5", "-1s", "1.5s", " 1s", "1s ", "1d", "1m30s", "ms",
                          "99999999999999999999h", "1000000000h"}) {
    EXPECT_FALSE(yaml::parse_duration(bad)) << bad;
  }
  for (const char* same : {"50ms", "0s", "60s", "90s", "10m", "2h"}) {
    const std::string text = yaml::to_text(*yaml::parse_duration(same));
    EXPECT_EQ(yaml::parse_duration(text), yaml::parse_duration(same)) << text;
  }
  EXPECT_EQ(yaml::to_text(std::chrono::seconds{90}), "90s");
  EXPECT_EQ(yaml::to_text(std::chrono::seconds{60}), "1m");
}

TEST(Config, AFileThatIsNotThereIsSaid) {
  EXPECT_EQ(load_config("/nonexistent/c.yaml").error().message,
            "cannot read /nonexistent/c.yaml: No such file or directory");
}

// A folder must not count as an empty text, which would be the configuration without a file.
TEST(Config, AFolderIsNoConfiguration) {
  const auto config = load_config("/");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().message, "cannot read /: Is a directory");
}

TEST(Listen, AddressesAreTakenApart) {
  const auto text = [](const std::string& from) {
    const auto address = net::parse_listen(from);
    return address ? address->host + " " + std::to_string(address->port) : "error";
  };
  EXPECT_EQ(text("127.0.0.1:80"), "127.0.0.1 80");
  EXPECT_EQ(text("[::1]:80"), "::1 80");
  EXPECT_EQ(text(":80"), "0.0.0.0 80");
  for (const char* bad : {"", "80", "a:b", "::1:80", "a:70000", "a:-1", "a:"}) {
    EXPECT_EQ(text(bad), "error") << bad;
  }
}

TEST(Config, LeaderElectionIsOnAndItsTimesAreChecked) {
  const auto plain = parse_config("", "c.yaml");
  ASSERT_TRUE(plain);
  EXPECT_TRUE(plain->leader_election.enabled);
  EXPECT_TRUE(plain->engine.evict_conflicts);
  const auto config = parse_config(
      "leaderElection: {enabled: true, namespace: gpu, name: mine, leaseDuration: 2s, "
      "renewDeadline: 1500ms, retryPeriod: 500ms, advertiseAddress: 10.0.0.1}\nconflicts: report\n",
      "c.yaml");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->leader_election.ns, "gpu");
  EXPECT_EQ(config->leader_election.name, "mine");
  EXPECT_EQ(config->leader_election.lease_duration, std::chrono::seconds{2});
  EXPECT_EQ(config->leader_election.renew_deadline, std::chrono::milliseconds{1500});
  EXPECT_EQ(config->leader_election.retry_period, std::chrono::milliseconds{500});
  EXPECT_EQ(config->leader_election.advertise, "10.0.0.1");
  EXPECT_FALSE(config->engine.evict_conflicts);
  struct Row {
    const char* text;
    const char* key;
  };
  for (const Row& row :
       {Row{"leaderElection: {leaseDuration: 10s}", "renewDeadline"},
        Row{"leaderElection: {leaseDuration: 1500ms}", "leaseDuration"},
        Row{"leaderElection: {leaseDuration: 0}", "leaseDuration"},
        Row{"leaderElection: {retryPeriod: 7s}", "retryPeriod"},
        Row{"leaderElection: {retryPeriod: 1ms}", "retryPeriod"},
        Row{"leaderElection: {name: A_b}", "name"},
        Row{"leaderElection: {namespace: a/b}", "namespace"},
        Row{"leaderElection: {advertiseAddress: 'http://x:1'}", "advertiseAddress"},
        Row{"leaderElection: {lease: 1}", "lease"}, Row{"conflicts: fight", "conflicts"}}) {
    EXPECT_NE(error_of(row.text).find(row.key), std::string::npos) << error_of(row.text);
    EXPECT_NE(error_of(row.text), "accepted") << row.text;
  }
}

TEST(Config, AnExtenderSaysHowTheLeaderIsReached) {
  const std::string tls = "extenders: [{tls: {certFile: c, keyFile: k}, forward: ";
  const auto config =
      parse_config(tls + "{caFile: a, certFile: x, keyFile: y, serverName: n}}]", "c.yaml");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->extenders[0].forward,
            (extender::ForwardTls{.ca = "a", .certificate = "x", .key = "y", .server_name = "n"}));
  EXPECT_NE(error_of(tls + "{certFile: x}}]").find("set both"), std::string::npos);
  EXPECT_NE(error_of("extenders: [{forward: {caFile: a}}]").find("forward needs tls"),
            std::string::npos);
}

TEST(Config, AgentsReportNowhereUnlessItIsSaidWhere) {
  const auto plain = parse_config("", "c.yaml");
  ASSERT_TRUE(plain);
  EXPECT_TRUE(plain->agents.listen.empty());
  EXPECT_EQ(plain->agents.silent_after, std::chrono::seconds{3});
  EXPECT_EQ(plain->engine.silent_nodes, core::SilentNodes::use);
  const auto config = parse_config(
      "agents: {listen: \"127.0.0.1:10362\", allowedUsers: [a, b], silentAfter: 5s, loadMaxAge: "
      "1m, "
      "silentNodes: refuse}",
      "c.yaml");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->agents.listen, "127.0.0.1:10362");
  EXPECT_EQ(config->agents.accounts, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(config->agents.load_counts, std::chrono::seconds{60});
  EXPECT_EQ(config->engine.silent_nodes, core::SilentNodes::refuse);
  struct Row {
    const char* text;
    const char* words;
  };
  for (const Row& row :
       {Row{"agents: {silentNodes: forget}", "use, avoid or refuse"},
        Row{"agents: {allowedUsers: a}", "expected a list"},
        Row{"agents: {listen: \"0.0.0.0:1\"}", "unencrypted"},
        Row{"agents: {listen: here}", "agents.listen"}, Row{"agents: {certFile: a}", "set both"},
        Row{"agents: {allowedUsers: [a, [b]]}", "agents.allowedUsers[1]"},
        Row{"agents: {silentAfter: 1ms}", "silentAfter"}, Row{"agents: {listens: x}", "listen"}}) {
    const auto wrong = parse_config(row.text, "c.yaml");
    ASSERT_FALSE(wrong) << row.text;
    EXPECT_NE(wrong.error().message.find(row.words), std::string::npos) << wrong.error().message;
  }
}

TEST(Config, TheMetricsApiMakesCertificatesAndListensWhereAgentsReport) {
  EXPECT_FALSE(parse_config("", "c.yaml")->metrics_api.enabled);
  const auto config = parse_config("metricsApi: {enabled: true}", "c.yaml");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_TRUE(config->metrics_api.enabled);
  EXPECT_EQ(config->agents.listen, "0.0.0.0:10362");
  EXPECT_EQ(config->metrics_api.service, "stowage-agents");
  const auto all = parse_config(
      "agents: {listen: \"0.0.0.0:1\"}\n"
      "extenders: [{preset: nvidia-gpu-scheduler}]\n"
      "metricsApi: {enabled: true, service: s, namespace: n, secret: x, apiService: none, "
      "caConfigMap: none, extender: nvidia-gpu-scheduler, checkEvery: 1m}",
      "c.yaml");
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->metrics_api, (Config::MetricsApi{.enabled = true,
                                                  .service = "s",
                                                  .ns = "n",
                                                  .secret = "x",
                                                  .api_service = "",
                                                  .ca_map = "",
                                                  .extender = "nvidia-gpu-scheduler",
                                                  .check_every = std::chrono::minutes{1}}));
  struct Row {
    const char* text;
    const char* words;
  };
  for (const Row& row : {Row{"metricsApi: {enabled: true, service: \"\"}", "metricsApi.service"},
                         Row{"metricsApi: {enabled: maybe}", "metricsApi.enabled"},
                         Row{"metricsApi: {extender: nobody}", "no extender is named \"nobody\""},
                         Row{"metricsApi: {checkEvery: 1ms}", "checkEvery"},
                         Row{"metricsApi: {enable: true}", "enabled"}}) {
    const auto wrong = parse_config(row.text, "c.yaml");
    ASSERT_FALSE(wrong) << row.text;
    EXPECT_NE(wrong.error().message.find(row.words), std::string::npos) << wrong.error().message;
  }
}

TEST(ConfigCheckTest, TwoListenersDoNotShareAPort) {
  struct Row {
    const char* text;
    const char* words;  // empty: valid
  };
  const Row rows[] = {
      {"extenders: [{preset: gpu-admission}, {preset: vgpu-manager}]\n",
       "the extender gpu-admission and the extender vgpu-manager both listen on 127.0.0.1:3456"},
      {"extenders: [{preset: stowage}, {preset: alnair}]\n", "both listen on 0.0.0.0:10361"},
      {"listen: 127.0.0.1:10361\nextenders: [{preset: stowage}]\n",
       "health and metrics (listen) and the extender stowage"},
      {"listen: 127.0.0.1:10362\nagents: {listen: \"127.0.0.1:10362\"}\n",
       "agents (agents.listen)"},
      {"listen: 127.0.0.1:0\nagents: {listen: \"127.0.0.1:0\"}\n", ""},
      {"extenders:\n- {preset: gpu-admission, listen: \"127.0.0.1:1\"}\n"
       "- {preset: vgpu-manager, listen: \"127.0.0.2:1\"}\n",
       ""},
  };
  for (const Row& row : rows) {
    const auto config = parse_config(row.text, "c.yaml");
    if (*row.words == '\0') {
      EXPECT_TRUE(config) << config.error().message;
      continue;
    }
    ASSERT_FALSE(config) << row.text;
    EXPECT_NE(config.error().message.find(row.words), std::string::npos) << config.error().message;
  }
}

TEST(ConfigCheckTest, ANameThatKubeSchedulerAnswersToIsPointedOut) {
  const auto left = parse_config("extenders: [{preset: gpu-admission}]\n", "c.yaml");
  ASSERT_TRUE(left);
  EXPECT_TRUE(warnings_of(*left).empty());
  EXPECT_EQ(left->profiles.size(), scheduler::built_in_profiles().size() - 1)
      << "where none are listed, gpu-scheduler is left to kube-scheduler";
  const auto both = parse_config(
      "profiles: [{name: gpu-scheduler}]\nextenders: [{preset: gpu-admission}]\n", "c.yaml");
  ASSERT_TRUE(both);
  ASSERT_EQ(warnings_of(*both).size(), 1U);
  EXPECT_EQ(
      warnings_of(*both)[0].find("the profile gpu-scheduler has the name of the kube-scheduler"),
      0U);
  const auto one =
      parse_config("profiles: [{name: stowage}]\nextenders: [{preset: gpu-admission}]\n", "c.yaml");
  ASSERT_TRUE(one);
  EXPECT_TRUE(warnings_of(*one).empty());
  const auto without = parse_config("", "c.yaml");
  ASSERT_TRUE(without);
  EXPECT_TRUE(warnings_of(*without).empty()) << "without an extender all names are ours";
}

TEST(ConfigCheckTest, AnExtenderThatIsOpenToEverybodyIsPointedOut) {
  const auto open = [](const std::string& extender) {
    const auto config = parse_config("extenders: [" + extender + "]\n", "c.yaml");
    if (!config) return config.error().message;
    const auto warnings = warnings_of(*config);
    return warnings.empty() ? std::string() : warnings[0];
  };
  EXPECT_EQ(open("{preset: elastic-gpu-scheduler}"),
            "the extender elastic-gpu-scheduler listens on 0.0.0.0:39999 without client "
            "certificates: every client that can connect may bind pods. Set listen to "
            "127.0.0.1:39999, or set tls.clientCAFile");
  EXPECT_EQ(open("{preset: elastic-gpu-scheduler, listen: \"127.0.0.1:39999\"}"), "");
  EXPECT_EQ(
      open("{preset: elastic-gpu-scheduler, tls: {certFile: a, keyFile: b, clientCAFile: c}}"), "");
  EXPECT_NE(open("{preset: elastic-gpu-scheduler, tls: {certFile: a, keyFile: b}}"), "");
}

// Run in the root of the repository.
TEST(Config, TheExampleOfTheDocumentationIsAccepted) {
  const std::string page = base::read_file("docs/configuration.md", 1U << 20U).value();
  const std::size_t begin = page.find("```yaml\n") + 8;
  const auto config = parse_config(page.substr(begin, page.find("```\n", begin) - begin), "page");
  EXPECT_TRUE(config) << config.error().message;
}

// Run in the root of the repository. The shipped manifests have the scheduler names that the README
// lists, and no shipped kube-scheduler has a name that its preset does not contain.
TEST(ConfigCheckTest, TheNamesInWhatShipsAreThoseThatTheCodeKnows) {
  const auto text_of = [](const std::string& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  };
  const std::string deployed = text_of("deploy/stowage.yaml");
  const std::string readme = text_of("README.md");
  for (const auto& profile : scheduler::built_in_profiles()) {
    EXPECT_NE(deployed.find("- name: " + profile.name), std::string::npos) << profile.name;
    EXPECT_NE(readme.find(profile.name), std::string::npos) << profile.name;
  }
  for (const std::string& name : extender::preset_names()) {
    const auto options = extender::preset(name);
    ASSERT_TRUE(options);
    const std::string shipped = text_of("deploy/extender/" + name + ".yaml");
    for (const std::string& kube_name : options->kube_names) {
      EXPECT_NE(shipped.find("schedulerName: " + kube_name), std::string::npos)
          << name << " " << kube_name;
    }
  }
}

TEST(Config, SigningKeysAreInASecretOrInAFile) {
  const auto plain = parse_config("", "c.yaml");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->signing.secret, "stowage-signing-key");
  EXPECT_EQ(plain->signing.key_file, "");
  const auto file = parse_config(
      "signing: {keyFile: /k.pem, unsignedUntil: \"1970-01-02T00:00:00Z\", namespace: n}",
      "c.yaml");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->signing.key_file, "/k.pem");
  EXPECT_EQ(file->signing.unsigned_until, 86'400);
  for (const auto& [text, words] :
       {std::pair{"signing: {secret: \"\"}", "signing.secret"},
        std::pair{"signing: {configMap: A}", "signing.configMap"},
        std::pair{"signing: {namespace: \"a b\"}", "signing.namespace"},
        std::pair{"signing: {keyFile: k, unsignedUntil: yesterday}", "signing.unsignedUntil"},
        std::pair{"signing: {unsignedUntil: \"1970-01-02T00:00:00Z\"}", "only with keyFile"}}) {
    const auto bad = parse_config(text, "c.yaml");
    ASSERT_FALSE(bad) << text;
    EXPECT_NE(bad.error().message.find(words), std::string::npos) << bad.error().message;
  }
}

TEST(Config, SomeKeysNeedARestart) {
  const auto old = parse_config("", "c.yaml");
  auto fresh = parse_config(
      "{listen: \"127.0.0.1:7\", api: {maxBindsInFlight: 7}, log: {format: json, level: debug}}",
      "c.yaml");
  ASSERT_TRUE(old && fresh);
  EXPECT_EQ(keys_that_need_restart(*old, *old), std::vector<std::string>{});
  EXPECT_EQ(keys_that_need_restart(*old, *fresh),
            (std::vector<std::string>{"listen", "api", "log.format"}));
  keep_until_restart(*old, *fresh);
  EXPECT_EQ(fresh->listen, old->listen);
  EXPECT_EQ(fresh->api, old->api);
  EXPECT_EQ(fresh->log.level, base::LogLevel::debug) << "it counts at once";
}

}  // namespace
}  // namespace stowage::controller
