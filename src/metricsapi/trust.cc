#include "metricsapi/trust.h"

#include <utility>

#include <fmt/format.h>

#include "codec/fields.h"
#include "kube/object_path.h"

namespace stowage::metricsapi {
namespace {

constexpr std::size_t kListBytesMax = std::size_t{64} << 10U;

// A list of strings, as JSON.
Result<std::vector<std::string>> read_list(const std::string& key, const std::string& text) {
  // The decoder needs an object around the list.
  const std::string wrapped = fmt::format("{{\"list\":{}}}", text);
  codec::JsonText parser;
  std::vector<std::string> list;
  bool given = false;
  auto fields = parser.open(wrapped, kListBytesMax);
  if (!fields) return fail(fmt::format("{}: {}", key, fields.error().message));
  const Status read =
      codec::each_field(*fields, [&](std::string_view name, codec::JsonValue& value) -> Status {
        if (name != "list" || std::exchange(given, true))
          return fail("expected a list and nothing else");
        return codec::read_strings(value, list);
      });
  if (!read) return fail(fmt::format("{}: {}", key, read.error().message));
  if (const Status end = parser.close(); !end) {
    return fail(fmt::format("{}: {}", key, end.error().message));
  }
  return list;
}

Status check_authority(const std::string& key, const std::string& pem) {
  if (pem.empty()) return {};
  if (const auto facts = net::read_certificate(pem); !facts) {
    return fail(fmt::format("{}: {}", key, facts.error().message));
  }
  return {};
}

}  // namespace

Result<Trust> read_trust(const std::map<std::string, std::string>& data) {
  Trust trust;
  const std::pair<const char*, std::string*> texts[] = {
      {"client-ca-file", &trust.client_ca_pem},
      {"requestheader-client-ca-file", &trust.proxy_ca_pem}};
  for (const auto& [key, pem] : texts) {
    const auto found = data.find(key);
    if (found == data.end()) continue;
    STOWAGE_TRY_VOID(check_authority(key, found->second));
    *pem = found->second;
  }
  const std::pair<const char*, std::vector<std::string>*> lists[] = {
      {"requestheader-allowed-names", &trust.proxy_names},
      {"requestheader-username-headers", &trust.user_headers},
      {"requestheader-uid-headers", &trust.uid_headers},
      {"requestheader-group-headers", &trust.group_headers},
      {"requestheader-extra-headers-prefix", &trust.extra_prefixes}};
  for (const auto& [key, list] : lists) {
    const auto found = data.find(key);
    if (found == data.end() || found->second.empty()) continue;
    STOWAGE_TRY_ASSIGN(*list, read_list(key, found->second));
  }
  return trust;
}

std::vector<net::ClientAuthority> authorities(const Trust& trust) {
  std::vector<net::ClientAuthority> list;
  if (!trust.proxy_ca_pem.empty()) list.push_back({kFrontProxy, trust.proxy_ca_pem});
  if (!trust.client_ca_pem.empty()) list.push_back({kClients, trust.client_ca_pem});
  return list;
}

TrustSource::TrustSource(const Options& options, Deps deps)
    : name_(options.name),
      deps_(std::move(deps)),
      informer_(deps_.client,
                {.reflector = {.path = kube::core_path(options.ns, "configmaps"),
                               .field_selector = "metadata.name=" + options.name}},
                *this) {}

void TrustSource::updated(codec::ConfigMap map) {
  auto fresh = read_trust(map.data);
  if (!fresh) return complain(fresh.error().message);
  complaint_.clear();
  trouble_.clear();
  if (std::exchange(known_, true) && *fresh == trust_) return;
  trust_ = std::move(*fresh);
  deps_.log.info("client CAs of the API server read",
                 {{"clients", trust_.client_ca_pem.empty() ? "none" : "by certificate"},
                  {"proxy", trust_.proxy_ca_pem.empty() ? "none" : "by certificate"}});
  deps_.changed(trust_);
}

void TrustSource::complain(const std::string& why) {
  if (!known_) trouble_ = why;
  if (std::exchange(complaint_, why) == why) return;
  deps_.log.warn("cannot read the client CAs of the API server; keeping the previous ones",
                 {{"why", why}});
}

void TrustSource::list_ended() {
  if (!known_ && complaint_.empty()) complain("the API server has no such ConfigMap");
}

void TrustSource::status_changed(const kube::ReflectorStatus& status) {
  if (status.phase == kube::ReflectorPhase::disconnected) complain(status.error);
}

}  // namespace stowage::metricsapi
