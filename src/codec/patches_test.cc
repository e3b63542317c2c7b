#include "codec/patches.h"

#include <gtest/gtest.h>

#include "base/testing/json_check.h"

namespace stowage::codec {
namespace {

TEST(Patches, SayWhatTheServerShallDo) {
  struct Row {
    const char* name;
    std::string made;
    const char* wanted;
  };
  const Row rows[] = {
      {"a pod that is about to be evicted",
       disruption_patch({.uid = "u", .message = "for \"b\"", .unix_seconds = 1}),
       R"({"metadata":{"uid":"u"},"status":{"conditions":[{"type":"DisruptionTarget",)"
       R"("status":"True","reason":"PreemptionByScheduler","message":"for \"b\"",)"
       R"("lastTransitionTime":"1970-01-01T00:00:01Z"}]}})"},
      {"a deletion of one object and of no other", delete_options("u"),
       R"({"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"u"}})"},
      {"a nomination", nomination_patch("u", "n1"),
       R"({"metadata":{"uid":"u"},"status":{"nominatedNodeName":"n1"}})"},
      {"a nomination that is over", nomination_patch("u", ""),
       R"({"metadata":{"uid":"u"},"status":{"nominatedNodeName":null}})"},
      {"a node for a volume", selected_node_patch("u", "n1"),
       R"({"metadata":{"uid":"u","annotations":{"volume.kubernetes.io/selected-node":"n1"}}})"},
      {"no node for a volume any more", selected_node_patch("u", ""),
       R"({"metadata":{"uid":"u","annotations":{"volume.kubernetes.io/selected-node":null}}})"},
      {"what a node offers",
       node_offer_patch({.uid = "u", .resource_version = "7"},
                        {.write = {{"stowage.dev/gpu-core", 200}},
                         .remove = {"nano-gpu/gpu-percent"},
                         .record = {{"stowage.dev/gpu-core", 200}}}),
       R"({"metadata":{"uid":"u","resourceVersion":"7","annotations":)"
       R"({"stowage.dev/node-resources":"stowage.dev/gpu-core=200"}},"status":{"capacity":)"
       R"({"stowage.dev/gpu-core":"200","nano-gpu/gpu-percent":null},"allocatable":)"
       R"({"stowage.dev/gpu-core":"200","nano-gpu/gpu-percent":null}}})"},
      {"a record without resources", node_offer_patch({.uid = "u", .resource_version = "7"}, {}),
       R"({"metadata":{"uid":"u","resourceVersion":"7","annotations":)"
       R"({"stowage.dev/node-resources":null}}})"},
      {"a volume for a claim",
       claim_ref_patch({.volume_version = "7", .claim = {.ns = "a", .name = "b", .uid = "c"}}),
       R"({"metadata":{"resourceVersion":"7","annotations":)"
       R"({"pv.kubernetes.io/bound-by-controller":"yes"}},"spec":{"claimRef":{"apiVersion":"v1",)"
       R"("kind":"PersistentVolumeClaim","namespace":"a","name":"b","uid":"c"}}})"},
      {"a volume whose maker has named the claim",
       claim_ref_patch(
           {.volume_version = "7", .claim = {.ns = "a", .name = "b", .uid = "c"}, .by_us = false}),
       R"({"metadata":{"resourceVersion":"7"},"spec":{"claimRef":{"apiVersion":"v1",)"
       R"("kind":"PersistentVolumeClaim","namespace":"a","name":"b","uid":"c"}}})"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(row.made, row.wanted) << row.name;
    EXPECT_TRUE(base::JsonCheck::valid(row.made)) << row.name;
  }
}

TEST(VolumeOwner, IsReadFromAVolume) {
  const auto free = read_volume_owner(R"({"metadata":{"resourceVersion":"3"},"spec":{"a":[1]}})");
  ASSERT_TRUE(free) << free.error().message;
  EXPECT_EQ(*free, (VolumeOwner{.resource_version = "3"}));
  const auto taken =
      read_volume_owner(R"({"spec":{"claimRef":{"name":"c","namespace":"ns","uid":"u"}},)"
                        R"("metadata":{"deletionTimestamp":"x","resourceVersion":"3"}})");
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_EQ(*taken, (VolumeOwner{.resource_version = "3",
                                 .claimed = true,
                                 .claim = {.ns = "ns", .name = "c", .uid = "u"},
                                 .deleting = true}));
}

TEST(VolumeOwner, NonsenseIsAnError) {
  for (const char* text :
       {"", "[]", "{}", "null", R"({"metadata":3})", R"({"metadata":{"resourceVersion":3}})",
        R"({"metadata":{"resourceVersion":"3"},"spec":{"claimRef":"x"}})",
        R"({"metadata":{"resourceVersion":"3"}} x)"}) {
    EXPECT_FALSE(read_volume_owner(text)) << text;
  }
}

}  // namespace
}  // namespace stowage::codec
