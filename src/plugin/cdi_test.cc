#include "plugin/cdi.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/testing/json_check.h"
#include "net/testing/temporary_folder.h"
#include "plugin/injection.h"
#include "plugin/nvidia_spec.h"

namespace stowage::plugin {
namespace {

// As nvidia-ctk writes it, with two cards and an instance.
constexpr const char* kNvidia = R"(---
cdiVersion: 0.5.0
kind: nvidia.com/gpu
devices:
- name: "0"
  containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
    - path: /dev/dri/card1
      permissions: rw
    hooks:
    - hookName: createContainer
      path: /usr/bin/nvidia-cdi-hook
      args:
      - nvidia-cdi-hook
      - create-symlinks
      - --link
      - ../card1::/dev/dri/by-path/pci-0000:1b:00.0-card
- name: GPU-b
  containerEdits:
    deviceNodes:
    - path: /dev/nvidia1
      hostPath: /dev/nvidia1
      type: c
      major: 195
      minor: 1
      fileMode: 438
- name: "0:1"
  containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
    - path: /dev/nvidia-caps/nvidia-cap12
containerEdits:
  env:
  - NVIDIA_VISIBLE_DEVICES=void
  - NVIDIA_CTK_LIBCUDA_DIR=/usr/lib/x86_64-linux-gnu
  deviceNodes:
  - path: /dev/nvidiactl
  - path: /dev/nvidia-uvm
  hooks:
  - hookName: createContainer
    path: /usr/bin/nvidia-cdi-hook
    args: [nvidia-cdi-hook, update-ldcache, --folder, /usr/lib/x86_64-linux-gnu]
  mounts:
  - hostPath: /usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05
    containerPath: /usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05
    options: [ro, nosuid, nodev, rbind, rprivate]
)";

std::string error_of(const auto& result) { return result ? "none" : result.error().message; }

NvidiaSpec nvidia() {
  auto spec = parse_nvidia_spec(kNvidia, "nvidia.yaml");
  EXPECT_TRUE(spec && *spec) << error_of(spec);
  return spec && *spec ? **spec : NvidiaSpec{};
}

TEST(NvidiaSpec, IsRead) {
  const NvidiaSpec spec = nvidia();
  ASSERT_EQ(spec.devices.size(), 3U);
  EXPECT_EQ(spec.common.device_nodes.size(), 2U);
  EXPECT_EQ(spec.common.env.at(1), "NVIDIA_CTK_LIBCUDA_DIR=/usr/lib/x86_64-linux-gnu");
  EXPECT_EQ(spec.common.hooks.at(0).args.size(), 4U);
  EXPECT_EQ(spec.common.mounts.at(0).options.size(), 5U);
  EXPECT_EQ(spec.devices.at("GPU-b").device_nodes.at(0), (CdiDeviceNode{.path = "/dev/nvidia1",
                                                                        .host_path = "/dev/nvidia1",
                                                                        .type = "c",
                                                                        .major = 195,
                                                                        .minor = 1,
                                                                        .file_mode = 438}));
}

TEST(NvidiaSpec, JsonIsReadAsWell) {
  const auto spec = parse_nvidia_spec(
      "{\"cdiVersion\": \"0.7.0\",\n  \"kind\": \"nvidia.com/gpu\", \"annotations\": {\"a\": "
      "\"b\"},"
      "\"devices\": [{\"name\": \"GPU-a\", \"annotations\": {\"x\": {\"y\": [1]}},"
      "\"containerEdits\": {\"deviceNodes\": [{\"path\": \"/dev/nvidia0\"}],"
      "\"additionalGids\": [44]}}]}",
      "nvidia.json");
  ASSERT_TRUE(spec && *spec) << error_of(spec);
  EXPECT_EQ((*spec)->devices.at("GPU-a").additional_gids, (std::vector<std::int64_t>{44}));
}

TEST(NvidiaSpec, OtherKindsAreIgnoredWhateverTheySay) {
  const auto spec = parse_nvidia_spec("kind: vendor.com/net\nwhatever: [1, {a: b}]\n", "x.yaml");
  ASSERT_TRUE(spec) << error_of(spec);
  EXPECT_FALSE(*spec);
  EXPECT_TRUE(parse_nvidia_spec("", "x.yaml"));
}

TEST(NvidiaSpec, ErrorsNameFileLineAndKey) {
  const auto refuse = [](const std::string& text) {
    return error_of(parse_nvidia_spec("kind: nvidia.com/gpu\n" + text, "n.yaml"));
  };
  EXPECT_EQ(refuse("containerEdits: {deviceNodes: [{path: dev/nvidia0}]}\n"),
            "n.yaml:2: containerEdits.deviceNodes[0].path: expected a path that begins with /");
  EXPECT_EQ(refuse("containerEdits: {mounts: [{hostPath: /a}]}\n"),
            "n.yaml:2: containerEdits.mounts[0].containerPath: expected a path");
  EXPECT_EQ(refuse("containerEdits: {intelRdt: {closID: a}}\n")
                .find("n.yaml:2: containerEdits.intelRdt: unknown key"),
            0U);
  EXPECT_EQ(refuse("devices: [{name: a}, {name: a}]\n"),
            "n.yaml:2: devices[1].name: another device has this name");
  EXPECT_EQ(refuse("containerEdits: {deviceNodes: [{path: /a, major: -1}]}\n"),
            "n.yaml:2: containerEdits.deviceNodes[0].major: expected a whole number");
  EXPECT_EQ(refuse("devices: 3\n"), "n.yaml:2: devices: expected a list, found \"3\"");
  EXPECT_NE(refuse("devices: [\n"), "none");
  EXPECT_NE(error_of(parse_nvidia_spec(std::string(kNvidiaSpecBytesMax + 1, ' '), "n.yaml")),
            "none");
}

TEST(NvidiaSpec, AliasesCannotMakeItLarge) {
  std::string text = "kind: nvidia.com/gpu\nx: &a [" + std::string(1000, 'a');
  for (int i = 0; i < 200; ++i) text += ", " + std::string(1000, 'a');
  text += "]\ndevices:\n";
  for (int i = 0; i < 200; ++i) {
    text += "- {name: d" + std::to_string(i) + ", containerEdits: {env: *a}}\n";
  }
  EXPECT_NE(error_of(parse_nvidia_spec(text, "n.yaml")).find("too many texts"), std::string::npos);
}

// ---- the edits of one container

TEST(Edits, CardsAreFoundByIdOrNumber) {
  const auto edits = edits_for({nvidia()}, {{.id = "GPU-a", .number = "0", .device_minor = 0},
                                            {.id = "GPU-b", .number = "1", .device_minor = 1}});
  ASSERT_TRUE(edits) << error_of(edits);
  std::vector<std::string> nodes;
  for (const CdiDeviceNode& node : edits->device_nodes) nodes.push_back(node.path);
  EXPECT_EQ(nodes, (std::vector<std::string>{"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia0",
                                             "/dev/dri/card1", "/dev/nvidia1"}));
  EXPECT_EQ(edits->env.back(), "NVIDIA_VISIBLE_DEVICES=void");
  EXPECT_EQ(edits->env.size(), 2U);
  EXPECT_EQ(edits->hooks.size(), 2U);
}

TEST(Edits, AnInstanceIsFoundByItsIdAlone) {
  NvidiaSpec spec = nvidia();
  const CardNames instance{.id = "MIG-x", .number = "0:1", .device_minor = 0};
  EXPECT_EQ(error_of(edits_for({spec}, {instance})),
            "card MIG-x is in none of NVIDIA's CDI specifications (nvidia.yaml); generate them "
            "again")
      << "0:1 may be what was there before the card was divided anew";
  spec.devices["MIG-x"] = spec.devices.at("0:1");
  const auto edits = edits_for({spec}, {instance});
  ASSERT_TRUE(edits) << error_of(edits);
  EXPECT_EQ(edits->device_nodes.back().path, "/dev/nvidia-caps/nvidia-cap12");
}

TEST(Edits, ANumberThatMeansAnotherCardIsNotUsed) {
  EXPECT_EQ(error_of(edits_for({nvidia()}, {{.id = "GPU-a", .number = "0", .device_minor = 3}})),
            "device 0 of nvidia.yaml is not card GPU-a, which is /dev/nvidia3; generate the "
            "specification again");
  EXPECT_EQ(error_of(edits_for({nvidia()}, {{.id = "GPU-b", .number = "5", .device_minor = 5}})),
            "device GPU-b of nvidia.yaml is not card GPU-b, which is /dev/nvidia5; generate the "
            "specification again");
  EXPECT_EQ(error_of(edits_for({nvidia()}, {{.id = "GPU-z", .number = "7", .device_minor = 7}})),
            "card GPU-z is in none of NVIDIA's CDI specifications (nvidia.yaml); generate them "
            "again");
}

TEST(Edits, ASpecificationIsWrittenForEveryRuntime) {
  const auto edits = edits_for({nvidia()}, {{.id = "GPU-b", .number = "1", .device_minor = 1}});
  ASSERT_TRUE(edits);
  const std::string text = cdi_spec("ab-1", *edits);
  EXPECT_TRUE(base::JsonCheck::valid(text)) << text;
  EXPECT_EQ(text.find(R"({"cdiVersion":"0.5.0","kind":"stowage.dev/gpu","devices":[{"name":"ab-1",)"
                      R"("containerEdits":{"env":["NVIDIA_CTK_LIBCUDA_DIR=)"),
            0U);
  EXPECT_NE(text.find(R"({"path":"/dev/nvidia1","hostPath":"/dev/nvidia1","type":"c","major":195,)"
                      R"("minor":1,"fileMode":438})"),
            std::string::npos);
  CdiEdits groups = *edits;
  groups.additional_gids = {44};
  EXPECT_EQ(cdi_spec("ab-1", groups).find(R"({"cdiVersion":"0.7.0")"), 0U);
}

// ---- the files

class InjectionTest : public ::testing::Test {
 protected:
  InjectionTest() {
    for (const char* name : {"cdi", "static", "root"}) {
      std::filesystem::create_directory(folder_.path(name));
    }
  }
  [[nodiscard]] Injection injection(InjectionWay way, const std::string& root = "") const {
    return Injection({.way = way,
                      .cdi_folder = folder_.path("cdi"),
                      .static_cdi_folder = folder_.path("static"),
                      .host_root = root});
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path(name)) << text;
  }

  net::testing::TemporaryFolder folder_;
  std::vector<CardNames> cards_{{.id = "GPU-b", .number = "1", .device_minor = 1}};
};

TEST_F(InjectionTest, ByItselfItUsesNvidiasSpecificationIfThereIsOne) {
  Injection automatic = injection(InjectionWay::automatic);
  EXPECT_TRUE(automatic.prepare({.device = "a", .cards = cards_}).value());
  EXPECT_EQ(automatic.last_way(), InjectionWay::runtime);
  EXPECT_EQ(automatic.folder().read("a"),
            "{\"cdiVersion\":\"0.5.0\",\"kind\":\"stowage.dev/gpu\",\"devices\":[{\"name\":\"a\","
            "\"containerEdits\":{\"env\":[\"NVIDIA_VISIBLE_DEVICES=GPU-b\"]}}]}\n");
  write("static/nvidia.yaml", kNvidia);
  EXPECT_TRUE(automatic.prepare({.device = "b", .cards = cards_}).value());
  EXPECT_EQ(automatic.last_way(), InjectionWay::cdi);
  EXPECT_NE(automatic.folder().read("b")->find("/dev/nvidia1"), std::string::npos);
  EXPECT_FALSE(automatic.prepare({.device = "b", .cards = cards_}).value());  // nothing to do
  EXPECT_EQ(automatic.folder().devices().size(), 2U);
  Injection runtime = injection(InjectionWay::runtime);
  EXPECT_TRUE(runtime.prepare({.device = "c", .cards = cards_}).value());
  EXPECT_EQ(runtime.folder().read("c")->find("/dev/nvidia1"), std::string::npos);
}

TEST_F(InjectionTest, WithoutASpecificationWayCdiFailsAndSaysWhatToDo) {
  Injection cdi = injection(InjectionWay::cdi);
  EXPECT_NE(error_of(cdi.prepare({.device = "a", .cards = cards_})).find("nvidia-ctk cdi generate"),
            std::string::npos);
  write("cdi/other.yaml", "kind: vendor.com/net\n");
  write("cdi/broken.yaml", "kind: [\n");
  EXPECT_NE(error_of(cdi.prepare({.device = "a", .cards = cards_})).find("broken.yaml"),
            std::string::npos);
  write("static/nvidia.yaml", kNvidia);
  EXPECT_TRUE(cdi.prepare({.device = "a", .cards = cards_}).value());
}

TEST_F(InjectionTest, AChangedSpecificationIsReadAgain) {
  Injection cdi = injection(InjectionWay::cdi);
  write("static/nvidia.yaml", kNvidia);
  ASSERT_TRUE(cdi.prepare({.device = "a", .cards = cards_}));
  std::string newer = kNvidia;
  for (std::size_t at = newer.find("580.95"); at != std::string::npos; at = newer.find("580.95")) {
    newer.replace(at, 6, "581.10");
  }
  write("static/new.tmp", newer);
  std::filesystem::rename(folder_.path("static/new.tmp"), folder_.path("static/nvidia.yaml"));
  ASSERT_TRUE(cdi.prepare({.device = "b", .cards = cards_}));
  EXPECT_NE(cdi.folder().read("b")->find("libcuda.so.581.10"), std::string::npos);
  // Of two folders, that of the running machine counts.
  write("cdi/nvidia.yaml", kNvidia);
  ASSERT_TRUE(cdi.prepare({.device = "c", .cards = cards_}));
  EXPECT_NE(cdi.folder().read("c")->find("libcuda.so.580.95"), std::string::npos);
  write("cdi/second.yaml", kNvidia);
  EXPECT_NE(error_of(cdi.prepare({.device = "d", .cards = cards_})).find("both describe device"),
            std::string::npos);
}

TEST_F(InjectionTest, APathThatDoesNotExistIsNamed) {
  write("static/nvidia.yaml", kNvidia);
  Injection cdi = injection(InjectionWay::cdi, folder_.path("root"));
  const auto refused = cdi.prepare({.device = "a", .cards = cards_});
  EXPECT_EQ(error_of(refused),
            "/dev/nvidiactl, which NVIDIA's CDI specification names, does not exist; after a "
            "change of the driver, generate the specification again");
  EXPECT_FALSE(cdi.folder().read("a"));
  for (const std::string& path : host_paths(edits_for({nvidia()}, cards_).value())) {
    const std::filesystem::path full = folder_.path("root") + path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full.string()) << "x";
  }
  EXPECT_TRUE(cdi.prepare({.device = "a", .cards = cards_}).value());
}

// The container had these cards before: it may start again although no new file can be made.
TEST_F(InjectionTest, APresentFileIsKeptIfNoNewOneCanBeMade) {
  write("static/nvidia.yaml", kNvidia);
  Injection cdi = injection(InjectionWay::cdi);
  ASSERT_TRUE(cdi.prepare({.device = "a", .cards = cards_}));
  std::filesystem::remove(folder_.path("static/nvidia.yaml"));
  EXPECT_FALSE(cdi.prepare({.device = "a", .cards = cards_}));
  EXPECT_FALSE(cdi.prepare({.device = "a", .cards = cards_, .keep = true}).value());
  EXPECT_FALSE(cdi.prepare({.device = "b", .cards = cards_, .keep = true}));
}

TEST_F(InjectionTest, OnlyOurFilesAreRemoved) {
  Injection runtime = injection(InjectionWay::runtime);
  ASSERT_TRUE(runtime.prepare({.device = "a-1", .cards = cards_}));
  write("cdi/stowage.dev-gpu-x.yaml", "");
  write("cdi/nvidia.json", "{}");
  EXPECT_EQ(runtime.folder().devices(), (std::vector<std::string>{"a-1"}));
  EXPECT_TRUE(runtime.folder().remove("a-1"));
  EXPECT_TRUE(runtime.folder().remove("a-1"));
  EXPECT_TRUE(runtime.folder().devices().empty());
  EXPECT_TRUE(std::filesystem::exists(folder_.path("cdi/nvidia.json")));
}

TEST(InjectionWays, AreParsed) {
  EXPECT_EQ(parse_injection("auto").value(), InjectionWay::automatic);
  EXPECT_EQ(to_string(parse_injection("runtime").value()), "runtime");
  EXPECT_EQ(error_of(parse_injection("links")), "expected auto, cdi or runtime, found \"links\"");
}

}  // namespace
}  // namespace stowage::plugin
