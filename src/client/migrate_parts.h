// The pieces that a migration is made of. Only for the files migrate*.cc.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/tree.h"
#include "client/yaml_out.h"

namespace stowage::client {

using Comments = std::vector<std::string>;

// An extender of kube-scheduler that Stowage answers for.
struct Served {
  std::string preset;
  std::string listen;
  bool ignorable = false;
  bool tls = false;
  bool behind_api = false;  // kube-scheduler asks the API server, which asks us
};

// The new file while it is written.
struct Script {
  YamlOut out;
  std::size_t changes = 0;
  Comments check;  // for the head: what a person has to look at
  std::vector<Served> served;
  Comments profiles;  // of the controller, besides its own

  // A comment on something that changed.
  void tell(std::string_view words) {
    ++changes;
    out.comment(words);
  }
};

// A profile of v1, before it is written.
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
  // The plugin scores with that weight. Nothing is written where that is so anyway.
  void score(std::string_view plugin, const std::string& weight, std::string_view of);
  // How NodeResourcesFit scores; the first one to say so counts.
  void strategy(std::string_view type, const Tree* args, std::string_view of);
};
void write(const ProfileDraft& draft, Script& script);

// predicates and priorities of a Policy, into the one profile that it is.
void read_policy(const Tree& policy, ProfileDraft& draft);
// One profile of a KubeSchedulerConfiguration: plugins and pluginConfig.
void read_profile(const Tree& profile, bool alpha1, ProfileDraft& draft);
// True if the profile enables a plugin of Alnair, which only its own build of the scheduler has.
[[nodiscard]] bool names_alnair(const Tree& profile);

// All extenders of the file; and ours in the place of Alnair's plugins.
void write_extenders(const Tree& config, bool alnair, Script& script);

// ---- the controller's side (migrate_controller.cc)
// Once for each preset.
void serve(Script& script, Served served);
// Where the controller has to listen so that this URL finds it.
[[nodiscard]] std::string listen_for(std::string_view url, std::string_view by_default);
[[nodiscard]] std::string controller_config(const Script& script);
// What ran before and must not run beside Stowage.
[[nodiscard]] Comments stop_first(const Script& script);

// "field "x" is not known": for keys that nobody reads.
[[nodiscard]] std::string unknown_key(std::string_view where, std::string_view key);
// A number without a fraction, as digits; empty if it is something else.
[[nodiscard]] std::string whole_number(const Tree& tree);

}  // namespace stowage::client
