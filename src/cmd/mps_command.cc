#include "cmd/mps_command.h"

#include <csignal>
#include <utility>

#include <CLI/CLI.hpp>

#include "base/log.h"
#include "cmd/card_source.h"
#include "cmd/exit.h"
#include "cmd/flag_group.h"
#include "mps/supervisor.h"
#include "net/event_loop.h"

namespace stowage::cmd {
namespace {

constexpr const char* kDescription =
    "Keeps an MPS daemon of NVIDIA running for each card of this node, so that containers with\n"
    "shares of one card run at the same time, each within its limits. Runs beside the agent, as\n"
    "root, until SIGTERM or Ctrl-C; when it ends, so do the programs that share cards.";

constexpr const char* kExamples =
    "Examples:\n"
    "  On a node, as in the DaemonSet of deploy/mps.yaml:\n"
    "    stowage mps\n"
    "  See which cards have a daemon:\n"
    "    cat /run/stowage/mps/*/state\n\n"
    "What the limits hold against, and what they do not: docs/isolation.md.";

int run(const MpsFlags& flags) {
  const auto level = base::parse_log_level(flags.log.level);
  if (!level) return end_with(kExitBadInput, level.error().message);
  const auto format = base::parse_log_format(flags.log.format);
  if (!format) return end_with(kExitBadInput, format.error().message);
  auto source = card_source(flags.cards, "");
  if (!source) return end_with(kExitBadInput, source.error().message);
  mps::SupervisorOptions options;
  if (!flags.root.empty()) options.root = flags.root;
  if (!flags.program.empty()) options.program = flags.program;

  base::Log log({.level = *level, .format = *format});
  net::EventLoop loop;
  mps::Supervisor supervisor(loop, std::move(options), *std::move(source), log);
  loop.on_signals({SIGTERM, SIGINT}, [&](int /*signal*/) { loop.stop(); });
  supervisor.start();
  loop.run();
  log.info("stopped");
  return kExitOk;
}

}  // namespace

Command add_mps_command(CLI::App& app, MpsFlags& flags) {
  CLI::App* const command = app.add_subcommand("mps", kDescription);
  command->footer(kExamples);
  command->get_formatter()->column_width(26);
  const FlagGroup group(*command);
  group.value("--cards", flags.cards, "SOURCE",
              "where to read the cards: nvml, nvml:LIBRARY or fake:FILE\n"
              "(default nvml)");
  group.value("--root", flags.root, "DIR",
              "folder with the sockets and states of all cards, shared\n"
              "with the agent (default /run/stowage/mps)");
  group.value("--program", flags.program, "FILE",
              "NVIDIA's daemon (default nvidia-cuda-mps-control)");
  add_log_flags(*command, flags.log);
  return {.app = command, .run = [&flags] { return run(flags); }};
}

}  // namespace stowage::cmd
