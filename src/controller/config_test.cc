#include "controller/config.h"

#include <gtest/gtest.h>

#include "controller/controller.h"
#include "controller/exposition.h"
#include "net/address.h"

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
                                             "alnair-high-performance", "gpu-scheduler"}));
  EXPECT_EQ(config->listen, "127.0.0.1:10360");
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
      "listen: 0.0.0.0:9000\n"
      "api: {callsPerSecond: 100, burst: 10, bindsInFlight: 7}\n"
      "events: {perSecond: 5, burst: 6}\n"
      "log: {level: debug, format: json}\n",
      "c.yaml");
  ASSERT_TRUE(config) << config.error().message;
  ASSERT_EQ(config->profiles.size(), 2U);
  EXPECT_TRUE(config->profiles[0].reading.floor_whole_cards);
  EXPECT_EQ(core::to_text(config->profiles[0].policy.choice), "tightest");
  EXPECT_EQ(core::to_text(config->profiles[1].policy.choice), "fgd/spread");
  EXPECT_TRUE(config->profiles[1].policy.hold_back);
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
       "c.yaml:3: profiles[1].name: \"stowage\" is there twice"},
      {"a key twice", "listen: a:1\nlisten: b:1\n", "c.yaml:2: listen: the key is there twice"},
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
      {"out of range", "api: {bindsInFlight: 0}\n",
       "c.yaml:1: api.bindsInFlight: expected a number from 1 to 10000, found \"0\""},
      {"not whole", "api: {bindsInFlight: 1.5}\n",
       "c.yaml:1: api.bindsInFlight: expected a whole number, found 1.5"},
      {"not a truth", "profiles: [{name: stowage, holdBack: maybe}]\n",
       "c.yaml:1: profiles[0].holdBack: expected true or false, found \"maybe\""},
      {"another version", "apiVersion: v2\n",
       "c.yaml:1: apiVersion: this program reads stowage.dev/v1alpha1"},
      {"a log level", "log:\n  level: loud\n",
       "c.yaml:2: log.level: unknown log level \"loud\": debug, info, warn or error"},
      {"two documents", "{}\n---\n{}\n", "c.yaml: more than one YAML document"},
      {"a text", "hello\n", "c.yaml: expected a mapping of keys, found \"hello\""},
  };
  for (const auto& row : rows) EXPECT_EQ(error_of(row.text), row.error) << row.name;
  EXPECT_TRUE(error_of("a: [\n").starts_with("c.yaml:")) << error_of("a: [\n");
  EXPECT_NE(error_of("profiles: [{name: x, policy: dual-prise}]\n").find("dual-pri"),
            std::string::npos);
}

TEST(Config, AFileThatIsNotThereIsSaid) {
  EXPECT_EQ(load_config("/nonexistent/c.yaml").error().message,
            "cannot read the configuration /nonexistent/c.yaml");
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

TEST(Exposition, WritesFamiliesAndEscapesLabels) {
  Exposition out;
  out.counter("x_total", "Xs.", 3);
  out.family("y", Exposition::Type::gauge, "Ys.");
  out.sample(0.5, {{"a", "1"}, {"b", "q\"\\\n"}});
  EXPECT_EQ(out.take(),
            "# HELP x_total Xs.\n# TYPE x_total counter\nx_total 3\n"
            "# HELP y Ys.\n# TYPE y gauge\ny{a=\"1\",b=\"q\\\"\\\\\\n\"} 0.5\n");
}

}  // namespace
}  // namespace stowage::controller
