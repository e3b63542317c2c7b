#include "client/yaml_json.h"

#include <gtest/gtest.h>

namespace stowage::client {
namespace {

std::string converted(std::string_view yaml, YamlLimits limits = {}) {
  const auto documents = yaml_to_json({.text = yaml, .file = "f", .limits = limits});
  if (!documents) return documents.error().message;
  std::string text;
  for (const auto& document : *documents) {
    text += (text.empty() ? "" : " | ") + document.json;
  }
  return text;
}

TEST(PlainScalarTest, FollowsTheCoreSchema) {
  struct Row {
    const char* yaml;
    const char* json;
  };
  const Row rows[] = {
      {"1", "1"},
      {"+1", "1"},
      {"007", "7"},
      {"-0", "-0"},
      {"1.5", "1.5"},
      {".5", "0.5"},
      {"-.5", "-0.5"},
      {"1.", "1"},
      {"1e3", "1e3"},
      {"1.e3", "1e3"},
      {"0x1f", "31"},
      {"0o17", "15"},
      {"true", "true"},
      {"FALSE", "false"},
      {"~", "null"},
      {"", "null"},
      {"yes", "\"yes\""},
      {"500m", "\"500m\""},
      {"1Gi", "\"1Gi\""},
      {"1.2.3", "\"1.2.3\""},
      {"-", "\"-\""},
      {".", "\".\""},
      {".inf", "\".inf\""},
      {"1e", "\"1e\""},
      {"0x", "\"0x\""},
      {"2024-01-01", "\"2024-01-01\""},
      {"nullx", "\"nullx\""},
  };
  for (const Row& row : rows) EXPECT_EQ(plain_scalar(row.yaml), row.json) << row.yaml;
}

TEST(YamlJsonTest, ConvertsDocuments) {
  EXPECT_EQ(converted("a: 1\nb: '1'\nc: [x, \"y\", null]\nd:\n  e: |\n    two\n    lines\n"),
            R"({"a":1,"b":"1","c":["x","y",null],"d":{"e":"two\nlines\n"}})");
  EXPECT_EQ(converted("---\n---\na: 1\n---\n# nothing\n---\nb:\n"), R"({"a":1} | {"b":null})");
  EXPECT_EQ(converted("nvidia.com/gpu: 1\ncpu: 500m\n"), R"({"nvidia.com/gpu":1,"cpu":"500m"})");
  EXPECT_EQ(converted("1: !!str 2\n"), R"({"1":"2"})");
  EXPECT_EQ(converted(""), "");
}

TEST(YamlJsonTest, AliasesRepeatWhatTheyName) {
  EXPECT_EQ(converted("a: &x {b: [1, 2]}\nc: *x\nd: &y text\ne: [*y, *y]\n"),
            R"({"a":{"b":[1,2]},"c":{"b":[1,2]},"d":"text","e":["text","text"]})");
}

TEST(YamlJsonTest, RemembersLines) {
  const auto documents = yaml_to_json(
      {.text = "\nkind: List\nitems:\n- a: 1\n  items: [1, 2]\n- b: 1\n", .file = "f"});
  ASSERT_TRUE(documents);
  ASSERT_EQ(documents->size(), 1U);
  EXPECT_EQ(documents->front().line, 2U);
  EXPECT_EQ(documents->front().item_lines, (std::vector<std::size_t>{4, 6}));
}

TEST(YamlJsonTest, HostileTextIsAnErrorWithItsPlace) {
  EXPECT_EQ(converted("a: 1\n---\na: b\n  c: d\n").substr(0, 24), "f: document 2, line 4: i");
  EXPECT_EQ(converted("a: *nobody\n").substr(0, 20), "f: document 1, line ");
  EXPECT_EQ(converted("a: &x [*x]\n"),
            "f: document 1, line 1: an alias refers to an anchor that contains it");
  EXPECT_EQ(converted("<<: {a: 1}\n"),
            "f: document 1, line 1: merge keys (<<) are not supported; write the fields out");
  EXPECT_EQ(converted("[a]: 1\n"),
            "f: document 1, line 1: a key is a list or a mapping; keys must be strings");
  EXPECT_EQ(converted("a: !thing 1\n"), "f: document 1, line 1: the tag !thing is not supported");
  EXPECT_EQ(converted(std::string(101, '[') + std::string(101, ']')),
            "f: document 1, line 1: more than 100 levels deep");
  EXPECT_NE(converted(std::string(100000, '[')).find("f: document 1, line 1"), std::string::npos);
}

TEST(YamlJsonTest, ABombOfAliasesStopsAtTheLimit) {
  std::string bomb = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n";
  for (int i = 1; i < 12; ++i) {
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) bomb += (j > 0 ? ", *a" : "*a") + std::to_string(i - 1);
    bomb += "]\n";
  }
  EXPECT_NE(converted(bomb, {.max_json_bytes = 1 << 20U}).find("expands to more than 1 MiB"),
            std::string::npos);
}

TEST(YamlToJson, AStrayCharacterIsAnErrorAndNotAWaitForEver) {
  for (const char* text : {",", ", 2]\nb: *x\nkind", "]", "}"}) {
    const auto documents = yaml_to_json({.text = text, .file = "f.yaml"});
    ASSERT_FALSE(documents.has_value()) << text;
    EXPECT_TRUE(documents.error().message.starts_with("f.yaml: document ")) << text;
  }
}

}  // namespace
}  // namespace stowage::client
