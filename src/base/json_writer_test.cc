#include "base/json_writer.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/testing/json_check.h"

namespace stowage::base {
namespace {

TEST(JsonWriter, WritesNestedValues) {
  JsonWriter json;
  json.begin_object();
  json.key("name").value("a \"b\"\n");
  json.key("count").value(std::int64_t{-3});
  json.key("large").value(std::numeric_limits<std::uint64_t>::max());
  json.key("share").value(95.12345, 2);
  json.key("absent").value(std::nullopt, 2);
  json.key("infinite").value(std::numeric_limits<double>::infinity(), 2);
  json.key("list").begin_array().value(std::int64_t{1}).value(std::int64_t{2}).end_array();
  json.key("empty").begin_object().end_object();
  json.end_object();
  const std::string text = json.take();
  EXPECT_EQ(text,
            "{\n"
            "  \"name\": \"a \\\"b\\\"\\n\",\n"
            "  \"count\": -3,\n"
            "  \"large\": 18446744073709551615,\n"
            "  \"share\": 95.12,\n"
            "  \"absent\": null,\n"
            "  \"infinite\": null,\n"
            "  \"list\": [\n    1,\n    2\n  ],\n"
            "  \"empty\": {}\n"
            "}\n");
  EXPECT_TRUE(JsonCheck::valid(text));
}

TEST(JsonWriter, WritesCompactText) {
  JsonWriter json(JsonWriter::Style::compact);
  json.begin_object();
  json.key("a").begin_array().value(1).value(2).boolean(true).null().raw("{}").end_array();
  json.key("b").value("x").key("c").begin_object().end_object();
  json.end_object();
  EXPECT_EQ(json.take(), R"({"a":[1,2,true,null,{}],"b":"x","c":{}})");
}

TEST(JsonWriter, ReplacesWhatIsNotUtf8) {
  EXPECT_EQ(json_escaped("\xC3\xA4"), "\xC3\xA4");
  EXPECT_EQ(json_escaped("\xF0\x9F\x9A\xA2"), "\xF0\x9F\x9A\xA2");
  EXPECT_EQ(json_escaped("a\xC3"), "a\xEF\xBF\xBD");
  EXPECT_EQ(json_escaped("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");  // a surrogate
  EXPECT_EQ(json_escaped("\xC0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD");                  // overlong
  EXPECT_EQ(json_escaped(std::string("\0\x1f", 2)), "\\u0000\\u001f");
}

RC_GTEST_PROP(JsonWriter, EveryTextCanBeReadBack, (const std::string& text)) {
  JsonWriter json;
  json.begin_array().value(text).end_array();
  RC_ASSERT(JsonCheck::valid(json.take()));
}

TEST(Utf8, IsDistinguishedFromOtherBytes) {
  EXPECT_TRUE(is_utf8("") && is_utf8("a") && is_utf8("\xC3\xA4\xE2\x82\xAC\xF0\x9F\x9A\xA2"));
  for (const char* text :
       {"\xFF", "a\xC3", "\x80", "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80"}) {
    EXPECT_FALSE(is_utf8(text)) << text;
  }
  EXPECT_EQ(utf8_length(""), 0U);
  EXPECT_EQ(utf8_length("\xE2\x82\xAC!"), 3U);
}

TEST(JsonCheck, KnowsWhatIsNotJson) {
  for (const char* text : {"", "{", "[1,]", "{\"a\":}", "{a:1}", "nul", "01", "1.", "\"\x01\"",
                           "\"\\x\"", "[1] 2", "NaN"}) {
    EXPECT_FALSE(JsonCheck::valid(text)) << text;
  }
}

}  // namespace
}  // namespace stowage::base
