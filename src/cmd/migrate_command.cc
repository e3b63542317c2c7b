#include "cmd/migrate_command.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/file.h"
#include "client/manifests.h"
#include "client/migrate.h"
#include "cmd/exit.h"

namespace stowage::cmd {
namespace {

constexpr const char* kDescription = "Turns old configurations into current ones.";

constexpr const char* kConfigDescription =
    "Turns an old configuration of kube-scheduler into one that a current kube-scheduler\n"
    "accepts (kubescheduler.config.k8s.io/v1), with a comment on everything that changed.";

constexpr const char* kExamples =
    "Examples:\n"
    "  A policy file, as in the READMEs of GPU schedulers:\n"
    "    stowage migrate scheduler-config scheduler-policy.json > kube-scheduler.yaml\n"
    "  Write the configuration of `stowage controller` too:\n"
    "    stowage migrate scheduler-config old.json -o new.yaml --controller-config stowage.yaml\n"
    "  A configuration of v1alpha1 to v1beta3, from a ConfigMap:\n"
    "    kubectl -n kube-system get cm gpu-scheduler -o yaml | stowage migrate scheduler-config -\n"
    "  Check that kube-scheduler accepts the result:\n"
    "    kube-scheduler --config kube-scheduler.yaml --write-config-to /tmp/complete.yaml\n\n"
    "Input: Policy (v1), KubeSchedulerConfiguration (v1alpha1 to v1), a part of either, a single\n"
    "extender, or a ConfigMap that contains one; YAML or JSON. The first lines of the result list\n"
    "what to check.\n"
    "Exit code: 0, or 2 if the file is none of these.";

int write_file(const std::string& path, const std::string& text) {
  const Status written = base::write_file(path, text);
  return written ? kExitOk : end_with(kExitFailed, written.error().message);
}

int run(const MigrateFlags& flags) {
  const auto text = client::read_input(flags.file, client::kMaxConfigBytes);
  if (!text) return end_with(kExitBadInput, text.error().message);
  const std::string name = flags.file == "-" ? "standard input" : flags.file;
  const auto migration = client::migrate_scheduler_config(*text, name);
  if (!migration) return end_with(kExitBadInput, migration.error().message);
  const bool to_file = !flags.output.empty() && flags.output != "-";
  const int code = to_file ? write_file(flags.output, migration->yaml) : print(migration->yaml);
  if (code != kExitOk) return code;
  if (!flags.controller.empty()) {
    if (migration->controller.empty()) {
      return end_with(kExitFailed,
                      "Stowage replaces no extender of this file: there is no controller "
                      "configuration to write");
    }
    const int wrote = write_file(flags.controller, migration->controller);
    if (wrote != kExitOk) return wrote;
  }
  return end_with(kExitOk, fmt::format("migrated {}: {} changes, each with a comment",
                                       migration->from, migration->changes));
}

}  // namespace

Command add_migrate_command(CLI::App& app, MigrateFlags& flags) {
  CLI::App* const migrate = app.add_subcommand("migrate", kDescription);
  migrate->require_subcommand(1);
  migrate->footer("Its own help: stowage migrate scheduler-config --help");
  CLI::App* const command = migrate->add_subcommand("scheduler-config", kConfigDescription);
  command->footer(kExamples);
  command->get_formatter()->column_width(26);
  command->add_option("FILE", flags.file, "the old configuration; - is the standard input")
      ->type_name("")
      ->required();
  command
      ->add_option("-o,--output", flags.output,
                   "write the result to this file, not to standard output")
      ->type_name("FILE");
  command
      ->add_option("--controller-config", flags.controller,
                   "also write the matching configuration of\n"
                   "`stowage controller` to this file")
      ->type_name("FILE");
  return {.app = migrate, .run = [&flags] { return run(flags); }};
}

}  // namespace stowage::cmd
