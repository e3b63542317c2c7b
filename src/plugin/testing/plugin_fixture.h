// A device plugin beside a fake kubelet, on folders of their own.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "net/testing/loops.h"
#include "net/testing/temporary_folder.h"
#include "plugin/device_plugin.h"
#include "plugin/testing/fake_kubelet.h"
#include "plugin/testing/fake_node.h"

namespace stowage::plugin::testing {

class PluginFixture : public ::testing::Test {
 protected:
  using Container = FakeKubelet::Container;
  using Started = FakeKubelet::Started;

  PluginFixture() {
    for (const char* name : {"plugins", "cdi", "static", "state"}) {
      std::filesystem::create_directory(folder_.path(name));
    }
    node_.kubelet_ = &kubelet_;
    options_.node = "n1";
    options_.kubelet_folder = folder_.path("plugins");
    options_.state_folder = folder_.path("state");
    options_.injection = {.way = InjectionWay::automatic,
                          .cdi_folder = folder_.path("cdi"),
                          .static_cdi_folder = folder_.path("static"),
                          .host_root = ""};
    options_.devices = 16;
    options_.unix_seconds = [this] { return now_unix_; };
    options_.pre_start.patience = std::chrono::milliseconds{400};
    options_.pre_start.fetch_after = std::chrono::milliseconds{50};
    options_.pre_start.list_wait = std::chrono::milliseconds{100};
    options_.registration.settle = std::chrono::milliseconds{10};
    options_.registration.close_wait = std::chrono::milliseconds{200};
    options_.registration.stream_wait = std::chrono::milliseconds{200};
    options_.sweep_every = std::chrono::hours{1};
  }

  // Another process each time: the seed differs.
  void start_plugin() {
    ++options_.seed;
    auto made = DevicePlugin::create(loop_, options_, node_, log_, [this] { ++changes_; });
    ASSERT_TRUE(made) << made.error().message;
    plugin_ = *std::move(made);
    plugin_->start();
  }
  void start_both() {
    kubelet_.start();
    start_plugin();
    ASSERT_TRUE(until([&] { return registered(); })) << plugin_->trouble();
  }
  [[nodiscard]] bool registered() const {
    return plugin_->registered() && kubelet_.is_healthy("stowage.dev/attachment") &&
           kubelet_.is_healthy("stowage.dev/init-attachment");
  }
  [[nodiscard]] bool until(const std::function<bool()>& ready) {
    return net::testing::run_until(loop_, ready);
  }

  [[nodiscard]] static Container container(const std::string& pod, const std::string& name = "main",
                                           const std::string& resource = "stowage.dev/attachment") {
    return {.pod_uid = "uid-" + pod,
            .ns = "ml",
            .pod = pod,
            .name = name,
            .resource = resource,
            .init = resource == "stowage.dev/init-attachment"};
  }

  // "" or the error.
  std::string allocate(const Container& container, std::size_t count = 1) {
    std::optional<std::string> result;
    kubelet_.allocate(container, count, [&](std::string error) { result = std::move(error); });
    EXPECT_TRUE(until([&] { return result.has_value(); }));
    return result.value_or("no answer");
  }
  Started start_container(const Container& container) {
    std::optional<Started> result;
    kubelet_.pre_start(container, [&](Started started) { result = std::move(started); });
    EXPECT_TRUE(until([&] { return result.has_value(); }));
    return result.value_or(Started{.error = "no answer", .skipped = false, .cdi_devices = {}});
  }

  // What the runtime finds for the CDI devices of a container that starts.
  [[nodiscard]] std::string spec_of(const Started& started) const {
    if (started.cdi_devices.size() != 1) return "no single device";
    const std::string device = started.cdi_devices[0];
    const std::string name = device.substr(device.find('=') + 1);
    std::ifstream file(folder_.path("cdi") + "/stowage.dev-gpu-" + name + ".json");
    if (!file) return "unresolvable CDI device " + device;
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  // The cards that the runtime would add, by way `runtime`.
  [[nodiscard]] std::string cards_of(const Started& started) const {
    const std::string spec = spec_of(started);
    constexpr std::string_view kVariable = "NVIDIA_VISIBLE_DEVICES=";
    const std::size_t at = spec.find(kVariable);
    if (at == std::string::npos) return spec;
    const std::size_t begin = at + kVariable.size();
    return spec.substr(begin, spec.find('"', begin) - begin);
  }
  std::string run(const Container& container) {
    const Started started = start_container(container);
    return started.error.empty() ? cards_of(started) : started.error;
  }
  [[nodiscard]] std::size_t specs() const {
    const std::filesystem::directory_iterator files(folder_.path("cdi"));
    return static_cast<std::size_t>(std::distance(begin(files), end(files)));
  }

  net::testing::TemporaryFolder folder_;
  net::EventLoop loop_;
  std::string logged_;
  base::Log log_{{.write = [this](std::string_view line) { logged_ += line; }}};
  FakeKubelet kubelet_{loop_, folder_.path("plugins")};
  FakeNode node_{loop_, "n1"};
  DevicePluginOptions options_;
  std::int64_t now_unix_ = 1'790'000'000;
  std::unique_ptr<DevicePlugin> plugin_;
  int changes_ = 0;
};

}  // namespace stowage::plugin::testing
