#include "doctor/node_checks.h"

#include <functional>
#include <map>

#include <gtest/gtest.h>

namespace stowage::doctor {
namespace {

// A node on which everything is as it should be: containerd 2 and NVIDIA's toolkit.
NodeFacts sound_node() {
  NodeFacts facts;
  facts.driver = "NVRM version: 580.159.04";
  facts.control_device = true;
  facts.runtime = NodeFacts::Runtime::containerd;
  facts.runtime_files.push_back({.file = "/etc/containerd/config.toml",
                                 .content = RuntimeConfig{.cdi = {},
                                                          .cdi_folders = {},
                                                          .default_runtime = "runc",
                                                          .nvidia_runtimes = {"nvidia"},
                                                          .version = 3,
                                                          .imports = {}}});
  facts.toolkit = Read<ToolkitConfig>{.file = "/etc/nvidia-container-runtime/config.toml",
                                      .content = ToolkitConfig{.accepts_variable = false}};
  plugin::NvidiaSpec spec;
  spec.file = "/etc/cdi/nvidia.yaml";
  spec.devices["0"] = {};
  facts.nvidia_specs.push_back({.file = spec.file, .content = spec});
  facts.device_plugins = facts.kubelet = facts.podresources = true;
  return facts;
}

RuntimeConfig& config_of(NodeFacts& facts) { return *facts.runtime_files.front().content; }

State state_of(const NodeReport& report, const std::string& check) {
  for (const Finding& finding : report.findings) {
    if (finding.check == check) return finding.state;
  }
  ADD_FAILURE() << "no check " << check;
  return State::ok;
}

TEST(NodeChecks, OfASoundNodeFindNothing) {
  const NodeReport report = examine(sound_node());
  for (const Finding& finding : report.findings) {
    EXPECT_EQ(finding.state, State::ok) << finding.check << ": " << finding.text;
    EXPECT_EQ(finding.remedy, "") << finding.check;
  }
  EXPECT_EQ(report.way, Way::cdi);
}

TEST(NodeChecks, FindEachFaultAndNameARemedy) {
  const struct {
    const char* fault;
    std::function<void(NodeFacts&)> make;
    const char* check;
    State state;
    Way way;
  } rows[] = {
      {"no driver", [](NodeFacts& f) { f.driver.reset(); }, "driver", State::wrong, Way::none},
      {"no control device", [](NodeFacts& f) { f.control_device = false; }, "driver", State::wrong,
       Way::cdi},
      {"no specification", [](NodeFacts& f) { f.nvidia_specs.clear(); }, "nvidia-spec",
       State::warning, Way::runtime},
      {"a broken specification", [](NodeFacts& f) { f.nvidia_specs[0].content = fail("not YAML"); },
       "nvidia-spec", State::wrong, Way::runtime},
      {"a specification of an older driver",
       [](NodeFacts& f) { f.missing_paths = {"/usr/lib/libcuda.so.570"}; }, "nvidia-spec",
       State::wrong, Way::runtime},
      {"no runtime",
       [](NodeFacts& f) {
         f.runtime = NodeFacts::Runtime::none;
         f.runtime_files.clear();
       },
       "runtime", State::warning, Way::cdi},
      {"a broken file of the runtime",
       [](NodeFacts& f) {
         f.runtime_files.push_back(
             {.file = "/etc/containerd/conf.d/x.toml", .content = fail("line 3")});
       },
       "runtime", State::wrong, Way::cdi},
      {"CDI switched off", [](NodeFacts& f) { config_of(f).cdi = false; }, "cdi", State::wrong,
       Way::none},
      {"CDI not switched on in containerd 1.7", [](NodeFacts& f) { config_of(f).version = 2; },
       "cdi", State::warning, Way::cdi},
      {"another CDI folder", [](NodeFacts& f) { config_of(f).cdi_folders = {{"/etc/cdi"}}; }, "cdi",
       State::wrong, Way::none},
      {"cards for whoever asks", [](NodeFacts& f) { f.toolkit->content->accepts_variable = true; },
       "bypass", State::wrong, Way::cdi},
      {"the toolkit's default", [](NodeFacts& f) { f.toolkit.reset(); }, "bypass", State::wrong,
       Way::cdi},
      {"a variable that is needed and ignored", [](NodeFacts& f) { f.nvidia_specs.clear(); },
       "bypass", State::wrong, Way::runtime},
      {"no kubelet", [](NodeFacts& f) { f.kubelet = false; }, "kubelet", State::wrong, Way::cdi},
      {"no folder of the kubelet", [](NodeFacts& f) { f.device_plugins = false; }, "kubelet",
       State::wrong, Way::cdi},
      {"no podresources", [](NodeFacts& f) { f.podresources = false; }, "kubelet", State::warning,
       Way::cdi},
      {"NVIDIA's plugin", [](NodeFacts& f) { f.foreign_plugins = {"nvidia-gpu.sock"}; },
       "other-plugins", State::warning, Way::cdi},
  };
  for (const auto& row : rows) {
    NodeFacts facts = sound_node();
    row.make(facts);
    const NodeReport report = examine(facts);
    EXPECT_EQ(state_of(report, row.check), row.state) << row.fault;
    EXPECT_EQ(report.way, row.way) << row.fault;
    EXPECT_EQ(state_of(report, "injection"), row.way == Way::none ? State::wrong : State::ok)
        << row.fault;
    for (const Finding& finding : report.findings) {
      EXPECT_EQ(finding.remedy.empty(), finding.state == State::ok)
          << row.fault << ": " << finding.check;
    }
  }
}

TEST(NodeChecks, NeedNoNvidiaRuntime) {
  NodeFacts facts = sound_node();
  config_of(facts).nvidia_runtimes.clear();
  facts.toolkit.reset();
  const NodeReport report = examine(facts);
  EXPECT_TRUE(sound(report.findings));
  EXPECT_EQ(report.way, Way::cdi);
}

TEST(NodeChecks, NameTheTableOfTheFormat) {
  NodeFacts facts = sound_node();
  config_of(facts).cdi = false;
  config_of(facts).version = 2;
  for (const Finding& finding : examine(facts).findings) {
    if (finding.check != "cdi") continue;
    EXPECT_EQ(finding.remedy,
              "set enable_cdi = true in [plugins.\"io.containerd.grpc.v1.cri\"] of "
              "/etc/containerd/config.toml, then: systemctl restart containerd");
  }
}

}  // namespace
}  // namespace stowage::doctor
