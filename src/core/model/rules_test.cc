#include "core/model/rules.h"

#include <gtest/gtest.h>

namespace stowage::core {
namespace {

using Op = Requirement::Op;

struct TaintRow {
  const char* name;
  Toleration toleration;
  Taint taint;
  bool tolerated;
};

TEST(Rules, TolerationsAgainstTaints) {
  const auto exists = Toleration::Op::exists;
  const auto equal = Toleration::Op::equal;
  const Taint gpu{.key = "gpu", .value = "a100", .effect = TaintEffect::no_schedule};
  const TaintRow rows[] = {
      {"same key and value", {"gpu", equal, "a100", {}}, gpu, true},
      {"another value", {"gpu", equal, "h100", {}}, gpu, false},
      {"another key", {"cpu", equal, "a100", {}}, gpu, false},
      {"exists needs no value", {"gpu", exists, "", {}}, gpu, true},
      {"exists without key tolerates all", {"", exists, "", {}}, gpu, true},
      {"equal without key tolerates nothing", {"", equal, "a100", {}}, gpu, false},
      {"same effect", {"gpu", exists, "", TaintEffect::no_schedule}, gpu, true},
      {"another effect", {"gpu", exists, "", TaintEffect::no_execute}, gpu, false},
      {"empty values are equal", {"x", equal, "", {}}, {.key = "x", .value = ""}, true},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(tolerates({row.toleration}, row.taint), row.tolerated) << row.name;
  }
}

TEST(Rules, OnlyHardTaintsKeepPodsOff) {
  const Taint soft{.key = "s", .value = "", .effect = TaintEffect::prefer_no_schedule};
  const Taint hard{.key = "h", .value = "", .effect = TaintEffect::no_execute};
  EXPECT_EQ(untolerated({}, {soft}), nullptr);
  const std::vector<Taint> both{soft, hard};
  ASSERT_NE(untolerated({}, both), nullptr);
  EXPECT_EQ(untolerated({}, both)->key, "h");
  EXPECT_EQ(untolerated({{.key = "h", .op = Toleration::Op::exists}}, both), nullptr);
}

TEST(Rules, RequirementsAgainstLabels) {
  const Labels labels{{"zone", "b"}, {"cards", "8"}, {"word", "many"}};
  struct Row {
    const char* name;
    Requirement requirement;
    bool holds;
  };
  const Row rows[] = {
      {"in", {"zone", Op::in, {"a", "b"}}, true},
      {"not in the list", {"zone", Op::in, {"a"}}, false},
      {"in needs the label", {"nope", Op::in, {"a"}}, false},
      {"notin", {"zone", Op::not_in, {"a"}}, true},
      {"notin with the value", {"zone", Op::not_in, {"b"}}, false},
      {"notin holds without the label", {"nope", Op::not_in, {"b"}}, true},
      {"exists", {"zone", Op::exists, {}}, true},
      {"does not exist", {"zone", Op::does_not_exist, {}}, false},
      {"does not exist, and is not there", {"nope", Op::does_not_exist, {}}, true},
      {"greater", {"cards", Op::gt, {"7"}}, true},
      {"not greater than itself", {"cards", Op::gt, {"8"}}, false},
      {"less", {"cards", Op::lt, {"9"}}, true},
      {"words are not less", {"word", Op::lt, {"9"}}, false},
      {"a bound that is no number", {"cards", Op::gt, {"few"}}, false},
      {"two bounds", {"cards", Op::gt, {"1", "2"}}, false},
      {"no label to compare", {"nope", Op::lt, {"9"}}, false},
  };
  for (const auto& row : rows) {
    const NodeTerm term{.labels = {row.requirement}, .fields = {}};
    EXPECT_EQ(matches(term, "n", labels), row.holds) << row.name;
  }
}

TEST(Rules, TermsAreAlternativesAndRequirementsAddUp) {
  const Labels labels{{"a", "1"}};
  const NodeTerm has_a{.labels = {{"a", Op::exists, {}}}, .fields = {}};
  const NodeTerm has_b{.labels = {{"b", Op::exists, {}}}, .fields = {}};
  const NodeTerm both{.labels = {{"a", Op::exists, {}}, {"b", Op::exists, {}}}, .fields = {}};
  const NodeTerm named{.labels = {}, .fields = {{"metadata.name", Op::in, {"n"}}}};
  const NodeTerm other_field{.labels = {}, .fields = {{"metadata.uid", Op::in, {"n"}}}};
  NodeRules rules;
  EXPECT_TRUE(selects(rules, "n", labels));
  rules.required = {has_b, has_a};
  EXPECT_TRUE(selects(rules, "n", labels));
  rules.required = {both};
  EXPECT_FALSE(selects(rules, "n", labels));
  rules.required = {named};
  EXPECT_TRUE(selects(rules, "n", labels));
  EXPECT_FALSE(selects(rules, "m", labels));
  rules.required = {other_field};
  EXPECT_FALSE(selects(rules, "n", labels));
  rules.required = {NodeTerm{}};
  EXPECT_FALSE(selects(rules, "n", labels)) << "an empty term matches nothing";
  rules.required = std::vector<NodeTerm>{};
  EXPECT_FALSE(selects(rules, "n", labels)) << "no alternative";
  rules.required = {has_a};
  rules.selector = {{"a", "1"}};
  EXPECT_TRUE(selects(rules, "n", labels));
  rules.selector = {{"a", "2"}};
  EXPECT_FALSE(selects(rules, "n", labels)) << "selector and affinity both apply";
}

}  // namespace
}  // namespace stowage::core
