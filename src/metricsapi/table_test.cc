#include "metricsapi/table.h"

#include <gtest/gtest.h>

#include "metricsapi/testing/node_reports.h"

namespace stowage::metricsapi {
namespace {

using namespace std::chrono_literals;
using testing::card;
using testing::Desk;
using testing::pod;

std::string row_of(const ApiObject& object, RowObject with, const Now& now) {
  base::JsonWriter json(base::JsonWriter::Style::compact);
  put_row(json, object, with, now);
  return json.take();
}

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

TEST(Table, ANodeReadsWell) {
  Desk desk;
  auto unhealthy = card("GPU-b", 1, "Tesla T4");
  unhealthy.healthy = false;
  codec::AgentReport report;
  report.agent = "0.1.0";
  report.cards = {card("GPU-a", 0, "Tesla T4"), unhealthy, card("GPU-c", 2, "A100")};
  report.load = {{.card = 0,
                  .busy_permille = 834,
                  .memory_mib = 8192,
                  .power_milliwatt = 61'600,
                  .celsius = 71},
                 {.card = 1, .busy_permille = 100, .celsius = 45}};
  desk.update("n1", report);
  desk.pods("n1", {pod("d", "p", {"GPU-a"})});
  desk.pass(2s);
  EXPECT_EQ(
      row_of(gpu_info(*desk.report_cache.node_report("n1"), desk.now), RowObject::none, desk.now),
      R"({"cells":["n1","Healthy",3,1,"a100:1,tesla t4:2","47%","8.0/48.0Gi","62W","71C",)"
      R"(1,"0.1.0","2s"]})");
  desk.pass(200s);
  EXPECT_EQ(
      row_of(gpu_info(*desk.report_cache.node_report("n1"), desk.now), RowObject::none, desk.now),
      R"({"cells":["n1","Silent",3,1,"a100:1,tesla t4:2","<unknown>","?/48.0Gi",)"
      R"("<unknown>","<unknown>",1,"0.1.0","3m"]})")
      << "what it has told long ago is not how it is";
  EXPECT_EQ(row_of(gpu_info(OtherNode{"n2", {}}), RowObject::none, desk.now),
            R"({"cells":["n2","Unknown",0,0,"<none>","<unknown>","<unknown>","<unknown>",)"
            R"("<unknown>",0,"<unknown>","<unknown>"]})");
}

TEST(Table, TemperaturesBelowZeroAreShown) {
  Desk desk;
  codec::AgentReport report;
  report.cards = {card("GPU-a", 0, "Tesla T4"), card("GPU-b", 1, "Tesla T4")};
  report.load = {{.card = 0, .celsius = -7}, {.card = 1, .celsius = -3}};
  desk.update("n1", report);
  const std::string row =
      row_of(gpu_info(*desk.report_cache.node_report("n1"), desk.now), RowObject::none, desk.now);
  EXPECT_NE(row.find(R"("-3C")"), std::string::npos) << row;
}

TEST(Table, APodReadsWell) {
  Desk desk;
  desk.cards("n1", {card("GPU-a", 0, "T4"), card("GPU-b", 1, "T4"), card("GPU-c", 2, "A100")});
  codec::ReportedPod two = pod("d", "p", {"GPU-b", "GPU-a"});
  two.containers.push_back({.name = "side", .devices = {{"nvidia.com/gpu", {"GPU-c"}}}});
  PodResource made = pod_resource(*desk.report_cache.node_report("n1"), two).value();
  EXPECT_EQ(row_of(made, RowObject::none, desk.now),
            R"({"cells":["d/p","n1","c,side",3,"a100,t4","c=GPU-a+GPU-b,side=GPU-c"]})");
  made.containers.clear();
  EXPECT_EQ(row_of(made, RowObject::none, desk.now),
            R"({"cells":["d/p","n1","<none>",0,"<none>","<none>"]})");
}

TEST(Table, ARowCarriesItsObject) {
  PodResource made{.ns = "d", .name = "p", .node = "n1", .containers = {}, .version = 5};
  EXPECT_NE(row_of(made, RowObject::metadata, {})
                .find(R"("object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",)"
                      R"("metadata":{"name":"d.p","resourceVersion":"5"}}})"),
            std::string::npos);
  EXPECT_NE(row_of(made, RowObject::whole, {})
                .find(R"("object":{"kind":"PodResource","apiVersion":"metrics.nvidia.com/)"),
            std::string::npos);
  EXPECT_EQ(row_of(made, RowObject::none, {}).find("object"), std::string::npos);
}

TEST(Table, HasAColumnForEachCell) {
  for (const auto resource : {Resource::pod_resources, Resource::gpu_infos}) {
    base::JsonWriter json(base::JsonWriter::Style::compact);
    json.begin_object();
    put_columns(json, resource);
    json.end_object();
    const std::string columns = json.take();
    const ApiObject object =
        resource == Resource::gpu_infos ? ApiObject(GpuInfo{}) : ApiObject(PodResource{});
    const std::string row = row_of(object, RowObject::none, {});
    EXPECT_EQ(count(columns, R"("priority":)"), count(row, ",") + 1) << columns << row;
    EXPECT_EQ(count(columns, R"("format":"name")"), 1U);
  }
}

}  // namespace
}  // namespace stowage::metricsapi
