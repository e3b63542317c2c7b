#include "controller/config.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "base/file.h"
#include "base/nearest.h"
#include "controller/config_check.h"
#include "controller/config_pods.h"
#include "dialect/times.h"
#include "net/address.h"
#include "yaml/strict_map.h"

namespace stowage::controller {
namespace {

constexpr const char* kNone = "none";
constexpr std::size_t kMaxBytes = std::size_t{1} << 20U;

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

void read_picker(yaml::StrictMap& map, scheduler::Profile& profile) {
  map.map("picker", [&](yaml::StrictMap& picker) {
    scheduler::PickerOptions options;
    picker.text("url", options.url);
    if (options.url.empty()) {
      picker.refuse("url",
                    "the address of the picker is missing; write e.g. http://127.0.0.1:8900/pick "
                    "or unix:/run/picker.sock");
    } else if (auto url = scheduler::parse_picker_url(options.url); !url) {
      picker.refuse("url", url.error().message);
    }
    picker.duration("timeout", {.min = milliseconds{1}, .max = seconds{10}}, options.timeout);
    std::uint32_t candidates = 16;
    picker.whole("candidates", {.min = 2, .max = 1000}, candidates);
    auto in_flight = static_cast<std::uint32_t>(options.in_flight_max);
    picker.whole("maxInFlight", {.min = 1, .max = 1024}, in_flight);
    options.in_flight_max = in_flight;
    profile.policy.picker_candidates = static_cast<std::int32_t>(candidates);
    profile.picker = std::move(options);
  });
}

// The words that keys with few values accept; config_keys() lists them.
constexpr const char* kMemoryWithCoreWords = "proportional or none";
constexpr const char* kConflictsWords = "evict or report";
constexpr const char* kSilentNodesWords = "use, avoid or refuse";
constexpr const char* kLogLevelWords = "debug, info, warn or error";
constexpr const char* kLogFormatWords = "text or json";

template <typename T>
struct WordKey {
  std::string name;
  const char* words;
  Result<T> (*parse)(std::string_view);
};

template <typename T>
void read_word(yaml::StrictMap& map, const WordKey<T>& key, T& value) {
  const auto word = map.word(key.name, key.words);
  if (!word) return;
  const Result<T> parsed = key.parse(*word);
  if (parsed) {
    value = *parsed;
  } else {
    map.refuse(key.name, parsed.error().message);
  }
}

Result<dialect::MemoryWithCore> parse_memory_with_core(std::string_view word) {
  using dialect::MemoryWithCore;
  for (const MemoryWithCore rule : {MemoryWithCore::proportional, MemoryWithCore::none}) {
    if (word == dialect::to_string(rule)) return rule;
  }
  return fail(fmt::format("\"{}\" is not known; write {}", word, kMemoryWithCoreWords));
}

void read_memory_with_core(yaml::StrictMap& map, dialect::ReadOptions& reading) {
  read_word(map, {"memoryWithCore", kMemoryWithCoreWords, parse_memory_with_core},
            reading.memory_with_core);
}

// A built-in profile needs only its name; any other needs a policy.
scheduler::Profile read_profile(yaml::StrictMap& map) {
  scheduler::Profile profile;
  map.text("name", profile.name);
  if (profile.name.empty()) map.refuse("name", "a profile needs a name: the schedulerName of pods");
  bool known = false;
  for (auto& built_in : scheduler::built_in_profiles()) {
    if (built_in.name != profile.name) continue;
    profile = std::move(built_in);
    known = true;
  }
  std::string policy;
  map.text("policy", policy);
  if (!policy.empty()) {
    auto choice = core::parse_policy(policy);
    if (choice) {
      profile.policy.choice = *choice;
    } else {
      map.refuse("policy", choice.error().message);
    }
  } else if (!known) {
    map.refuse("policy", "a profile of your own needs a policy, e.g. policy: dual-price");
  }
  map.boolean("holdBack", profile.policy.hold_back);
  map.boolean("floorWholeCards", profile.reading.floor_whole_cards);
  read_memory_with_core(map, profile.reading);
  read_picker(map, profile);
  return profile;
}

void read_profiles(yaml::StrictMap& root, Config& config) {
  if (!root.has("profiles")) return;
  config.profiles.clear();
  std::set<std::string> names;
  root.list("profiles", [&](yaml::StrictMap& map) {
    config.profiles.push_back(read_profile(map));
    const std::string& name = config.profiles.back().name;
    if (!names.insert(name).second) map.refuse("name", fmt::format("\"{}\" appears twice", name));
  });
  if (config.profiles.empty()) root.refuse("profiles", "at least one profile is needed");
}

void read_tls(yaml::StrictMap& map, extender::ExtenderOptions& options) {
  map.map("tls", [&](yaml::StrictMap& tls) {
    extender::TlsFiles files;
    tls.text("certFile", files.certificate);
    tls.text("keyFile", files.key);
    tls.text("clientCAFile", files.client_ca);
    tls.renamed({.old = "clientRequired", .now = "clientCertRequired"});
    tls.boolean("clientCertRequired", files.client_required);
    if (files.certificate.empty()) tls.refuse("certFile", "the path of a PEM file is needed");
    if (files.key.empty()) tls.refuse("keyFile", "the path of a PEM file is needed");
    if (files.client_required && files.client_ca.empty()) {
      tls.refuse("clientCertRequired",
                 "clientCAFile is missing: set the CA that signs the certificates of clients");
    }
    options.tls = std::move(files);
  });
}

void read_forward(yaml::StrictMap& map, extender::ExtenderOptions& options) {
  map.map("forward", [&](yaml::StrictMap& forward) {
    extender::ForwardTls& files = options.forward;
    forward.text("caFile", files.ca);
    forward.text("certFile", files.certificate);
    forward.text("keyFile", files.key);
    forward.text("serverName", files.server_name);
    if (!options.tls)
      forward.refuse("caFile", "forward needs tls: set tls for this extender, or remove forward");
    if (files.certificate.empty() != files.key.empty()) {
      forward.refuse(files.key.empty() ? "keyFile" : "certFile",
                     "set both certFile and keyFile, or neither");
    }
  });
}

extender::ExtenderOptions read_extender(yaml::StrictMap& map) {
  std::string name = "stowage";
  map.text("preset", name);
  auto known = extender::preset(name);
  if (!known) {
    map.refuse("preset", known.error().message);
    known = extender::preset("stowage");
  }
  extender::ExtenderOptions options = std::move(*known);
  map.text("name", options.name);
  map.text("listen", options.listen);
  if (auto address = net::parse_listen(options.listen); !address) {
    map.refuse("listen", address.error().message);
  }
  std::string mode;
  map.text("mode", mode);
  if (!mode.empty()) {
    const auto parsed = extender::parse_mode(mode);
    if (parsed) {
      options.mode = *parsed;
    } else {
      map.refuse("mode", parsed.error().message);
    }
  }
  std::string policy;
  map.text("policy", policy);
  if (!policy.empty()) {
    const auto choice = core::parse_policy(policy);
    if (choice) {
      options.policies = {{.dialect = "", .policy = {}}};
      options.policies.front().policy.choice = *choice;
    } else {
      map.refuse("policy", choice.error().message);
    }
  }
  auto hold = static_cast<std::uint32_t>(options.hold.count());
  map.whole("holdSeconds", {.min = 1, .max = 3600}, hold);
  options.hold = std::chrono::seconds(hold);
  auto limit = static_cast<std::uint32_t>(options.bind_limit.count());
  map.renamed({.old = "bindLimitSeconds", .now = "bindTimeoutSeconds"});
  map.whole("bindTimeoutSeconds", {.min = 1, .max = 86'400}, limit);
  options.bind_limit = std::chrono::seconds(limit);
  map.boolean("floorWholeCards", options.reading.floor_whole_cards);
  map.boolean("errorIfNoNodeHelps", options.error_if_no_node_helps);
  read_memory_with_core(map, options.reading);
  read_tls(map, options);
  read_forward(map, options);
  return options;
}

void read_extenders(yaml::StrictMap& root, Config& config) {
  std::set<std::string> names;
  root.list("extenders", [&](yaml::StrictMap& map) {
    config.extenders.push_back(read_extender(map));
    const std::string& name = config.extenders.back().name;
    if (!names.insert(name).second) {
      map.refuse("name", fmt::format("\"{}\" appears twice; give one another name", name));
    }
  });
}

void read_quota(yaml::StrictMap& root, Config& config) {
  root.map("quota", [&](yaml::StrictMap& map) {
    map.boolean("enabled", config.quota.enabled);
    map.text("namespace", config.quota.ns);
    map.text("gpuQuota", config.quota.gpu_quota);
    map.text("stowageQuota", config.quota.stowage_quota);
    map.text("modelLabel", config.quota.model_label);
    map.text("poolLabel", config.quota.pool_label);
  });
}

void read_nomination(yaml::StrictMap& root, Config& config) {
  root.boolean("preemption", config.engine.preemption);
  root.map("reservation", [&](yaml::StrictMap& map) {
    std::chrono::nanoseconds patience{config.engine.patience_ns};
    map.renamed({.old = "patience", .now = "pendingThreshold"});
    map.duration("pendingThreshold", {.min = seconds{0}, .max = hours{168}}, patience);
    config.engine.patience_ns = patience.count();
    auto nodes = static_cast<std::uint32_t>(config.engine.nodes_per_nomination);
    map.whole("nodesPerReservation", {.min = 1, .max = 1'000'000}, nodes);
    config.engine.nodes_per_nomination = static_cast<std::int32_t>(nodes);
    std::chrono::nanoseconds limit{config.engine.nomination_ns};
    map.renamed({.old = "limit", .now = "timeout"});
    map.duration("timeout", {.min = seconds{1}, .max = hours{168}}, limit);
    config.engine.nomination_ns = limit.count();
  });
  root.map("volumes", [&](yaml::StrictMap& map) {
    map.duration("bindTimeout", {.min = seconds{1}, .max = hours{24}}, config.volume_timeout);
  });
}

bool is_host(const std::string& text) {
  return text.size() <= 253 && std::all_of(text.begin(), text.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' ||
                  c == ':';
         });
}

// The API server's rule for names of objects and namespaces.
bool is_object_name(const std::string& text) {
  return !text.empty() && text.size() <= 63 &&
         std::all_of(text.begin(), text.end(),
                     [](char c) {
                       return std::islower(static_cast<unsigned char>(c)) != 0 ||
                              std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '-';
                     }) &&
         text.front() != '-' && text.back() != '-';
}

void read_leader_election(yaml::StrictMap& root, Config& config) {
  root.map("leaderElection", [&](yaml::StrictMap& map) {
    Config::LeaderElection& leader = config.leader_election;
    map.boolean("enabled", leader.enabled);
    map.text("namespace", leader.ns);
    if (!leader.ns.empty() && !is_object_name(leader.ns)) {
      map.refuse("namespace", fmt::format("\"{}\" is not a valid name of a namespace", leader.ns));
    }
    map.text("name", leader.name);
    if (!is_object_name(leader.name)) {
      map.refuse("name", fmt::format("\"{}\" is not a valid name of a lease: write lower case "
                                     "letters, digits and '-', 63 at most",
                                     leader.name));
    }
    std::chrono::nanoseconds lease = leader.lease_duration;
    map.duration("leaseDuration", {.min = seconds{1}, .max = seconds{3600}}, lease);
    leader.lease_duration = std::chrono::duration_cast<seconds>(lease);
    if (leader.lease_duration != lease) {
      map.refuse("leaseDuration", "write whole seconds: the lease has no smaller unit");
    }
    map.duration("renewDeadline", {.min = milliseconds{200}, .max = seconds{3600}},
                 leader.renew_deadline);
    map.duration("retryPeriod", {.min = milliseconds{100}, .max = seconds{3600}},
                 leader.retry_period);
    if (leader.renew_deadline >= lease) {
      map.refuse(
          "renewDeadline",
          fmt::format("{} must be shorter than leaseDuration, {}: a leader has to stop before "
                      "another may begin",
                      yaml::to_text(leader.renew_deadline), yaml::to_text(lease)));
    }
    if (leader.retry_period * 3 / 2 > leader.renew_deadline) {
      map.refuse("retryPeriod", fmt::format("{} must be at most two thirds of renewDeadline, {}: "
                                            "otherwise one failed renewal ends the term",
                                            yaml::to_text(leader.retry_period),
                                            yaml::to_text(leader.renew_deadline)));
    }
    map.renamed({.old = "advertise", .now = "advertiseAddress"});
    map.text("advertiseAddress", leader.advertise);
    if (!is_host(leader.advertise)) {
      map.refuse("advertiseAddress", "write a host name or an address, without a port");
    }
  });
}

Result<bool> parse_conflicts(std::string_view word) {
  if (word == "evict") return true;
  if (word == "report") return false;
  return fail(fmt::format("unknown value \"{}\"; write {}", word, kConflictsWords));
}

Result<core::SilentNodes> parse_silent_nodes(std::string_view word) {
  if (word == "use") return core::SilentNodes::use;
  if (word == "avoid") return core::SilentNodes::avoid;
  if (word == "refuse") return core::SilentNodes::refuse;
  return fail(fmt::format("unknown value \"{}\"; write {}", word, kSilentNodesWords));
}

void read_metrics_api(yaml::StrictMap& root, Config& config) {
  root.map("metricsApi", [&](yaml::StrictMap& map) {
    Config::MetricsApi& api = config.metrics_api;
    map.boolean("enabled", api.enabled);
    map.text("service", api.service);
    map.text("namespace", api.ns);
    map.text("secret", api.secret);
    map.text("apiService", api.api_service);
    if (api.api_service == kNone) api.api_service.clear();
    map.text("caConfigMap", api.ca_map);
    if (api.ca_map == kNone) api.ca_map.clear();
    map.text("extender", api.extender);
    const auto named = [&](const auto& each) { return each.name == api.extender; };
    if (!api.extender.empty() &&
        std::none_of(config.extenders.begin(), config.extenders.end(), named)) {
      map.refuse("extender", fmt::format("no extender is named \"{}\"", api.extender));
    }
    map.duration("checkEvery", {.min = seconds{1}, .max = hours{24}}, api.check_every);
  });
}

void read_agents(yaml::StrictMap& root, Config& config) {
  root.map("agents", [&](yaml::StrictMap& map) {
    Config::Agents& agents = config.agents;
    map.text("listen", agents.listen);
    map.text("certFile", agents.certificate_file);
    map.text("keyFile", agents.key_file);
    map.text("caFile", agents.ca_file);
    if (agents.certificate_file.empty() != agents.key_file.empty()) {
      map.refuse("certFile", "set both certFile and keyFile, or neither");
    }
    const auto address = net::parse_listen(agents.listen);
    if (!agents.listen.empty() && !address) map.refuse("listen", address.error().message);
    const bool clear = agents.certificate_file.empty() && !config.metrics_api.enabled;
    if (address && clear && !net::is_loopback(address->host)) {
      map.refuse("listen",
                 "agents must not send their tokens unencrypted: set metricsApi.enabled, which "
                 "creates certificates, or set certFile and keyFile, or listen on 127.0.0.1");
    }
    std::vector<std::string> accounts;
    map.renamed({.old = "accounts", .now = "allowedUsers"});
    map.texts("allowedUsers", accounts);
    if (!accounts.empty()) agents.accounts = std::move(accounts);
    map.duration("silentAfter", {.min = seconds{1}, .max = hours{1}}, agents.silent_after);
    map.renamed({.old = "loadCounts", .now = "loadMaxAge"});
    map.duration("loadMaxAge", {.min = seconds{1}, .max = hours{1}}, agents.load_counts);
    read_word(map, {"silentNodes", kSilentNodesWords, parse_silent_nodes},
              config.engine.silent_nodes);
  });
}

void read_signing(yaml::StrictMap& root, Config& config) {
  root.map("signing", [&](yaml::StrictMap& map) {
    Config::Signing& signing = config.signing;
    map.text("namespace", signing.ns);
    if (!signing.ns.empty() && !is_object_name(signing.ns)) {
      map.refuse("namespace", fmt::format("\"{}\" is not a valid name of a namespace", signing.ns));
    }
    map.text("secret", signing.secret);
    if (!is_object_name(signing.secret)) map.refuse("secret", "the name of a Secret is needed");
    map.text("configMap", signing.config_map);
    if (!is_object_name(signing.config_map)) {
      map.refuse("configMap", "the name of a ConfigMap is needed");
    }
    map.text("keyFile", signing.key_file);
    std::string until;
    map.text("unsignedUntil", until);
    if (until.empty()) return;
    const auto moment = dialect::parse_moment(until);
    if (!moment) {
      map.refuse("unsignedUntil", "write a time such as 2026-11-17T03:00:00Z");
    } else if (signing.key_file.empty()) {
      map.refuse(
          "unsignedUntil",
          "only with keyFile: otherwise the Secret has the time since which everything is signed");
    } else {
      signing.unsigned_until = *moment / dialect::kNanosPerSecond;
    }
  });
}

void read_connection(yaml::StrictMap& root, Config& config) {
  root.text("listen", config.listen);
  root.map("api", [&](yaml::StrictMap& map) {
    map.renamed({.old = "callsPerSecond", .now = "qps"});
    map.number("qps", {.min = 0, .max = 1e6}, config.api.calls_per_second);
    map.number("burst", {.min = 1, .max = 1e6}, config.api.burst);
    map.renamed({.old = "bindsInFlight", .now = "maxBindsInFlight"});
    map.whole("maxBindsInFlight", {.min = 1, .max = 10'000}, config.api.binds_in_flight);
  });
  root.map("events", [&](yaml::StrictMap& map) {
    map.renamed({.old = "perSecond", .now = "qps"});
    map.number("qps", {.min = 0.1, .max = 1e5}, config.events.per_second);
    map.number("burst", {.min = 1, .max = 1e5}, config.events.burst);
  });
  root.map("debug", [&](yaml::StrictMap& map) { map.boolean("loopback", config.debug.loopback); });
  root.map("log", [&](yaml::StrictMap& map) {
    read_word(map, {"level", kLogLevelWords, base::parse_log_level}, config.log.level);
    read_word(map, {"format", kLogFormatWords, base::parse_log_format}, config.log.format);
  });
}

void read_config(yaml::StrictMap& root, Config& config) {
  std::string api_version = kConfigApiVersion;
  std::string kind = kConfigKind;
  root.text("apiVersion", api_version);
  root.text("kind", kind);
  if (api_version != kConfigApiVersion) {
    root.refuse("apiVersion", fmt::format("this program reads {}", kConfigApiVersion));
  }
  if (kind != kConfigKind) root.refuse("kind", fmt::format("expected {}", kConfigKind));
  read_profiles(root, config);
  read_extenders(root, config);
  if (!root.has("profiles")) leave_to_kube_scheduler(config);
  read_quota(root, config);
  read_nomination(root, config);
  read_leader_election(root, config);
  read_metrics_api(root, config);
  read_agents(root, config);
  read_node_resources(root, config);
  read_webhook(root, config);
  read_signing(root, config);
  if (config.metrics_api.enabled && config.agents.listen.empty()) {
    config.agents.listen = "0.0.0.0:10362";
  }
  read_word(root, {"conflicts", kConflictsWords, parse_conflicts}, config.engine.evict_conflicts);
  read_connection(root, config);
  if (const std::string clash = listeners_clash(config); !clash.empty()) {
    root.refuse(config.extenders.empty() ? "listen" : "extenders", clash);
  }
}

}  // namespace

Result<Config> parse_config(std::string_view text, const std::string& file) {
  STOWAGE_TRY(root, yaml::StrictMap::parse(text, {.file = file}));
  Config config;
  read_config(root, config);
  STOWAGE_TRY_VOID(root.finish());
  config.warnings = root.warnings();
  return config;
}

std::vector<yaml::StrictMap::Key> config_keys() {
  return yaml::StrictMap::keys_of([](yaml::StrictMap& root) {
    Config config;
    read_config(root, config);
  });
}

Result<std::string> read_config_text(const std::string& path) {
  return base::read_file(path, kMaxBytes);
}

Result<Config> load_config(const std::string& path) {
  STOWAGE_TRY(text, read_config_text(path));
  return parse_config(text, path);
}

}  // namespace stowage::controller
