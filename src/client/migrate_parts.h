// The parts of a migration. Only for the files migrate*.cc.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "client/tree.h"
#include "client/yaml_out.h"

namespace stowage::client {

using Comments = std::vector<std::string>;

// An extender of kube-scheduler that Stowage serves.
struct Served {
  std::string preset;
  std::string listen;
  bool ignorable = false;
  bool tls = false;
  bool behind_api = false;  // kube-scheduler asks the API server, which forwards to us
};

// The new file while it is being written.
struct Script {
  YamlOut out;
  std::size_t changes = 0;
  Comments check;  // for the head: what a person has to check
  std::vector<Served> served;
  Comments profiles;  // of the controller, besides the built-in ones

  // Adds a comment about a change.
  void tell(std::string_view words) {
    ++changes;
    out.comment(words);
  }
};

// A profile of v1 before it is written.
struct ProfileDraft {
  struct Plugin {
    std::string name;
    std::string weight;  // digits; empty: none
  };
  struct Point {
    std::string name;
    Comments comments;
    std::vector<Plugin> enabled;
    std::vector<Plugin> disabled;
  };
  struct Config {
    std::string plugin;
    Comments comments;
    Tree args;
  };
  std::string scheduler_name;
  std::string percentage;  // digits; empty: none
  Comments comments;
  std::vector<Point> points;
  std::vector<Config> configs;

  Point& point(std::string_view name);
  Config& config(std::string_view plugin);
  // The plugin scores with that weight. Nothing is written if that is the default.
  void score(std::string_view plugin, const std::string& weight, std::string_view of);
  // How NodeResourcesFit scores; the first call counts.
  void strategy(std::string_view type, const Tree* args, std::string_view of);
};
void write(const ProfileDraft& draft, Script& script);

// Reads predicates and priorities of a Policy into its one profile.
void read_policy(const Tree& policy, ProfileDraft& draft);
// Reads one profile of a KubeSchedulerConfiguration: plugins and pluginConfig.
void read_profile(const Tree& profile, bool alpha1, ProfileDraft& draft);
// Whether the profile enables a plugin of Alnair, which only its own build of the scheduler has.
[[nodiscard]] bool names_alnair(const Tree& profile);

// All extenders of the file, and ours instead of Alnair's plugins.
void write_extenders(const Tree& config, bool alnair, Script& script);

// ---- the controller's side (migrate_controller.cc)
// Once for each preset.
void serve(Script& script, Served served);
// The address where the controller must listen for this URL.
[[nodiscard]] std::string listen_for(std::string_view url, std::string_view by_default);
[[nodiscard]] std::string controller_config(const Script& script);
// The programs that must not run beside Stowage.
[[nodiscard]] Comments stop_first(const Script& script);

// "field "x" is not known": for keys that are not read.
[[nodiscard]] std::string unknown_key(std::string_view where, std::string_view key);
// An integer as digits; empty if it is something else.
[[nodiscard]] std::string whole_number(const Tree& tree);

}  // namespace stowage::client
