#include "extender/options.h"

#include <set>

#include <gtest/gtest.h>

#include "extender/external_pod_cache.h"
#include "extender/reason_texts.h"

namespace stowage::extender {
namespace {

TEST(Preset, EachSystemHasItsRoutesItsPortAndItsWay) {
  const auto routes = [](const ExtenderOptions& options) {
    std::string text;
    for (const auto& route : options.routes) {
      text += std::string(to_string(route.verb)) + "=" + route.path + " ";
    }
    return text;
  };
  EXPECT_EQ(preset("stowage").value().mode, Mode::choose);
  EXPECT_EQ(preset("alnair").value().mode, Mode::bind);
  const auto elastic = preset("elastic-gpu-scheduler").value();
  EXPECT_EQ(elastic.listen, "0.0.0.0:39999");
  EXPECT_EQ(elastic.mode, Mode::bind);
  EXPECT_EQ(routes(elastic),
            "filter=/scheduler/filter prioritize=/scheduler/priorities bind=/scheduler/bind "
            "status=/scheduler/status ");
  const auto admission = preset("gpu-admission").value();
  EXPECT_EQ(admission.listen, "127.0.0.1:3456");
  EXPECT_EQ(admission.mode, Mode::single_node);
  EXPECT_NE(routes(admission).find("filter=/scheduler/predicates"), std::string::npos);
  EXPECT_NE(routes(admission).find("preempt=/scheduler/preempt"), std::string::npos);
  const auto nvidia = preset("nvidia-gpu-scheduler").value();
  EXPECT_EQ(nvidia.mode, Mode::count);
  EXPECT_NE(routes(nvidia).find("prioritize=/apis/metrics.nvidia.com/v1alpha1/schedule/prioritize"),
            std::string::npos);
}

TEST(Preset, AllHaveADifferentNameAndAPolicyForEveryDialect) {
  std::set<std::string> names;
  for (const auto& name : preset_names()) {
    const auto options = preset(name);
    ASSERT_TRUE(options.has_value()) << name;
    EXPECT_TRUE(names.insert(options->name).second) << name;
    ASSERT_FALSE(options->policies.empty()) << name;
    EXPECT_EQ(options->policies.back().dialect, "") << name;
  }
  EXPECT_TRUE(preset("elastic").error().message.starts_with(
      "unknown preset \"elastic\"; there are stowage, elastic-gpu-scheduler"));
}

TEST(Mode, IsReadAndWritten) {
  for (const char* word : {"bind", "choose", "singleNode", "count"}) {
    EXPECT_STREQ(to_string(parse_mode(word).value()), word);
  }
  EXPECT_EQ(parse_mode("single").error().message,
            "unknown mode \"single\"; write bind, choose, singleNode or count");
}

TEST(Words, AreThoseThatPeopleOfEachSystemKnow) {
  using core::ReasonCode;
  EXPECT_EQ(short_phrase("native", ReasonCode::card_memory, "u"), "insufficient GPU memory");
  EXPECT_EQ(short_phrase("vgpu", ReasonCode::card_memory, "u"), "Insufficient vGPU memory");
  EXPECT_EQ(short_phrase("vcuda", ReasonCode::no_cards, "u"), "no GPU device");
  EXPECT_EQ(short_phrase("vcuda", ReasonCode::card_milli, "u"),
            "pod u does not match with this node: insufficient GPU compute");
  EXPECT_EQ(short_phrase("vcuda-nvidia", ReasonCode::quota, "u"), "ExceedsGPUQuota");
  EXPECT_EQ(short_phrase("elastic", ReasonCode::cards, "u"),
            "no enough resource to allocate: insufficient GPU cards");
  EXPECT_EQ(other_node_phrase("vcuda", "u"), "pod u has already been matched to another node");
  EXPECT_EQ(
      uids_differ({.elastic_messages = true, .ns = "d", .name = "p", .real = "a", .given = "b"}),
      "pod p in ns d's uid is a, and it's not equal with expected b");
}

TEST(ExternalPodCache, TheOneAskedAboutLongestAgoGivesWay) {
  ExternalPodCache book(2);
  book.find_or_add("a").told = "x";
  (void)book.find_or_add("b");
  EXPECT_EQ(book.find_or_add("a").told, "x") << "and is the newest now";
  (void)book.find_or_add("c");
  EXPECT_EQ(book.find("b"), nullptr);
  ASSERT_NE(book.find("a"), nullptr);
  book.forget("a");
  book.forget("a");
  EXPECT_EQ(book.find("a"), nullptr);
  EXPECT_EQ(book.size(), 1U);
}

}  // namespace
}  // namespace stowage::extender
