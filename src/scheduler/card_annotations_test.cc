#include "scheduler/card_annotations.h"

#include <gtest/gtest.h>

#include "dialect/dialect.h"

namespace stowage::scheduler {
namespace {

const core::NodeSpec kNode{.name = "n",
                           .cards = {{.id = "n/0", .index = 0}, {.id = "n/1", .index = 1}}};

dialect::PodObject pod_object() {
  dialect::PodObject pod;
  pod.ns = "ns";
  pod.name = pod.uid = "p";
  dialect::ContainerObject container{.name = "main"};
  container.limits = {{"nvidia.com/gpu", *base::Quantity::parse("1")}};
  container.requests = container.limits;
  pod.containers = {container};
  return pod;
}

dialect::Annotations answer(std::uint32_t card) {
  const auto pod = pod_object();
  return dialect::answer({.object = pod,
                          .pod = *dialect::to_spec(pod, {}),
                          .node = kNode,
                          .cards = {.containers = {{{.card = card, .milli = 1000}}}},
                          .unix_nanos = 1})
      .annotations;
}

class CardAnnotationsTest : public ::testing::Test {
 protected:
  CardAnnotations::Answer read(const dialect::Annotations& said, bool created_bound = false) {
    auto pod = pod_object();
    pod.node = "n";
    pod.annotations = said;
    const core::PodSpec spec = *dialect::to_spec(pod, {});
    return annotations_.read(resolver_, {.object = pod,
                                         .pod = spec,
                                         .node = &kNode,
                                         .created_bound = created_bound,
                                         .is_ours = true,
                                         .check = std::nullopt});
  }

  Signatures signatures_;
  CardAnnotations annotations_{signatures_};
  AssignmentResolver resolver_;
};

TEST_F(CardAnnotationsTest, TheFirstWordCountsAndEditsAreToldOnceAndCounted) {
  auto read_now = read(answer(1));
  ASSERT_TRUE(read_now.resolution.cards);
  EXPECT_EQ(read_now.resolution.cards->containers.at(0).at(0).card, 1U);
  EXPECT_FALSE(read_now.notice);
  read_now = read(answer(0));
  EXPECT_FALSE(read_now.resolution.cards);
  ASSERT_TRUE(read_now.notice);
  EXPECT_EQ(read_now.notice->kind, Notice::Kind::annotation_mismatch);
  EXPECT_FALSE(read(answer(0)).notice);
  EXPECT_EQ(annotations_.mismatched(), 1U);
  EXPECT_EQ(annotations_.edits(), 1U);
  EXPECT_TRUE(read(answer(1)).resolution.cards);
  EXPECT_EQ(annotations_.mismatched(), 0U);
  (void)read({});
  annotations_.forget(resolver_);
  EXPECT_EQ(annotations_.mismatched(), 0U);
  EXPECT_EQ(annotations_.edits(), 2U);
}

TEST_F(CardAnnotationsTest, APodThatIsCreatedOnItsNodeNamesNoCards) {
  const auto read_now = read(answer(1), true);
  EXPECT_FALSE(read_now.resolution.cards);
  ASSERT_TRUE(read_now.notice);
  EXPECT_EQ(read_now.notice->kind, Notice::Kind::untrusted);
  EXPECT_EQ(annotations_.untrusted(), 1U);
}

TEST_F(CardAnnotationsTest, WhatWeWroteIsOurs) {
  annotations_.wrote(resolver_, answer(1));
  EXPECT_FALSE(read(answer(0)).resolution.cards);
  EXPECT_TRUE(read(answer(1), true).resolution.cards);
}

TEST_F(CardAnnotationsTest, WhatCannotBeReadIsTold) {
  dialect::Annotations said = answer(1);
  for (auto& [key, text] : said) text = "{";
  const auto read_now = read(said);
  ASSERT_TRUE(read_now.notice);
  EXPECT_EQ(read_now.notice->kind, Notice::Kind::unread_cards);
}

// Which unbound pods carry untrusted annotations, by scheduler and by whether they are new.
TEST_F(CardAnnotationsTest, TableOfForgeries) {
  struct Row {
    bool created;
    bool is_ours;
    bool pre_allocations_count;
    bool untrusted;
  };
  const Row rows[] = {
      {.created = true, .is_ours = true, .pre_allocations_count = false, .untrusted = true},
      {.created = false, .is_ours = true, .pre_allocations_count = true, .untrusted = true},
      {.created = true, .is_ours = false, .pre_allocations_count = false, .untrusted = true},
      {.created = false, .is_ours = false, .pre_allocations_count = false, .untrusted = true},
      {.created = true, .is_ours = false, .pre_allocations_count = true, .untrusted = true},
      {.created = false, .is_ours = false, .pre_allocations_count = true, .untrusted = false},
  };
  auto pod = pod_object();
  pod.annotations = {{std::string(dialect::kGpusAnnotation), "{}"}};
  for (const Row& row : rows) {
    AssignmentResolver resolver;
    const auto notice = annotations_.check_untrusted(
        resolver, {.object = pod,
                   .first = true,
                   .created = row.created,
                   .is_ours = row.is_ours,
                   .pre_allocations_count = row.pre_allocations_count});
    EXPECT_EQ(notice.has_value(), row.untrusted);
    if (!notice) continue;
    EXPECT_EQ(notice->text.ends_with("and will be replaced"), row.is_ours);
    const auto again = annotations_.check_untrusted(resolver, {.object = pod,
                                                               .first = false,
                                                               .created = false,
                                                               .is_ours = row.is_ours,
                                                               .pre_allocations_count = false});
    EXPECT_FALSE(again) << "told once";
  }
  EXPECT_EQ(annotations_.untrusted(), 5U);
}

}  // namespace
}  // namespace stowage::scheduler
