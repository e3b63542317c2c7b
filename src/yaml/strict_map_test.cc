#include "yaml/strict_map.h"

#include <gtest/gtest.h>

namespace stowage::yaml {
namespace {

using Source = StrictMap::Source;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// The error of reading a text like this; "good" if there was no error.
std::string verdict(std::string_view text, Source source = {}) {
  source.file = "f";
  auto map = StrictMap::parse(text, std::move(source));
  if (!map) return map.error().message;
  std::string name;
  std::vector<std::string> names;
  bool flag = false;
  double rate = 0;
  std::uint32_t count = 0;
  nanoseconds time{};
  map->text("name", name);
  map->texts("names", names);
  map->boolean("flag", flag);
  map->number("rate", {.min = 0, .max = 1}, rate);
  map->whole("count", {.min = 0, .max = 9}, count);
  map->duration("time", {.min = seconds{1}, .max = seconds{60}}, time);
  map->map("inner", [](StrictMap& inner) { static_cast<void>(inner.word("word", "a word")); });
  map->list(
      "list", [](StrictMap& entry) { static_cast<void>(entry.has("key")); }, 2);
  if (map->has("rows") && !map->rows("rows", {.rows_max = 2, .columns = 2})) {
    map->refuse("rows", "no rows");
  }
  const Status end = map->finish();
  return end ? "good" : end.error().message;
}

TEST(StrictMap, SaysWhatIsWrongAndWhere) {
  const struct {
    const char* text;
    const char* verdict;
  } rows[] = {
      {"", "good"},
      {"name: a\nnames: [b, c]\nflag: true\nrate: 0.5\ncount: 9\ntime: 50s\n", "good"},
      {"inner: {word: a}\nlist: [{key: 1}, {}]\nrows: [[1, 2], [a, b]]\n", "good"},
      {"[]", "f: expected a mapping of keys, found a list"},
      {"a: 1\n---\nb: 1\n", "f: more than one YAML document"},
      {"a: [", "f:1: end of sequence flow not found"},
      {"\nnam: a\n", "f:2: nam: unknown key; did you mean \"name\"?"},
      {"name: a\nname: b\n", "f:2: name: the key appears twice"},
      {"? [a]\n: 1\n", "f:1: ?: a key must be a text"},
      {"name: [a]\n", "f:1: name: expected a text, found a list"},
      {"names: [a, {}]\n", "f:1: names[1]: expected a text, found a mapping"},
      {"flag: yes\n", "f:1: flag: expected true or false, found \"yes\""},
      {"rate: 2\n", "f:1: rate: expected a number from 0 to 1, found \"2\""},
      {"count: 1.5\n", "f:1: count: expected a whole number, found 1.5"},
      {"time: 5\n",
       "f:1: time: expected a time from 1s to 1m, e.g. 50ms, 60s, 10m or 1h, found \"5\""},
      {"inner: 1\n", "f:1: inner: expected a mapping of keys, found \"1\""},
      {"inner:\n  word: []\n", "f:2: inner.word: expected a word, found a list"},
      {"list: {}\n", "f:1: list: expected a list, found a mapping"},
      {"list: [{}, 1]\n", "f:1: list[1]: expected a mapping of keys, found \"1\""},
      {"list: [{}, {}, {}]\n", "f:1: list: more than 2 entries"},
      {"list:\n- {kez: 1}\n", "f:2: list[0].kez: unknown key; did you mean \"key\"?"},
      {"rows: [[1, 2], [1]]\n", "f:1: rows: no rows"},
      {"rows: [[1, 2], [1, []]]\n", "f:1: rows: no rows"},
      {"rows: [[1, 2], [1, 2], [1, 2]]\n", "f:1: rows: no rows"},
  };
  for (const auto& row : rows) EXPECT_EQ(verdict(row.text), row.verdict) << row.text;
}

TEST(StrictMap, LimitsWhatOthersWrite) {
  const Source source{.limits = {.shown = 4, .key_hint = 3, .word = 2, .mappings = 1}};
  EXPECT_EQ(verdict("name: [a]\n", source), "f:1: name: expected a text, found a list");
  EXPECT_EQ(verdict("flag: maybe\n", source),
            "f:1: flag: expected true or false, found \"mayb...\"");
  EXPECT_EQ(verdict("nameless: 1\n", source).substr(0, 33), "f:1: name...: unknown key; known ");
  EXPECT_EQ(verdict("inner: {word: abc}\n", source),
            "f:1: inner.word: expected a word, found \"abc\"");
  EXPECT_EQ(verdict("list: [{}, {}]\n", source), "f:1: list...: more than 1 entries in all");
}

TEST(StrictMap, AMissingValueIsAtItsKeyIfAskedFor) {
  const char* text = "\nflag:\n\n\nname: a\n";
  EXPECT_EQ(verdict(text, {.null_at_key = true}),
            "f:2: flag: expected true or false, found nothing");
  EXPECT_NE(verdict(text), "good");
}

TEST(StrictMap, AnOldNameIsReadWithAWarning) {
  const auto read = [](std::string_view text, seconds& time, std::vector<std::string>& warnings) {
    auto map = StrictMap::parse(text, {.file = "f"});
    EXPECT_TRUE(map);
    map->map("inner", [&](StrictMap& inner) {
      inner.renamed({.old = "patience", .now = "threshold"});
      nanoseconds value = time;
      inner.duration("threshold", {.min = seconds{1}, .max = seconds{60}}, value);
      time = std::chrono::duration_cast<seconds>(value);
    });
    const Status end = map->finish();
    warnings = map->warnings();
    return end ? "good" : end.error().message;
  };
  seconds time{};
  std::vector<std::string> warnings;
  EXPECT_EQ(read("inner: {threshold: 5s}\n", time, warnings), "good");
  EXPECT_EQ(time, seconds{5});
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(read("inner:\n  patience: 7s\n", time, warnings), "good");
  EXPECT_EQ(time, seconds{7});
  EXPECT_EQ(warnings,
            std::vector<std::string>{"f:2: inner.patience: deprecated; use inner.threshold"});
  EXPECT_EQ(
      read("inner: {patience: 7s, threshold: 5s}\n", time, warnings),
      "f:1: inner.patience: the old name of threshold, which is set as well; remove one of them");
  EXPECT_EQ(read("inner: {patience: 7}\n", time, warnings),
            "f:1: inner.patience: expected a time from 1s to 1m, e.g. 50ms, 60s, 10m or 1h, found "
            "\"7\"");
  EXPECT_EQ(read("inner: {patient: 7s}\n", time, warnings),
            "f:1: inner.patient: unknown key; known are threshold");
}

TEST(StrictMap, AnErrorInsideOfARenamedKeyHasTheNameThatTheFileHas) {
  const auto error_in = [](const char* text) {
    auto map = StrictMap::parse(text, {.file = "f"});
    map->renamed({.old = "names", .now = "users"});
    map->renamed({.old = "parts", .now = "entries"});
    map->renamed({.old = "outer", .now = "group"});
    std::vector<std::string> names;
    std::string name;
    map->texts("users", names);
    map->list("entries", [&](StrictMap& entry) { entry.text("name", name); });
    map->map("group", [&](StrictMap& group) { group.text("name", name); });
    const Status end = map->finish();
    return end ? "good" : end.error().message;
  };
  EXPECT_EQ(error_in("names: [{a: b}]"), "f:1: names[0]: expected a text, found a mapping");
  EXPECT_EQ(error_in("users: [{a: b}]"), "f:1: users[0]: expected a text, found a mapping");
  EXPECT_EQ(error_in("parts: [a]"), "f:1: parts[0]: expected a mapping of keys, found \"a\"");
  EXPECT_EQ(error_in("parts: [{name: []}]"), "f:1: parts[0].name: expected a text, found a list");
  EXPECT_EQ(error_in("outer: {name: []}"), "f:1: outer.name: expected a text, found a list");
}

TEST(StrictMap, TheKeysOfAReaderAreListed) {
  const auto keys = StrictMap::keys_of([](StrictMap& root) {
    std::string name;
    std::uint32_t count = 0;
    root.text("name", name);
    if (!root.has("list")) return;
    root.list("list", [&](StrictMap& entry) {
      entry.renamed({.old = "number", .now = "count"});
      entry.whole("count", {.min = 1, .max = 9}, count);
      if (count == 0) entry.refuse("count", "is needed");
      entry.map("inner", [&](StrictMap& inner) { inner.text("name", name); });
    });
    static_cast<void>(root.finish());
  });
  const std::vector<StrictMap::Key> expected{{"name", "text", ""},
                                             {"list[].number", "", "list[].count"},
                                             {"list[].count", "whole number", ""},
                                             {"list[].inner.name", "text", ""}};
  EXPECT_EQ(keys, expected);
}

}  // namespace
}  // namespace stowage::yaml
