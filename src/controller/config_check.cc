#include "controller/config_check.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "net/address.h"

namespace stowage::controller {
namespace {

struct Listener {
  std::string who;
  std::string text;
  net::ListenAddress address;
};

bool clash(const net::ListenAddress& a, const net::ListenAddress& b) {
  if (a.port != b.port || a.port == 0) return false;
  return a.host == b.host || net::is_any_address(a.host) || net::is_any_address(b.host);
}

bool kube_has(const extender::ExtenderOptions& extender, const std::string& name) {
  const auto& names = extender.kube_names;
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::string listeners_clash(const Config& config) {
  std::vector<Listener> all;
  const auto add = [&](std::string who, const std::string& text) {
    auto address = net::parse_listen(text);
    if (address) all.push_back({std::move(who), text, std::move(*address)});
  };
  add("health and metrics (listen)", config.listen);
  if (!config.agents.listen.empty()) add("agents (agents.listen)", config.agents.listen);
  for (const auto& extender : config.extenders) {
    add(fmt::format("the extender {}", extender.name), extender.listen);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!clash(all[i].address, all[j].address)) continue;
      return fmt::format(
          "{} and {} both listen on {}; give one of them another port{}", all[j].who, all[i].who,
          all[i].text,
          all[i].who.starts_with("the extender") && all[j].who.starts_with("the extender")
              ? ", or leave one out: every extender serves all dialects"
              : "");
    }
  }
  return {};
}

void leave_to_kube_scheduler(Config& config) {
  std::erase_if(config.profiles, [&](const scheduler::Profile& profile) {
    return std::any_of(config.extenders.begin(), config.extenders.end(),
                       [&](const auto& extender) { return kube_has(extender, profile.name); });
  });
}

std::vector<std::string> warnings_of(const Config& config) {
  std::vector<std::string> warnings = config.warnings;
  for (const auto& profile : config.profiles) {
    for (const auto& extender : config.extenders) {
      if (!kube_has(extender, profile.name)) continue;
      warnings.push_back(fmt::format(
          "the profile {0} has the name of the kube-scheduler that uses the extender {1} "
          "(deploy/extender): two schedulers with one name bind the same pods. List the profiles "
          "that you need, without {0}, or give kube-scheduler another name",
          profile.name, extender.name));
      break;
    }
  }
  for (const auto& extender : config.extenders) {
    const auto address = net::parse_listen(extender.listen);
    const bool asks_for_certificates = extender.tls && !extender.tls->client_ca.empty();
    if (!address || net::is_loopback(address->host) || asks_for_certificates) continue;
    warnings.push_back(fmt::format(
        "the extender {} listens on {} without client certificates: every client that can connect "
        "may bind pods. Set listen to 127.0.0.1:{}, or set tls.clientCAFile",
        extender.name, extender.listen, address->port));
  }
  return warnings;
}

std::vector<std::string> keys_that_need_restart(const Config& old, const Config& fresh) {
  std::vector<std::string> keys;
  const auto add = [&keys](const char* key, bool changed) {
    if (changed) keys.emplace_back(key);
  };
  add("listen", fresh.listen != old.listen);
  add("leaderElection", !(fresh.leader_election == old.leader_election));
  add("api", !(fresh.api == old.api));
  add("debug", !(fresh.debug == old.debug));
  add("agents", !(fresh.agents == old.agents));
  add("signing", !(fresh.signing == old.signing));
  add("metricsApi", !(fresh.metrics_api == old.metrics_api));
  add("webhook", !(fresh.webhook == old.webhook));
  add("log.format", fresh.log.format != old.log.format);
  return keys;
}

// All of them but log.format, which is read only when the process starts.
void keep_until_restart(const Config& old, Config& fresh) {
  fresh.listen = old.listen;
  fresh.leader_election = old.leader_election;
  fresh.api = old.api;
  fresh.debug = old.debug;
  fresh.agents = old.agents;
  fresh.metrics_api = old.metrics_api;
  fresh.signing = old.signing;
  fresh.webhook = old.webhook;
}

}  // namespace stowage::controller
