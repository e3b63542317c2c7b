// Predicates, priorities, plugins and their arguments.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "client/migrate_parts.h"
#include "client/scheduler_plugins.h"

namespace stowage::client {
namespace {

constexpr std::string_view kAlnair[] = {"alnaircostsaving", "alnairhighperformance"};

bool is_alnair(std::string_view plugin) {
  return std::any_of(std::begin(kAlnair), std::end(kAlnair),
                     [&](auto name) { return same_key(name, plugin); });
}

void put(Tree& object, std::string key, Tree value) {
  object.kind = Tree::Kind::object;
  for (auto& [name, old] : object.fields) {
    if (name == key) {
      old = std::move(value);
      return;
    }
  }
  object.fields.push_back({.key = std::move(key), .value = std::move(value)});
}

void add(std::vector<ProfileDraft::Plugin>& list, ProfileDraft::Plugin plugin) {
  const bool there = std::any_of(list.begin(), list.end(),
                                 [&](const auto& other) { return other.name == plugin.name; });
  if (!there) list.push_back(std::move(plugin));
}

std::string name_of(const Tree& entry) {
  return entry.is(Tree::Kind::text) ? entry.scalar : entry.text_at("name");
}

std::string weight_of(const Tree& entry) {
  const Tree* weight = entry.find("weight");
  std::string digits = weight == nullptr ? "" : whole_number(*weight);
  return digits == "0" || digits.starts_with('-') ? "" : digits;
}

// A plugin that a point enables or disables, by its successor. Unset: none.
void read_enabled(const Tree& entry, ProfileDraft::Point& point, ProfileDraft& draft) {
  const std::string name = name_of(entry);
  const std::string weight = weight_of(entry);
  if (is_current_plugin(name)) return add(point.enabled, {.name = name, .weight = weight});
  if (is_alnair(name)) {
    point.comments.push_back(fmt::format(
        "{} is left out: only Alnair's own build of the scheduler has it. Stowage replaces it.",
        name));
    return;
  }
  const Successor* successor = former_plugin(name);
  if (successor == nullptr) {
    point.comments.push_back(
        fmt::format("{} is left out: kube-scheduler has no such plugin. If your build of it has "
                    "one, write it here again.",
                    name));
  } else if (!successor->strategy.empty()) {
    if (point.name == "score") draft.score(successor->plugin, weight, name);
    draft.strategy(successor->strategy, nullptr, name);
  } else if (successor->plugin.empty()) {
    point.comments.push_back(fmt::format("{} is left out: {}.", name, successor->why));
  } else {
    point.comments.push_back(fmt::format("{} is {} now.", name, successor->plugin));
    if (point.name == "score" && !weight.empty()) {
      add(point.enabled, {.name = std::string(successor->plugin), .weight = weight});
    }
  }
}

void read_disabled(const Tree& entry, ProfileDraft::Point& point) {
  const std::string name = name_of(entry);
  if (name == "*" || is_current_plugin(name)) return add(point.disabled, {.name = name});
  point.comments.push_back(fmt::format("{} need not be disabled: it no longer exists.", name));
}

void read_point(const std::string& key, const Tree& value, bool alpha1, ProfileDraft& draft) {
  // preScore was formerly called postFilter.
  const bool renamed = alpha1 && same_key(key, "postFilter");
  const std::string_view name = renamed ? "preScore" : current_point(key);
  if (name.empty()) {
    draft.comments.push_back(same_key(key, "unreserve")
                                 ? "plugins.unreserve is left out: it is a part of reserve now."
                                 : unknown_key("plugins", key));
    return;
  }
  if (renamed) draft.point(name).comments.emplace_back("postFilter is called preScore now.");
  const Tree* enabled = value.find("enabled");
  const Tree* disabled = value.find("disabled");
  if (disabled != nullptr) {
    for (const Tree& entry : disabled->elements) read_disabled(entry, draft.point(name));
  }
  if (enabled == nullptr) return;
  for (const Tree& entry : enabled->elements) read_enabled(entry, draft.point(name), draft);
  ProfileDraft::Point& point = draft.point(name);
  const bool all_off = std::any_of(point.disabled.begin(), point.disabled.end(),
                                   [](const auto& plugin) { return plugin.name == "*"; });
  if (all_off && point.enabled.empty() && !enabled->elements.empty()) {
    point.disabled.clear();
    point.comments.push_back(
        fmt::format("The default plugins for {} stay enabled, since nothing replaces them.", name));
  }
}

// pluginConfig of a plugin that is now a scoring strategy.
void read_strategy(const Successor& successor, const Tree* args, ProfileDraft& draft) {
  draft.strategy(successor.strategy, args, successor.old);
}

void read_config(const Tree& entry, ProfileDraft& draft) {
  const std::string name = entry.text_at("name");
  const Tree* args = entry.find("args");
  const Successor* former = former_plugin(name);
  if (former != nullptr && !former->strategy.empty()) return read_strategy(*former, args, draft);
  if (!is_current_plugin(name)) {
    draft.comments.push_back(
        fmt::format("The arguments of {} are left out: kube-scheduler has no such plugin.", name));
    return;
  }
  if (args == nullptr) return;
  ProfileDraft::Config& config = draft.config(name);
  const auto keys = argument_keys(name);
  for (const auto& [key, value] : args->fields) {
    if (key == "apiVersion" || key == "kind") continue;
    const auto known = std::find_if(
        keys.begin(), keys.end(), [&, &k = key](auto candidate) { return same_key(candidate, k); });
    if (known == keys.end()) {
      config.comments.push_back(unknown_key(name, key));
    } else {
      put(config.args, std::string(*known), value);
    }
  }
  const Tree* constraints = config.args.find("defaultConstraints");
  if (name == "PodTopologySpread" && constraints != nullptr && !constraints->elements.empty() &&
      config.args.find("defaultingType") == nullptr) {
    config.comments.emplace_back("defaultingType must be set if there are constraints.");
    put(config.args, "defaultingType", Tree::text("List"));
  }
}

}  // namespace

std::string unknown_key(std::string_view where, std::string_view key) {
  return fmt::format("{} of {} is left out: kube-scheduler does not know it.", key, where);
}

std::string whole_number(const Tree& tree) {
  if (!tree.is(Tree::Kind::number)) return {};
  return tree.scalar.find_first_of(".eE") == std::string::npos ? tree.scalar : std::string();
}

ProfileDraft::Point& ProfileDraft::point(std::string_view name) {
  for (Point& known : points) {
    if (known.name == name) return known;
  }
  points.push_back({.name = std::string(name)});
  return points.back();
}

ProfileDraft::Config& ProfileDraft::config(std::string_view plugin) {
  for (Config& known : configs) {
    if (known.plugin == plugin) return known;
  }
  configs.push_back({.plugin = std::string(plugin)});
  configs.back().args.kind = Tree::Kind::object;
  return configs.back();
}

void ProfileDraft::score(std::string_view plugin, const std::string& weight, std::string_view of) {
  const auto usual = default_weight(plugin);
  if (weight.empty() || (usual && weight == std::to_string(*usual))) {
    comments.push_back(fmt::format("{} is {} now, which scores by default.", of, plugin));
    return;
  }
  Point& scores = point("score");
  const auto there = std::find_if(scores.enabled.begin(), scores.enabled.end(),
                                  [&](const Plugin& entry) { return entry.name == plugin; });
  if (there != scores.enabled.end()) {
    scores.comments.push_back(fmt::format(
        "{} with weight {} is {} too, which has a weight already.", of, weight, plugin));
    return;
  }
  scores.comments.push_back(fmt::format("{} with weight {} is {} now.", of, weight, plugin));
  scores.enabled.push_back({.name = std::string(plugin), .weight = weight});
}

void ProfileDraft::strategy(std::string_view type, const Tree* args, std::string_view of) {
  Config& fit = config("NodeResourcesFit");
  const Tree* present = fit.args.find("scoringStrategy");
  if (present != nullptr && present->text_at("type") != type) {
    fit.comments.push_back(fmt::format(
        "{} is left out: NodeResourcesFit has one scoring strategy, and that is {} here.", of,
        present->text_at("type")));
    return;
  }
  Tree strategy = present == nullptr ? Tree() : *present;
  if (present == nullptr) {
    fit.comments.push_back(fmt::format("{} is a scoring strategy of NodeResourcesFit now.", of));
    put(strategy, "type", Tree::text(std::string(type)));
  }
  const Tree* resources = args == nullptr ? nullptr : args->find("resources");
  const Tree* shape = args == nullptr ? nullptr : args->find("shape");
  if (resources != nullptr && !resources->elements.empty()) put(strategy, "resources", *resources);
  if (shape != nullptr) {
    Tree ratio;
    put(ratio, "shape", *shape);
    put(strategy, "requestedToCapacityRatio", std::move(ratio));
  }
  put(fit.args, "scoringStrategy", std::move(strategy));
}

void read_policy(const Tree& policy, ProfileDraft& draft) {
  const Tree* predicates = policy.find("predicates");
  for (const Tree& entry : predicates == nullptr ? std::vector<Tree>() : predicates->elements) {
    const std::string name = name_of(entry);
    const Successor* successor = predicate(name);
    if (successor == nullptr) {
      draft.comments.push_back(fmt::format("The predicate {} is left out: it is not known.", name));
    } else if (successor->plugin.empty() || entry.find("argument") != nullptr) {
      draft.comments.push_back(fmt::format("The predicate {} is left out: {}.", name,
                                           successor->why.empty()
                                               ? "it had an argument, which has no equivalent now"
                                               : successor->why));
    } else {
      draft.comments.push_back(fmt::format("The predicate {} is in the default plugins: {}{}{}.",
                                           name, successor->plugin,
                                           successor->why.empty() ? "" : "; ", successor->why));
    }
  }
  const Tree* priorities = policy.find("priorities");
  for (const Tree& entry : priorities == nullptr ? std::vector<Tree>() : priorities->elements) {
    const std::string name = name_of(entry);
    const Successor* successor = priority(name);
    const Tree* argument = entry.find("argument");
    const Tree* ratio =
        argument == nullptr ? nullptr : argument->find("requestedToCapacityRatioArguments");
    if (ratio != nullptr) successor = priority("RequestedToCapacityRatioPriority");
    if (successor == nullptr || successor->plugin.empty()) {
      draft.comments.push_back(
          fmt::format("The priority {} is left out: {}.", name,
                      successor != nullptr ? successor->why : std::string_view("it is not known")));
      continue;
    }
    draft.score(successor->plugin, weight_of(entry), name);
    // LeastAllocated is the default.
    if (!successor->strategy.empty() && successor->strategy != "LeastAllocated") {
      draft.strategy(successor->strategy, ratio, name);
    }
  }
}

void read_profile(const Tree& profile, bool alpha1, ProfileDraft& draft) {
  const Tree* plugins = profile.find("plugins");
  if (plugins != nullptr) {
    for (const auto& [key, value] : plugins->fields) read_point(key, value, alpha1, draft);
  }
  const Tree* configs = profile.find("pluginConfig");
  if (configs == nullptr) return;
  for (const Tree& entry : configs->elements) read_config(entry, draft);
}

bool names_alnair(const Tree& profile) {
  const Tree* plugins = profile.find("plugins");
  if (plugins == nullptr) return false;
  for (const auto& [point, value] : plugins->fields) {
    const Tree* enabled = value.find("enabled");
    if (enabled == nullptr) continue;
    for (const Tree& entry : enabled->elements) {
      if (is_alnair(name_of(entry))) return true;
    }
  }
  return false;
}

void write(const ProfileDraft& draft, Script& script) {
  YamlOut& out = script.out;
  std::set<std::string> told;  // a plugin may appear at several points: one comment is enough
  const auto tell = [&](const Comments& comments) {
    for (const auto& words : comments) {
      if (told.insert(words).second) script.tell(words);
    }
  };
  tell(draft.comments);
  out.item();
  out.field("schedulerName", draft.scheduler_name);
  if (!draft.percentage.empty()) out.raw("percentageOfNodesToScore", draft.percentage);
  out.open("plugins");
  for (const auto& point : draft.points) {
    tell(point.comments);
    out.open(point.name);
    for (const bool enabled : {true, false}) {
      out.open_list(enabled ? "enabled" : "disabled");
      for (const auto& plugin : enabled ? point.enabled : point.disabled) {
        out.item().field("name", plugin.name);
        if (!plugin.weight.empty()) out.raw("weight", plugin.weight);
        out.close();
      }
      out.close();
    }
    out.close();
  }
  out.close();
  out.open_list("pluginConfig");
  for (const auto& config : draft.configs) {
    tell(config.comments);
    if (config.args.fields.empty()) continue;
    out.item().field("name", config.plugin).tree("args", config.args).close();
  }
  out.close().close();
}

}  // namespace stowage::client
