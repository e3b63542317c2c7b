#include <cstdint>

#include <fmt/format.h>

#include "base/number.h"
#include "cmd/local_command.h"
#include "local/cluster/kubeconfig_file.h"
#include "local/fleet/mix_file.h"

namespace stowage::cmd {
namespace {

constexpr std::int32_t kDefaultNodes = 16;
constexpr std::int32_t kDefaultGpus = 8;
constexpr const char* kDefaultModel = "A100-80GB";
constexpr std::int32_t kPortMax = 65535;

struct Number {
  const char* flag;
  std::int32_t least;
  std::int32_t most;
  std::int32_t absent;
};
Result<std::int32_t> number(const std::string& text, const Number& rule) {
  if (text.empty()) return rule.absent;
  const auto value = base::parse_number<std::int32_t>(text);
  if (value && *value >= rule.least && *value <= rule.most) return *value;
  return fail(fmt::format("{} is \"{}\": give a whole number from {} to {}", rule.flag, text,
                          rule.least, rule.most));
}

Result<std::vector<local::NodeGroup>> node_groups(const LocalFlags& flags) {
  if (!flags.mix.empty()) {
    for (const auto& [flag, given] :
         {std::pair{"--nodes", !flags.nodes.empty()}, std::pair{"--gpus", !flags.gpus.empty()},
          std::pair{"--model", !flags.model.empty()}}) {
      if (given) return fail(fmt::format("--mix defines all nodes: leave out {}", flag));
    }
    return local::read_mix_file(flags.mix);
  }
  local::NodeGroup group;
  STOWAGE_TRY_ASSIGN(group.count,
                     number(flags.nodes, {"--nodes", 0, local::kNodesMax, kDefaultNodes}));
  STOWAGE_TRY_ASSIGN(group.gpus,
                     number(flags.gpus, {"--gpus", 0, local::kCardsPerNodeMax, kDefaultGpus}));
  auto model = local::find_card_model(flags.model.empty() ? kDefaultModel : flags.model);
  if (!model) return fail("--model: " + model.error().message);
  group.model = *std::move(model);
  return std::vector{std::move(group)};
}

}  // namespace

Result<local::ClusterOptions> cluster_options(const LocalFlags& flags) {
  local::ClusterOptions options;
  STOWAGE_TRY_ASSIGN(options.nodes, node_groups(flags));
  STOWAGE_TRY(port, number(flags.port, {"--port", 0, kPortMax, 0}));
  options.port = static_cast<std::uint16_t>(port);
  options.kubeconfig =
      flags.kubeconfig.empty() ? local::default_kubeconfig_path() : flags.kubeconfig;
  if (flags.no_controller && !flags.config.empty()) {
    return fail(
        "--config is for the controller: leave out --no-controller, or pass --config to `stowage "
        "controller`");
  }
  return options;
}

}  // namespace stowage::cmd
