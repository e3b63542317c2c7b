// How one extender of a kube-scheduler behaves: where it listens, which routes it serves, and how
// cards are reserved and told.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/policy/options.h"
#include "dialect/dialect.h"

namespace stowage::extender {

enum class Mode : std::uint8_t {
  bind,    // kube-scheduler calls our bind: soft hold at filter, reserved at bind, and the cards
           // are written with the binding
  choose,  // the same, but filter answers the best node alone: kube-scheduler scores nothing
  single_node,  // filter answers one node, reserves it and writes the cards before it answers; a
                // bind may follow or not
  count,        // another vendor's device plugin picks the cards: numbers only, and the node is
                // written on the pod
};
[[nodiscard]] Result<Mode> parse_mode(std::string_view word);
[[nodiscard]] const char* to_word(Mode mode);

enum class Verb : std::uint8_t { filter, dry_run, prioritize, bind, preempt, status };
[[nodiscard]] const char* to_word(Verb verb);
inline constexpr std::size_t kVerbs = 6;

struct Route {
  std::string path;
  Verb verb = Verb::filter;
};

// The policy for pods of one dialect; of any if the name is empty.
struct DialectPolicy {
  std::string dialect;
  core::PolicyOptions policy;
};

struct TlsFiles {
  std::string certificate;
  std::string key;
  std::string client_ca;  // empty: clients are not asked for certificates
  bool client_required = false;
  friend bool operator==(const TlsFiles&, const TlsFiles&) = default;
};

// How a replica that does not lead reaches the same extender of the one that does, where it is not
// the certificate of the extender itself that says so.
struct ForwardTls {
  std::string ca;           // file: whom to trust
  std::string certificate;  // files: what we show
  std::string key;
  std::string server_name;  // to expect
  friend bool operator==(const ForwardTls&, const ForwardTls&) = default;
};

struct ExtenderOptions {
  std::string name;           // in logs and metrics
  std::string preset;         // the system whose place it takes
  std::string listen;         // "0.0.0.0:39999"
  std::vector<Route> routes;  // besides those under our own prefix
  Mode mode = Mode::bind;
  std::vector<DialectPolicy> policies;  // the first that matches counts; the last has no dialect
  dialect::ReadOptions reading;
  std::chrono::seconds hold{30};  // from filter to bind, where we bind
  // The longest time from filter to bind where kube-scheduler binds: it waits for volumes for up to
  // 600 seconds (bindTimeoutSeconds of its VolumeBinding), and a margin.
  std::chrono::seconds bind_limit{660};
  bool without_model_passes = false;  // pods that name no model are none of our business
  // Where no node could help, not even a new one (core/explain/condition.h), filter answers with an
  // error: kube-scheduler then writes SchedulerError, which autoscalers pass over. An extender that
  // is `ignorable` would be passed over itself, and with it the quota.
  bool error_if_no_node_helps = true;
  bool cpu_nodes_first = false;  // prioritize prefers nodes without cards for pods without
  // The names that kube-scheduler answers to in the configuration that ships for the preset
  // (deploy/extender): they must not be profiles of the controller as well.
  std::vector<std::string> kube_names = {"default-scheduler"};
  std::optional<TlsFiles> tls;
  ForwardTls forward;
};

// Of what these extenders write on pods before another scheduler binds them.
struct PromiseTerms {
  std::optional<std::uint32_t> position;  // of the policy to judge them by, among all policies
  std::chrono::seconds bind_limit;        // the longest
};
[[nodiscard]] PromiseTerms promise_options(const std::vector<ExtenderOptions>& extenders);

// The routes under our own prefix, which every extender serves.
[[nodiscard]] const std::vector<Route>& own_routes();

// `stowage`, or a system that is replaced: its routes, its port, its way. An error names all.
[[nodiscard]] Result<ExtenderOptions> preset(std::string_view name);
[[nodiscard]] std::vector<std::string> preset_names();

}  // namespace stowage::extender
