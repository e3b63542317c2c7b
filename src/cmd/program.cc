#include "cmd/program.h"

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/nearest.h"
#include "base/version.h"
#include "cmd/agent_command.h"
#include "cmd/command.h"
#include "cmd/controller_command.h"
#include "cmd/doctor_command.h"
#include "cmd/exit.h"
#include "cmd/local_command.h"
#include "cmd/migrate_command.h"
#include "cmd/mps_command.h"
#include "cmd/sim_command.h"
#include "cmd/what_if_command.h"

namespace stowage::cmd {
namespace {

std::string version_text() {
  std::string text = "stowage " + std::string(base::kVersion);
  if (!base::kCommit.empty()) text += " (" + std::string(base::kCommit) + ")";
  return text + "\n";
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

// The innermost command on the command line, and its full name: "local demo".
const CLI::App* innermost(const CLI::App& app, std::string& path) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().front();
    path += at->get_name() + " ";
  }
  return at;
}

std::string unknown_argument(const CLI::App& app) {
  std::string path;
  const CLI::App& where = *innermost(app, path);
  const auto rest = app.remaining(true);
  const std::string word = rest.empty() ? "" : rest.front();
  const std::vector<std::string> commands = commands_of(where);
  const bool flag = word.starts_with('-');
  const std::string what = flag ? "flag" : commands.empty() ? "argument" : "command";
  const std::string hint = flag ? base::nearest(word.substr(0, word.find('=')), flags_of(where))
                                : base::nearest(word, commands);
  std::string message = "unknown " + what + " \"" + word + "\"";
  if (!hint.empty()) message += "; did you mean " + hint + "?";
  return message + " (see stowage " + path + "--help)";
}

std::string help_text(const CLI::App& app) {
  std::string path = "stowage ";
  const CLI::App* at = innermost(app, path);
  if (at == &app) return app.help();
  path.resize(path.rfind(at->get_name()) - 1);
  return at->help(path);
}

// stowage help local demo
int print_help_of(const CLI::App& app, const std::vector<std::string>& topic) {
  const CLI::App* at = &app;
  std::string path;
  for (const std::string& word : topic) {
    const CLI::App* next = nullptr;
    for (const CLI::App* command : at->get_subcommands({})) {
      if (command->get_name() == word) next = command;
    }
    if (next == nullptr) {
      const std::string hint = base::nearest(word, commands_of(*at));
      return end_with(kExitBadInput, "unknown command \"" + word.substr(0, 64) + "\"" +
                                         (hint.empty() ? "" : "; did you mean " + hint + "?") +
                                         " (see stowage " + path + "--help)");
    }
    path += word + " ";
    at = next;
  }
  // app.help() would be that of the command "help", which was parsed.
  if (at == &app)
    return print(app.get_formatter()->make_help(&app, "stowage", CLI::AppFormatMode::Normal));
  std::string parents = "stowage " + path;
  parents.resize(parents.rfind(at->get_name()) - 1);
  return print(at->help(parents));
}

std::string lower_first(std::string text) {
  if (text.size() > 1 && text[0] >= 'A' && text[0] <= 'Z' && text[1] >= 'a' && text[1] <= 'z') {
    text[0] = static_cast<char>(text[0] - 'A' + 'a');
  }
  return text;
}

}  // namespace

int run_program(int argc, const char* const* argv) {
  CLI::App app("Stowage places GPU pods on Kubernetes nodes, down to the card and its share.");
  app.name("stowage");
  app.footer(
      "Start here:\n"
      "  stowage local                 a cluster in memory for experiments; works with kubectl\n"
      "  stowage local demo            the same, with a workload and the reason of a refusal\n"
      "  stowage what-if --help        would these pods fit into my cluster? Needs no access to "
      "it\n"
      "  stowage controller --help     schedule a real cluster (deploy/stowage.yaml)\n\n"
      "Each command has its own help, with examples: stowage help local, stowage local --help\n"
      "Exit code: 0 success, 1 failure, 2 the input is wrong.");
  app.set_version_flag("--version", version_text(), "print the version and exit");
  app.set_help_flag("-h,--help", "print this help and exit");
  app.require_subcommand(0, 1);
  LocalFlags local_flags;
  ControllerFlags controller_flags;
  AgentFlags agent_flags;
  SimFlags sim_flags;
  WhatIfFlags what_if_flags;
  MigrateFlags migrate_flags;
  MpsFlags mps_flags;
  DoctorFlags doctor_flags;
  const std::vector<Command> commands{
      add_local_command(app, local_flags),
      add_controller_command(app, controller_flags),
      add_agent_command(app, agent_flags),
      {.app = add_sim_command(app, sim_flags),
       .run = [&sim_flags] { return run_sim_command(sim_flags); }},
      add_what_if_command(app, what_if_flags),
      add_migrate_command(app, migrate_flags),
      add_mps_command(app, mps_flags),
      add_doctor_command(app, doctor_flags),
  };
  CLI::App* const version = app.add_subcommand("version", "print the version and exit");
  CLI::App* const help = app.add_subcommand("help", "print the help of a command and exit");
  std::vector<std::string> topic;
  help->add_option("COMMAND", topic, "e.g. local demo")->type_name("");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForVersion&) {
    return print(version_text());
  } catch (const CLI::CallForHelp&) {
    return print(help_text(app));
  } catch (const CLI::ExtrasError&) {
    return end_with(kExitBadInput, unknown_argument(app));
  } catch (const CLI::ParseError& error) {
    return end_with(kExitBadInput, lower_first(error.what()));
  }
  if (version->parsed()) return print(version_text());
  if (help->parsed()) return print_help_of(app, topic);
  for (const Command& command : commands) {
    if (command.app->parsed()) return command.run();
  }
  return print(app.help());
}

}  // namespace stowage::cmd
