#include "metricsapi/objects.h"

#include <gtest/gtest.h>

#include "metricsapi/testing/node_reports.h"

namespace stowage::metricsapi {
namespace {

using namespace std::chrono_literals;
using testing::card;
using testing::Desk;
using testing::pod;

std::string json_of(const ApiObject& object, Style style = Style::original) {
  base::JsonWriter json(base::JsonWriter::Style::compact);
  put_object(json, object, style);
  return json.take();
}

TEST(Objects, AGpuInfoIsWrittenAsTheOriginalWroteIt) {
  Desk desk;
  desk.cards("n1", {card("GPU-b", 1, " Tesla T4 "), card("GPU-a", 0, "Tesla T4"),
                    card("GPU-c", 2, "NVIDIA A100")});
  desk.pods("n1", {pod("d", "p", {"GPU-b"})});
  desk.pass(2s);
  GpuInfo info = gpu_info(*desk.report_cache.node_report("n1"), desk.now);
  info.version = 7;
  EXPECT_EQ(json_of(info),
            R"({"kind":"GpuInfo","apiVersion":"v1alpha1",)"
            R"("metadata":{"name":"n1","resourceVersion":"7"},)"
            R"("spec":{"device_node":"n1","device_infos":{)"
            R"("GPU-a":{"device_id":"GPU-a","device_brand":"Tesla","device_model":"tesla t4",)"
            R"("device_busid":"0000:00:00.0","device_node":"n1"},)"
            R"("GPU-b":{"device_id":"GPU-b","device_brand":"Tesla","device_model":"tesla t4",)"
            R"("device_busid":"0000:01:00.0","device_node":"n1"},)"
            R"("GPU-c":{"device_id":"GPU-c","device_brand":"Tesla","device_model":"nvidia a100",)"
            R"("device_busid":"0000:02:00.0","device_node":"n1"}},)"
            R"("device_models":{"nvidia a100":["GPU-c"],"tesla t4":["GPU-a","GPU-b"]},)"
            R"("report_time":"2027-01-15T08:00:00Z","device_busy":["GPU-b"]},)"
            R"("status":{"node_health":"True","node_last_health_time":"2027-01-15T08:00:00Z"}})");
}

TEST(Objects, APodResourceIsWrittenAsTheOriginalWroteIt) {
  Desk desk;
  desk.cards("n1", {card("GPU-a", 0, "Tesla T4")});
  auto resource = pod_resource(*desk.report_cache.node_report("n1"), pod("d", "p", {"GPU-a"}));
  ASSERT_TRUE(resource);
  resource->changed_unix = 1'800'000'001;
  resource->version = 8;
  EXPECT_EQ(json_of(*resource),
            R"({"kind":"PodResource","apiVersion":"v1alpha1",)"
            R"("metadata":{"name":"d.p","resourceVersion":"8"},)"
            R"("spec":{"pod_name":"p","pod_namespace":"d","containers_device":[)"
            R"({"container_name":"c","device_info":[{"device_id":"GPU-a","device_brand":"Tesla",)"
            R"("device_model":"tesla t4","device_busid":"0000:00:00.0","device_node":"n1"}]}]},)"
            R"("status":{"last_changed_time":"2027-01-15T08:00:01Z"}})");
  resource->containers.clear();
  EXPECT_EQ(json_of(*resource), R"({"kind":"PodResource","apiVersion":"v1alpha1",)"
                                R"("metadata":{"name":"d.p","resourceVersion":"8"},)"
                                R"("spec":{"pod_name":"p","pod_namespace":"d"},)"
                                R"("status":{"last_changed_time":"2027-01-15T08:00:01Z"}})")
      << "the last word about it";
}

TEST(Objects, KubernetesIsToldMore) {
  Desk desk;
  auto unhealthy = card("GPU-b", 1, "Tesla T4");
  unhealthy.healthy = false;
  unhealthy.unhealthy_reason = "Xid 79";
  desk.cards("n1", {card("GPU-a", 0, "Tesla T4"), unhealthy});
  desk.busy("n1", 0, 835);
  const std::string json =
      json_of(gpu_info(*desk.report_cache.node_report("n1"), desk.now), Style::kubernetes);
  EXPECT_TRUE(json.starts_with(
      R"({"kind":"GpuInfo","apiVersion":"metrics.nvidia.com/v1alpha1","metadata":{"name":"n1"},)"))
      << json;
  EXPECT_TRUE(json.ends_with(
      R"("status":{"node_health":"True","node_last_health_time":"2027-01-15T08:00:00Z",)"
      R"("device_load":{"GPU-a":{"busy_permille":835}},"device_sick":{"GPU-b":"Xid 79"}}})"))
      << json;
}

TEST(Objects, NothingIsWrittenForUnknownValues) {
  Desk desk;
  desk.update("n1");
  EXPECT_EQ(json_of(gpu_info(*desk.report_cache.node_report("n1"), desk.now)),
            R"({"kind":"GpuInfo","apiVersion":"v1alpha1","metadata":{"name":"n1"},)"
            R"("spec":{"device_node":"n1","device_busy":null},)"
            R"("status":{"node_health":"True","node_last_health_time":"2027-01-15T08:00:00Z"}})");
  EXPECT_EQ(json_of(gpu_info(OtherNode{"n5", {{.id = "g", .model = "A100"}}})),
            R"({"kind":"GpuInfo","apiVersion":"v1alpha1","metadata":{"name":"n5"},)"
            R"("spec":{"device_node":"n5","device_infos":{"g":{"device_id":"g",)"
            R"("device_model":"a100","device_node":"n5"}},"device_models":{"a100":["g"]},)"
            R"("device_busy":null},"status":{"node_health":"UnKnow"}})");
}

// The last ping was 2.9 or 3.1 seconds ago.
TEST(Objects, HealthEndsAfterThreeSeconds) {
  Desk desk;
  desk.update("n1");
  desk.pass(2900ms);
  EXPECT_EQ(gpu_info(*desk.report_cache.node_report("n1"), desk.now).health, Health::fresh);
  desk.pass(200ms);
  const GpuInfo silent = gpu_info(*desk.report_cache.node_report("n1"), desk.now);
  EXPECT_EQ(silent.health, Health::silent);
  EXPECT_NE(json_of(silent).find(R"("node_health":"False")"), std::string::npos);
  EXPECT_EQ(silent.heard_unix, 1'800'000'000) << "when it was heard, not now";
  desk.update("n1");
  EXPECT_EQ(gpu_info(*desk.report_cache.node_report("n1"), desk.now).health, Health::fresh);
}

// The original forgot both.
TEST(Objects, TheDevicesOfOnePodOfTwoBecomeFree) {
  Desk desk;
  desk.cards("n1", {card("g1", 0, "T4"), card("g2", 1, "T4")});
  desk.pods("n1", {pod("d", "p1", {"g1"}), pod("d", "p2", {"g2"})}, true);
  const auto busy = [&] { return gpu_info(*desk.report_cache.node_report("n1"), desk.now).busy; };
  EXPECT_EQ(busy(), (std::vector<std::string>{"g1", "g2"}));
  desk.gone("n1", {"d/p1"});
  EXPECT_EQ(busy(), (std::vector<std::string>{"g2"}));
}

TEST(Objects, DevicesAreThoseThatAreCards) {
  struct Row {
    const char* name;
    codec::ReportedPod pod;
    std::vector<std::string> ids;  // none: no object
    bool busy;                     // card GPU-a
  };
  const Row rows[] = {
      {"a whole card", pod("d", "p", {"GPU-a"}), {"GPU-a"}, true},
      {"one of its replicas", pod("d", "p", {"GPU-a::3"}), {"GPU-a"}, true},
      {"two of them are one card", pod("d", "p", {"GPU-a::3", "GPU-a::1"}), {"GPU-a"}, true},
      {"a card by another resource", pod("d", "p", {"GPU-a"}, "x.dev/gpu"), {"GPU-a"}, true},
      {"a card that nobody knows", pod("d", "p", {"GPU-z"}), {"GPU-z"}, false},
      {"a part of a card", pod("d", "p", {"MIG-1"}, "nvidia.com/mig-1g.5gb"), {"MIG-1"}, false},
      {"something else", pod("d", "p", {"eth0"}, "x.dev/nic"), {}, false},
      {"nothing",
       {.ns = "d", .name = "p", .containers = {{.name = "c", .devices = {}}}},
       {},
       false},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    Desk desk;
    desk.cards("n1", {card("GPU-a", 0, "T4")});
    desk.pods("n1", {row.pod});
    const auto made = pod_resource(*desk.report_cache.node_report("n1"), row.pod);
    std::vector<std::string> ids;
    if (made) {
      for (const Device& device : made->containers.at(0).devices) ids.push_back(device.id);
    }
    EXPECT_EQ(ids, row.ids);
    EXPECT_EQ(!gpu_info(*desk.report_cache.node_report("n1"), desk.now).busy.empty(), row.busy);
  }
}

TEST(Objects, AModelIsNormalised) {
  EXPECT_EQ(normal_model("Tesla T4"), "tesla t4");
  EXPECT_EQ(normal_model(" \tNVIDIA  A100\n"), "nvidia  a100");
  EXPECT_EQ(normal_model("  "), "");
  EXPECT_EQ(normal_model(""), "");
}

TEST(Objects, TwoCardsOfOneIdAreOne) {
  Desk desk;
  desk.cards("n1", {card("g", 0, "T4"), card("g", 1, "A100")});
  const GpuInfo info = gpu_info(*desk.report_cache.node_report("n1"), desk.now);
  EXPECT_EQ(info.devices.size(), 1U);
  EXPECT_EQ(info.models.size(), 1U);
}

}  // namespace
}  // namespace stowage::metricsapi
