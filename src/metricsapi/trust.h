// Which client certificates count, and what they mean: from the ConfigMap
// extension-apiserver-authentication, in which the API server publishes its CAs for servers like
// this one.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "codec/config_map.h"
#include "kube/api_client.h"
#include "kube/informer.h"
#include "net/tls.h"

namespace stowage::metricsapi {

// The names of authorities (net::ClientAuthority).
inline constexpr const char* kFrontProxy = "front-proxy";
inline constexpr const char* kClients = "clients";

struct Trust {
  std::string client_ca_pem;  // of users; empty: their certificates are not requested
  // CA of the API server's front proxy; empty: headers about other users never count.
  std::string proxy_ca_pem;
  std::vector<std::string> proxy_names;  // common names; none: any
  // Headers that name the user. Those for extra fields begin with a prefix.
  std::vector<std::string> user_headers;
  std::vector<std::string> uid_headers;
  std::vector<std::string> group_headers;
  std::vector<std::string> extra_prefixes;
  friend bool operator==(const Trust&, const Trust&) = default;
};

// From the data of the ConfigMap. Absent keys leave their fields empty; a CA without a readable
// certificate is an error.
[[nodiscard]] Result<Trust> read_trust(const std::map<std::string, std::string>& data);
[[nodiscard]] std::vector<net::ClientAuthority> authorities(const Trust& trust);

// Keeps it up to date. A ConfigMap that cannot be read, or is deleted, leaves the previous one in
// effect.
class TrustSource final : private kube::InformerHandler<codec::ConfigMap> {
 public:
  struct Deps {
    kube::ApiClient& client;
    base::Log& log;
    std::function<void(const Trust&)> changed;
  };
  struct Options {
    std::string ns = "kube-system";
    std::string name = "extension-apiserver-authentication";
  };
  TrustSource(const Options& options, Deps deps);
  TrustSource(const TrustSource&) = delete;
  TrustSource& operator=(const TrustSource&) = delete;
  ~TrustSource() override = default;

  void start() { informer_.start(); }
  [[nodiscard]] const Trust& trust() const { return trust_; }
  // Why nothing is known; empty once it was read.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

 private:
  Result<codec::ConfigMap> decode(std::string_view json) override {
    return codec::read_config_map(parser_, json);
  }
  std::string key(const codec::ConfigMap& map) override { return map.name; }
  Result<std::string> key_of(std::string_view /*json*/) override { return name_; }
  void updated(codec::ConfigMap map) override;
  void deleted(const Deleted& /*map*/) override {}
  void unreadable(const Unreadable& map) override { complain(map.why); }
  void unreadable_event(const std::string& why) override { complain(why); }
  void list_ended() override;
  void status_changed(const kube::ReflectorStatus& status) override;
  void complain(const std::string& why);

  std::string name_;  // of the ConfigMap
  Deps deps_;
  Trust trust_;
  bool known_ = false;
  std::string trouble_ = "not read yet";
  std::string complaint_;  // last reported error
  codec::JsonText parser_;
  kube::Informer<codec::ConfigMap> informer_;
};

}  // namespace stowage::metricsapi
