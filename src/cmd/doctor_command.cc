#include "cmd/doctor_command.h"

#include <filesystem>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cmd/exit.h"
#include "cmd/flag_group.h"
#include "doctor/node_checks.h"
#include "doctor/output.h"

namespace stowage::cmd {
namespace {

constexpr const char* kDescription =
    "Checks whether this node can give cards to containers, and only to those that asked for\n"
    "them. Prints what is wrong and how to mend it. Reads files, runs nothing, changes nothing.";

constexpr const char* kExamples =
    "Examples:\n"
    "  On a node:\n"
    "    stowage doctor --node\n"
    "  In a pod that has the node's file system at /host, for a program:\n"
    "    stowage doctor --node --root /host -o json\n\n"
    "Exit code: 0 nothing is wrong (there may be warnings), 1 something is, 2 the input is wrong.";

int run(const DoctorFlags& flags) {
  if (!flags.node) {
    return end_with(kExitBadInput, "say what to check: --node (see stowage doctor --help)");
  }
  if (flags.output != "table" && flags.output != "json") {
    return end_with(kExitBadInput, fmt::format("-o {}: write table or json", flags.output));
  }
  std::error_code ignored;
  if (!flags.root.empty() && !std::filesystem::is_directory(flags.root, ignored)) {
    return end_with(kExitBadInput, fmt::format("--root {}: there is no such folder", flags.root));
  }
  const doctor::NodeReport report = doctor::examine(doctor::read_node(flags.root));
  const int code =
      print(flags.output == "json" ? doctor::to_json(report) : doctor::to_table(report));
  return code == kExitOk && !doctor::sound(report.findings) ? kExitFailed : code;
}

}  // namespace

Command add_doctor_command(CLI::App& app, DoctorFlags& flags) {
  CLI::App* const command = app.add_subcommand("doctor", kDescription);
  command->footer(kExamples);
  command->get_formatter()->column_width(26);
  const FlagGroup group(*command);
  group.flag("--node", flags.node, "check the machine on which this runs");
  group.value("--root", flags.root, "DIR", "where the machine's file system is mounted");
  group.value("-o,--output", flags.output, "FORMAT", "table or json");
  return {.app = command, .run = [&flags] { return run(flags); }};
}

}  // namespace stowage::cmd
