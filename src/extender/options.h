// How one extender of a kube-scheduler behaves: its address, its routes, and how cards are held and
// written.
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
  bind,    // kube-scheduler calls our bind: cards are held at filter, reserved at bind, and written
           // with the binding
  choose,  // the same, but filter answers only the best node: kube-scheduler scores nothing
  single_node,  // filter answers one node; it holds the cards and writes them before it answers; a
                // bind may follow or not
  count,        // another vendor's device plugin picks the cards: only numbers count, and the node
                // is written on the pod
};
[[nodiscard]] Result<Mode> parse_mode(std::string_view word);
[[nodiscard]] const char* to_string(Mode mode);

enum class Verb : std::uint8_t { filter, dry_run, prioritize, bind, preempt, status };
[[nodiscard]] const char* to_string(Verb verb);
inline constexpr std::size_t kVerbs = 6;

struct Route {
  std::string path;
  Verb verb = Verb::filter;
};

// The policy for pods of one dialect; for all pods if the name is empty.
struct DialectPolicy {
  std::string dialect;
  core::PolicyOptions policy;
};

struct TlsFiles {
  std::string certificate;
  std::string key;
  std::string client_ca;  // empty: no client certificates are required
  bool client_required = false;
  friend bool operator==(const TlsFiles&, const TlsFiles&) = default;
};

// How a replica that does not lead reaches the same extender on the leader, if it does not use the
// extender's own certificate.
struct ForwardTls {
  std::string ca;           // file: trusted CA
  std::string certificate;  // files: our client certificate and key
  std::string key;
  std::string server_name;  // expected server name
  friend bool operator==(const ForwardTls&, const ForwardTls&) = default;
};

struct ExtenderOptions {
  std::string name;           // in logs and metrics
  std::string preset;         // the system that it replaces
  std::string listen;         // "0.0.0.0:39999"
  std::vector<Route> routes;  // besides those under our own prefix
  Mode mode = Mode::bind;
  std::vector<DialectPolicy> policies;  // the first match counts; the last one has no dialect
  dialect::ReadOptions reading;
  std::chrono::seconds hold{30};  // time from filter to bind, where we bind
  // The longest time from filter to bind where kube-scheduler binds: it waits for volumes for up to
  // 600 seconds (bindTimeoutSeconds of its VolumeBinding), plus a margin.
  std::chrono::seconds bind_limit{660};
  bool without_model_passes = false;  // pods that name no model are not handled
  // If no node could help, not even a new one (core/explain/condition.h), filter answers with an
  // error: kube-scheduler then writes SchedulerError, which autoscalers ignore. kube-scheduler
  // skips an `ignorable` extender that answers with an error, and with it the quota.
  bool error_if_no_node_helps = true;
  bool elastic_messages = false;  // error messages in the words of elastic-gpu-scheduler
  bool cpu_nodes_first = false;   // prioritize prefers nodes without cards for pods that need none
  // The scheduler names of kube-scheduler in the configuration that ships for the preset
  // (deploy/extender): the controller must not have profiles of these names.
  std::vector<std::string> kube_names = {"default-scheduler"};
  std::optional<TlsFiles> tls;
  ForwardTls forward;
};

// Settings for the pre-allocations of these extenders.
struct PreAllocationTerms {
  std::optional<std::uint32_t> position;  // index of the policy that judges them, among all
                                          // policies
  std::chrono::seconds bind_limit;        // the longest of all extenders
};
[[nodiscard]] PreAllocationTerms pre_allocation_options(
    const std::vector<ExtenderOptions>& extenders);

// The routes under our own prefix, which every extender serves.
[[nodiscard]] const std::vector<Route>& own_routes();

// `stowage`, or a system that is replaced: its routes, port and mode. An error names all presets.
[[nodiscard]] Result<ExtenderOptions> preset(std::string_view name);
[[nodiscard]] std::vector<std::string> preset_names();

}  // namespace stowage::extender
