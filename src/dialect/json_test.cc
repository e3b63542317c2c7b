#include "dialect/json.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/json_writer.h"
#include "base/testing/json_check.h"

namespace stowage::dialect {
namespace {

TEST(AnnotationJson, ReadsValuesOfAllKinds) {
  const auto json =
      parse_json(R"( {"a":[1,-2.5e3,true,false,null],"b":{"c":"x\n\u00e4\ud83d\udea2"},
                                    "a":{} , "d":null} )");
  ASSERT_TRUE(json) << json.error().message;
  EXPECT_EQ(json->kind, Json::Kind::object);
  EXPECT_EQ(json->find("a")->kind, Json::Kind::object);  // the last one of a repeated key
  EXPECT_EQ(json->find("d"), nullptr);
  EXPECT_EQ(json->find("e"), nullptr);
  EXPECT_EQ(json->find("b")->find("c")->text, "x\n\xC3\xA4\xF0\x9F\x9A\xA2");
  const Json& list = json->elements[0];
  EXPECT_EQ(list.elements[0].integer(), 1);
  EXPECT_EQ(list.elements[1].integer(), std::nullopt);
  EXPECT_EQ(list.elements[1].text, "-2.5e3");
  EXPECT_TRUE(list.elements[2].truth);
  EXPECT_EQ(list.elements[2].integer(), std::nullopt);
  EXPECT_EQ(list.elements[3].kind, Json::Kind::boolean);
  EXPECT_EQ(list.elements[4].kind, Json::Kind::null);
  EXPECT_EQ(parse_json("9223372036854775808")->integer(), std::nullopt);
}

TEST(AnnotationJson, RefusesWhatIsNotJson) {
  for (const char* text : {"",
                           " ",
                           "{",
                           "}",
                           "[1,]",
                           "{\"a\":}",
                           "{\"a\"}",
                           "{a:1}",
                           "{,}",
                           "nul",
                           "truth",
                           "01",
                           "1.",
                           "1e",
                           "+1",
                           "-",
                           ".5",
                           "NaN",
                           "\"",
                           "\"\x01\"",
                           "\"\\x\"",
                           "\"\\u12\"",
                           "\"\\ud800\"",
                           "\"\\udc00\"",
                           "\"\\ud800\\u0041\"",
                           "\"\\u-123\"",
                           "[1] 2",
                           "[1 2]",
                           "'a'"}) {
    EXPECT_FALSE(parse_json(text)) << text;
    EXPECT_FALSE(base::JsonCheck::valid(text) &&
                 std::string_view(text).find("\\u") == std::string_view::npos)
        << text;
  }
  EXPECT_FALSE(parse_json(std::string_view("\"a\0\"", 4)));
  EXPECT_FALSE(parse_json(std::string_view("1\0", 2)));
  EXPECT_EQ(parse_json("\"x\xB9\"").error().message, "the text is not UTF-8");
}

TEST(AnnotationJson, LimitsDepthAndSize) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(parse_json(nested(kMaxJsonDepth)));
  EXPECT_FALSE(parse_json(nested(kMaxJsonDepth + 2)));
  EXPECT_FALSE(parse_json(std::string(100'000, '[')));
  EXPECT_FALSE(parse_json("\"" + std::string(kMaxJsonBytes, 'a') + "\""));
}

RC_GTEST_PROP(AnnotationJson, TextsComeBackAsTheyWereWritten, ()) {
  auto text = *rc::gen::string<std::string>();
  for (char& c : text) c = static_cast<char>(static_cast<unsigned char>(c) & 0x7FU);
  base::JsonWriter writer(base::JsonWriter::Style::compact);
  writer.begin_object().key(text).value(text).end_object();
  const auto json = parse_json(writer.take());
  RC_ASSERT(json);
  RC_ASSERT(json->keys.at(0) == text);
  RC_ASSERT(json->elements.at(0).text == text);
}

RC_GTEST_PROP(AnnotationJson, AgreesWithTheCheckOnWhatIsJson, ()) {
  const auto text = *rc::gen::container<std::string>(
      rc::gen::elementOf(std::string("{}[]\":,\\nu0123eE+-. trufalsn")));
  const bool good = parse_json(text).has_value();
  // JsonCheck does not check surrogates.
  if (good) RC_ASSERT(base::JsonCheck::valid(text));
  if (base::JsonCheck::valid(text) && text.find("\\u") == std::string::npos) RC_ASSERT(good);
}

}  // namespace
}  // namespace stowage::dialect
