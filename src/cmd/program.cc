#include "cmd/program.h"

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/version.h"
#include "cmd/exit.h"
#include "cmd/nearest.h"
#include "cmd/sim_command.h"

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

std::string unknown_argument(const CLI::App& app, const CLI::App& sim) {
  const bool in_sim = sim.parsed();
  const CLI::App& where = in_sim ? sim : app;
  const auto rest = app.remaining(true);
  const std::string word = rest.empty() ? "" : rest.front();
  const bool flag = word.starts_with('-');
  const std::string what = flag ? "flag" : in_sim ? "argument" : "command";
  const std::string hint = flag      ? nearest(word.substr(0, word.find('=')), flags_of(where))
                           : !in_sim ? nearest(word, {sim.get_name()})
                                     : "";
  std::string message = "unknown " + what + " \"" + word + "\"";
  if (!hint.empty()) message += "; did you mean " + hint + "?";
  return message + " (see stowage " + (in_sim ? "sim " : "") + "--help)";
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
  app.footer("Each command has its own help: stowage sim --help");
  app.set_version_flag("--version", version_text(), "print the version and exit");
  app.set_help_flag("-h,--help", "print this help and exit");
  app.require_subcommand(0, 1);
  SimFlags flags;
  CLI::App* const sim = add_sim_command(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForVersion&) {
    return print(version_text());
  } catch (const CLI::CallForHelp&) {
    return print(sim->parsed() ? sim->help("stowage") : app.help());
  } catch (const CLI::ExtrasError&) {
    return end_with(kExitBadInput, unknown_argument(app, *sim));
  } catch (const CLI::ParseError& error) {
    return end_with(kExitBadInput, lower_first(error.what()));
  }
  if (sim->parsed()) return run_sim_command(flags);
  return end_with(kExitBadInput, "no command given (see stowage --help)");
}

}  // namespace stowage::cmd
