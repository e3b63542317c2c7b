#include "controller/apply_reports.h"

#include <chrono>
#include <variant>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace stowage::controller {
namespace {

using namespace std::chrono_literals;

dialect::NodeObject node_object(const std::string& name) {
  dialect::NodeObject node;
  node.name = name;
  node.annotations[std::string(dialect::kInventoryAnnotation)] =
      dialect::inventory_text({{.id = "GPU-0", .index = 0, .memory_mib = 1000}}, {});
  node.allocatable = {{"pods", *base::Quantity::parse("110")},
                      {"nvidia.com/gpu", *base::Quantity::parse("1")}};
  node.capacity = node.allocatable;
  return node;
}

dialect::PodObject pod_object(const std::string& name, const std::string& uid) {
  dialect::PodObject pod{.ns = "ns", .name = name, .uid = uid};
  pod.scheduler = "default-scheduler";
  pod.phase = "Running";
  pod.node = "n";
  dialect::ContainerObject container{.name = "main"};
  container.requests = {{"nvidia.com/gpu", *base::Quantity::parse("1")}};
  pod.containers = {container};
  return pod;
}

struct ApplyReports : ::testing::Test {
  ApplyReports() {
    event_queue.open();
    cluster_cache.upsert_node(node_object("n"));
    (void)events();
  }
  void apply(const reports::NodeUpdate& node_update) {
    apply_reports({node_update},
                  {.engine_now = {1000}, .now = net::Moment{100ns}, .load_counts = 30ns},
                  {.cluster_cache = cluster_cache, .event_queue = event_queue});
  }
  // The events from the agents' reports since the last call.
  std::string events() {
    std::string text;
    const auto taken = event_queue.take_now(1000);
    for (const auto& message : *taken) {
      const auto& event = std::get<core::Event>(message);
      if (const auto* silent = std::get_if<core::NodeSilent>(&event)) {
        text += fmt::format("{} silent={};", silent->node, silent->silent);
      } else if (const auto* plugin = std::get_if<core::PluginMissing>(&event)) {
        text += fmt::format("{} plugin missing={};", plugin->node, plugin->missing);
      } else if (const auto* load = std::get_if<core::CardsMeasured>(&event)) {
        text += fmt::format("{} {} loads until {};", load->node, load->busy.size(), load->until.ns);
      } else if (const auto* cards = std::get_if<core::CardsNamed>(&event)) {
        text += fmt::format("{} has its cards;", cards->uid);
      }
    }
    return text;
  }

  scheduler::EventQueue event_queue;
  scheduler::ClusterCache cluster_cache{
      scheduler::built_in_profiles(),
      event_queue,
      [](const scheduler::Notice&) {},
      {.unix_nanos = [] { return std::int64_t{1'000'000'000'000}; },
       .now = [] { return base::Instant{5}; }}};
};

TEST_F(ApplyReports, ToldIsWhatIsNew) {
  apply({.node = "n", .silent = false});
  EXPECT_EQ(events(), "n silent=false;");
  apply({.node = "n"});
  EXPECT_EQ(events(), "");
  apply({.node = "n", .silent = true});
  EXPECT_EQ(events(), "n silent=true;");
  apply({.node = "n", .load_told = true, .busy = {{"GPU-0", 500}}, .measured = net::Moment{90ns}});
  EXPECT_EQ(events(), "n 1 loads until 1020;") << "10 of its 30 ns have passed";
  apply({.node = "n", .load_told = true});
  EXPECT_EQ(events(), "n 0 loads until 1030;");
}

TEST_F(ApplyReports, OnlyAPluginThatIsNotRegisteredIsMissing) {
  apply({.node = "n", .plugin = reports::PluginState::missing});
  EXPECT_EQ(events(), "n plugin missing=true;");
  apply({.node = "n", .plugin = reports::PluginState::registered});
  EXPECT_EQ(events(), "n plugin missing=false;");
  apply({.node = "n", .plugin = reports::PluginState::none});
  EXPECT_EQ(events(), "n plugin missing=false;");
  apply({.node = "elsewhere", .plugin = reports::PluginState::missing});
  EXPECT_EQ(events(), "");
}

TEST_F(ApplyReports, DevicesOfPodsNameTheirCards) {
  cluster_cache.upsert_pod(pod_object("p", "u"));
  (void)events();
  apply({.node = "n", .pods = {{.name = "ns/p", .allocation = {{"main", {"GPU-0"}}}}}});
  EXPECT_EQ(events(), "u has its cards;");
  cluster_cache.remove_pod("u");
  apply({.node = "n", .gone = {"ns/p"}});
  cluster_cache.upsert_pod(pod_object("p", "v"));
  EXPECT_EQ(events(), "");
}

TEST_F(ApplyReports, ABatchThatOutlivesItsNodeIsDropped) {
  const reports::NodeUpdate node_update{
      .node = "n",
      .silent = true,
      .load_told = true,
      .pods = {{.name = "ns/p", .allocation = {{"main", {"GPU-0"}}}}}};
  apply(node_update);
  cluster_cache.remove_node("n");
  forget_reports("n", {.cluster_cache = cluster_cache, .event_queue = event_queue});
  EXPECT_EQ(events(), "n silent=false;n 0 loads until 1030;n plugin missing=false;");
  apply(node_update);
  EXPECT_EQ(events(), "");
  cluster_cache.upsert_node(node_object("n"));
  cluster_cache.upsert_pod(pod_object("p", "u"));
  EXPECT_EQ(events(), "") << "nothing of the node before is known";
  apply(node_update);
  EXPECT_EQ(events(), "n silent=true;u has its cards;n 0 loads until 1030;");
}

}  // namespace
}  // namespace stowage::controller
