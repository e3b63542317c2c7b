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
      {"a timeout that is none", "httpTimeout: soon", "was \"soon\", which is no duration"},
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
  EXPECT_NE(yaml.find("the profile gpu-scheduler: it must not be one of"), std::string::npos);
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
