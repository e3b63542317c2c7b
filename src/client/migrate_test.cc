#include "client/migrate.h"

#include <gtest/gtest.h>

#include "client/yaml_out.h"

namespace stowage::client {
namespace {

std::string migrated(const std::string& text) {
  const auto migration = migrate_scheduler_config(text, "f");
  return migration ? migration->yaml : migration.error().message;
}

TEST(MigrateTest, SaysWhatBecameOfEachSetting) {
  struct Row {
    const char* name;
    const char* stanza;  // of an extender
    const char* wanted;
  };
  const Row rows[] = {
      {"the spelling of HTTPS", "enableHttps: true", "enableHTTPS: true\n"},
      {"a timeout in nanoseconds", "httpTimeout: 30000000000", "httpTimeout: 30s\n"},
      {"a timeout below a second", "httpTimeout: 1500000", "httpTimeout: 1500000ns\n"},
      {"a timeout with a unit", "httpTimeout: 1m30s", "httpTimeout: 1m30s\n"},
      {"a timeout that is none", "httpTimeout: soon", "was \"soon\", which is not a duration"},
      {"a weight that is missing", "prioritizeVerb: p", "weight: 1\n"},
      {"a weight of zero", "prioritizeVerb: p\n  weight: 0", "weight: 1\n"},
      {"a large weight", "prioritizeVerb: p\n  weight: 20", "weight: 20\n"},
      {"a version of its own", "apiVersion: v1beta1", "# apiVersion: v1beta1 is left out"},
      {"a key that nobody knows", "colour: blue", "# colour of the extender is left out"},
      {"a flag that is none", "ignorable: 7", "ignorable was \"7\", neither true nor false"},
      {"a text that looks like a number", "filterVerb: \"1\"", "filterVerb: \"1\"\n"},
  };
  for (const Row& row : rows) {
    const std::string yaml = migrated(std::string("kind: Policy\napiVersion: v1\nextenders:\n"
                                                  "- urlPrefix: http://a\n  ") +
                                      row.stanza + "\n");
    EXPECT_NE(yaml.find(row.wanted), std::string::npos) << row.name << ":\n" << yaml;
  }
}

TEST(MigrateTest, AStanzaWithoutAKindIsUnderstood) {
  const std::string yaml = migrated("extenders:\n- urlPrefix: http://a\n  filterVerb: f\n");
  EXPECT_NE(yaml.find("a KubeSchedulerConfiguration without a kind"), std::string::npos) << yaml;
  EXPECT_NE(yaml.find("filterVerb: f\n"), std::string::npos);
}

TEST(MigrateTest, OneExtenderByItselfIsUnderstood) {
  const std::string yaml = migrated(
      R"({"urlPrefix": "http://127.0.0.1:39999/scheduler", "filterVerb": "filter",)"
      R"( "prioritizeVerb": "priorities", "bindVerb": "bind", "weight": 1, "ignorable": true,)"
      R"( "managedResources": [{"name": "elasticgpu.io/gpu-core"}]})");
  EXPECT_NE(yaml.find("extenders:\n"), std::string::npos) << yaml;
  EXPECT_NE(yaml.find("filterVerb: filter\n"), std::string::npos) << yaml;
  EXPECT_NE(yaml.find("# - the Deployment elastic-gpu-scheduler;"), std::string::npos) << yaml;
  EXPECT_NE(yaml.find("#   - preset: elastic-gpu-scheduler\n#     listen: 127.0.0.1:39999\n"),
            std::string::npos)
      << yaml;
  EXPECT_NE(yaml.find("errorIfNoNodeHelps: false"), std::string::npos)
      << "its errors are passed over, and with them the quota: " << yaml;
}

TEST(MigrateTest, KeysOfTlsAreSpeltAsTheyAreReadNow) {
  const std::string yaml = migrated(
      "extenders:\n- urlPrefix: https://a:8080/x\n  enableHttps: true\n  tlsConfig: {CAFile: /ca, "
      "CertFile: /c, keyFile: /k, Insecure: false, colour: 1}\n");
  for (const char* wanted : {"caFile: /ca\n", "certFile: /c\n", "keyFile: /k\n",
                             "insecure: false\n", "# CAFile is spelt caFile now."}) {
    EXPECT_NE(yaml.find(wanted), std::string::npos) << wanted << yaml;
  }
  EXPECT_EQ(yaml.find("  CAFile: "), std::string::npos) << yaml;
}

TEST(MigrateTest, TheControllerGetsItsConfiguration) {
  const auto migration = migrate_scheduler_config(
      "extenders:\n- urlPrefix: https://stowage.kube-system:8080/apis/metrics.nvidia.com/v1alpha1/"
      "schedule\n  filterVerb: filter\n  enableHTTPS: true\n",
      "f");
  ASSERT_TRUE(migration) << migration.error().message;
  EXPECT_EQ(
      migration->controller.find("apiVersion: stowage.dev/v1alpha1\nkind: ControllerConfig\n"), 0U);
  EXPECT_NE(migration->controller.find("- preset: nvidia-gpu-scheduler\n  listen: 0.0.0.0:8080\n"),
            std::string::npos)
      << migration->controller;
  EXPECT_NE(migration->controller.find("tls:\n"), std::string::npos);
  const auto behind = migrate_scheduler_config(
      "extenders:\n- urlPrefix: https://10.0.0.1:6443/apis/metrics.nvidia.com/v1alpha1/schedule\n"
      "  filterVerb: filter\n  enableHTTPS: true\n",
      "f");
  ASSERT_TRUE(behind);
  EXPECT_NE(behind->controller.find("  listen: 127.0.0.1:8080\n"), std::string::npos)
      << "6443 is the API server's: " << behind->controller;
  EXPECT_NE(behind->controller.find("metricsApi:\n  enabled: true\n  extender: nvidia-gpu-"),
            std::string::npos)
      << behind->controller;
  const auto none = migrate_scheduler_config("extenders:\n- urlPrefix: http://a/b\n", "f");
  ASSERT_TRUE(none);
  EXPECT_EQ(none->controller, "");
}

TEST(MigrateTest, NamesCanNotBreakOutOfAComment) {
  const std::string yaml =
      migrated("kind: Policy\napiVersion: v1\n\"a\\nextenders: [1]\\n#\": 1\n");
  EXPECT_NE(yaml.find("# a extenders: [1] # of the configuration is left out"), std::string::npos)
      << yaml;
}

TEST(MigrateTest, AProfileThatStowageHasTooIsPointedOut) {
  const std::string yaml = migrated(
      "kind: KubeSchedulerConfiguration\napiVersion: kubescheduler.config.k8s.io/v1beta3\n"
      "profiles:\n- schedulerName: gpu-scheduler\n");
  EXPECT_NE(yaml.find("the profile gpu-scheduler: `stowage controller` must not have"),
            std::string::npos);
}

TEST(YamlOutTest, LeavesOutWhatStaysEmpty) {
  YamlOut out;
  out.field("a", "yes").open("b").open_list("c").close().close();
  out.open_list("d").item().open("e").raw("f", "1").close().field("g", "x: y").close().close();
  out.comment("words");
  EXPECT_EQ(out.take(), "a: \"yes\"\nd:\n- e:\n    f: 1\n  g: \"x: y\"\n# words\n");
}

}  // namespace
}  // namespace stowage::client
