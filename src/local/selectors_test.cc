#include "local/selectors.h"

#include <gtest/gtest.h>

#include "local/json.h"

namespace stowage::local {
namespace {

const Labels kLabels{{"app", "web"}, {"example.com/tier", "front"}, {"size", "7"}};

TEST(LabelSelector, MatchesAsTheApiDoes) {
  const std::pair<const char*, bool> rows[] = {
      {"", true},
      {"app", true},
      {"!app", false},
      {"!other", true},
      {"app=web", true},
      {"app==web", true},
      {"app=", false},
      {"app!=web", false},
      {"other!=web", true},
      {"app in (web,db)", true},
      {"app in (db)", false},
      {"app notin (db)", true},
      {"other notin (db)", true},
      {" app in ( web , db ) , size = 7 ", true},
      {"app=web,size=8", false},
      {"example.com/tier=front", true},
      {"size>6", true},
      {"size>7", false},
      {"size<8", true},
      {"app<8", false},
  };
  for (const auto& [text, wanted] : rows) {
    const auto selector = parse_label_selector(text);
    ASSERT_TRUE(selector) << text << ": " << selector.error().message;
    EXPECT_EQ(selector->matches(kLabels), wanted) << text;
  }
}

TEST(LabelSelector, RefusesWhatItCanNotRead) {
  for (const char* text :
       {"a=(", "a in b", "a in (b", "a,,b", "a,", "=b", "a=b=c", "a b", "a in ()x", "a/b/c",
        "a=b c", "a>x", "-a", "a=-b", "!", "(", "a in", "a notin"}) {
    const auto selector = parse_label_selector(text);
    ASSERT_FALSE(selector) << text;
    EXPECT_EQ(selector.error().code, 400) << text;
  }
}

TEST(LabelSelector, IsReadFromASpecAndWrittenAsText) {
  const auto spec = parse_json(
      R"({"matchLabels":{"b":"1"},"matchExpressions":[{"key":"a","operator":"In","values":["x",)"
      R"("y"]},
          {"key":"c","operator":"DoesNotExist"}]})");
  const auto selector = selector_of(spec->get_object());
  ASSERT_TRUE(selector);
  EXPECT_EQ(selector_text(*selector), "!c,a in (x,y),b=1");
  EXPECT_TRUE(selector->matches({{"a", "y"}, {"b", "1"}}));
  EXPECT_FALSE(selector->matches({{"a", "y"}, {"b", "1"}, {"c", ""}}));
  const auto odd = parse_json(R"({"matchExpressions":[{"key":"a","operator":"Like"}]})");
  EXPECT_FALSE(selector_of(odd->get_object()));
}

TEST(FieldSelector, KnowsTheFieldsOfTheKind) {
  const Resource& pods = resource_of(Kind::pod);
  const auto selector =
      parse_field_selector(pods, "spec.nodeName=n1,status.phase!=Failed,metadata.name==a\\,b");
  ASSERT_TRUE(selector);
  ASSERT_EQ(selector->all.size(), 3U);
  EXPECT_EQ(selector->all[0].field, *pods.field_index("spec.nodeName"));
  EXPECT_FALSE(selector->all[1].equal);
  EXPECT_EQ(selector->all[2].field, FieldRequirement::kName);
  EXPECT_EQ(selector->all[2].value, "a,b");
  EXPECT_TRUE(parse_field_selector(pods, "")->all.empty());
  EXPECT_EQ(parse_field_selector(pods, "spec.color=red").error().message,
            "field label not supported: spec.color");
  for (const char* text :
       {"spec.nodeName", "=x", "a!b", "spec.nodeName=a=b", "spec.nodeName=\\x"}) {
    EXPECT_FALSE(parse_field_selector(pods, text)) << text;
  }
  const Resource& events = resource_of(Kind::event);
  EXPECT_EQ(parse_field_selector(events, "regarding.name=x")->all[0].field,
            *events.field_index("involvedObject.name"));
}

}  // namespace
}  // namespace stowage::local
