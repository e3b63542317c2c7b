#include "metricsapi/certificates.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/base64.h"

namespace stowage::metricsapi {
namespace {

using net::KeyPair;

constexpr std::int64_t kSecondsPerDay = 86'400;

constexpr const char* kAuthorityCertificate = "ca.crt";
constexpr const char* kAuthorityKey = "ca.key";
constexpr const char* kServingCertificate = "tls.crt";
constexpr const char* kServingKey = "tls.key";
constexpr const char* kNextCertificate = "ca-next.crt";
constexpr const char* kNextKey = "ca-next.key";
constexpr const char* kBeforeCertificate = "ca-before.crt";

// The facts of a pair, if key and certificate match and it has not expired.
Result<net::CertificateFacts> usable(const KeyPair& pair, std::int64_t now) {
  if (pair == KeyPair{}) return fail("it does not exist");
  STOWAGE_TRY_VOID(net::check_pair(pair));
  STOWAGE_TRY(facts, net::read_certificate(pair.certificate_pem));
  if (now >= facts.ends_unix) return fail("it has expired");
  return facts;
}

bool two_thirds_over(const net::CertificateFacts& facts, std::int64_t now) {
  return now - facts.begins_unix >= (facts.ends_unix - facts.begins_unix) / 3 * 2;
}

bool is_for(const net::CertificateFacts& facts, const std::vector<std::string>& hosts) {
  return std::all_of(hosts.begin(), hosts.end(), [&](const std::string& host) {
    return std::find(facts.hosts.begin(), facts.hosts.end(), host) != facts.hosts.end();
  });
}

class Planner {
 public:
  Planner(KeptCertificates there, const CertificateRules& rules, std::int64_t now)
      : rules_(rules), now_(now), plan_{.kept = std::move(there), .changes = {}} {}

  Result<CertificatePlan> plan() {
    STOWAGE_TRY_VOID(authority());
    STOWAGE_TRY_VOID(serving());
    before();
    return std::move(plan_);
  }

 private:
  KeptCertificates& kept() { return plan_.kept; }
  void note(std::string words) { plan_.changes.push_back(std::move(words)); }

  // Each authority has its own name: some clients find the issuer by name.
  Result<KeyPair> make_authority() const {
    return net::make_authority({.common_name = fmt::format("stowage-ca-{}", now_),
                                .days = rules_.authority_days,
                                .now_unix = now_});
  }

  void promote_next() {
    if (net::read_certificate(kept().authority.certificate_pem)) {
      kept().before_pem = kept().authority.certificate_pem;
    }
    kept().authority = std::exchange(kept().next, {});
  }

  Status authority() {
    const auto facts = usable(kept().authority, now_);
    const bool next_there = kept().next != KeyPair{};
    const auto next = usable(kept().next, now_);
    if (next_there && !next) {
      note(fmt::format("the next CA cannot be used: {}", next.error().message));
      kept().next = {};
    }
    if (!facts) {
      note(fmt::format("the CA is replaced: {}", facts.error().message));
      if (!next) {
        STOWAGE_TRY_ASSIGN(kept().next, make_authority());
      }
      promote_next();
    } else if (next && now_ - next->begins_unix >= rules_.overlap.count()) {
      note("the next CA takes over");
      promote_next();
    } else if (!next && two_thirds_over(*facts, now_)) {
      STOWAGE_TRY(fresh, make_authority());
      note("the next CA is created: two thirds of the lifetime of this one are over");
      kept().next = std::move(fresh);
    }
    return {};
  }

  Status serving() {
    const std::string why = serving_trouble();
    if (why.empty()) return {};
    STOWAGE_TRY(authority, net::read_certificate(kept().authority.certificate_pem));
    const std::int64_t left = (authority.ends_unix - now_) / kSecondsPerDay;
    const auto days = std::clamp<std::int64_t>(left, 1, std::max(rules_.serving_days, 1));
    STOWAGE_TRY(fresh, net::make_signed({.common_name = rules_.hosts.front().substr(0, 64),
                                         .hosts = rules_.hosts,
                                         .days = static_cast<int>(days),
                                         .now_unix = now_},
                                        kept().authority));
    note(fmt::format("the serving certificate is replaced: {}", why));
    kept().serving = std::move(fresh);
    return {};
  }

  // Why it must be replaced; empty if it need not.
  std::string serving_trouble() {
    const auto facts = usable(kept().serving, now_);
    if (!facts) return facts.error().message;
    const Status ours =
        net::check_signature(kept().serving.certificate_pem, kept().authority.certificate_pem);
    if (!ours) return ours.error().message;
    if (!is_for(*facts, rules_.hosts)) return "it is not for all hosts";
    return two_thirds_over(*facts, now_) ? "two thirds of its lifetime are over" : "";
  }

  // A replica may still present a certificate of the previous authority.
  void before() {
    if (kept().before_pem.empty()) return;
    const auto facts = net::read_certificate(kept().before_pem);
    const auto serving = net::read_certificate(kept().serving.certificate_pem);
    const bool needed = facts && now_ < facts->ends_unix && serving &&
                        now_ - serving->begins_unix < rules_.overlap.count();
    if (needed) return;
    note("the previous CA is no longer trusted");
    kept().before_pem.clear();
  }

  const CertificateRules& rules_;
  std::int64_t now_;
  CertificatePlan plan_;
};

}  // namespace

Result<CertificatePlan> plan_certificates(const KeptCertificates& there,
                                          const CertificateRules& rules, std::int64_t now_unix) {
  if (rules.hosts.empty()) return fail("a serving certificate needs a host");
  return Planner(there, rules, now_unix).plan();
}

std::string trusted(const KeptCertificates& kept) {
  std::string all;
  for (const std::string* pem :
       {&kept.authority.certificate_pem, &kept.next.certificate_pem, &kept.before_pem}) {
    all += *pem;
    if (!all.empty() && !all.ends_with('\n')) all += '\n';
  }
  return all;
}

KeptCertificates from_secret(const codec::Secret& secret) {
  const auto text = [&](const char* key) {
    const auto found = secret.data.find(key);
    if (found == secret.data.end()) return std::string();
    return base::base64_decode(found->second).value_or("");
  };
  return {.authority = {text(kAuthorityCertificate), text(kAuthorityKey)},
          .serving = {text(kServingCertificate), text(kServingKey)},
          .next = {text(kNextCertificate), text(kNextKey)},
          .before_pem = text(kBeforeCertificate)};
}

std::map<std::string, std::string> secret_data(const KeptCertificates& kept) {
  std::map<std::string, std::string> data = {
      {kAuthorityCertificate, kept.authority.certificate_pem},
      {kAuthorityKey, kept.authority.key_pem},
      {kServingCertificate, kept.serving.certificate_pem},
      {kServingKey, kept.serving.key_pem},
      {kNextCertificate, kept.next.certificate_pem},
      {kNextKey, kept.next.key_pem},
      {kBeforeCertificate, kept.before_pem}};
  for (auto& [key, text] : data) text = base::base64_encode(text);
  return data;
}

std::optional<std::string> plan_api_service(const codec::ApiService& there, const OurService& ours,
                                            const std::string& trusted_pem) {
  if (there.service != ours.name || there.service_ns != ours.ns) return std::nullopt;
  std::string bundle = base::base64_encode(trusted_pem);
  if (there.ca_bundle == bundle && !there.insecure) return std::nullopt;
  return codec::api_service_patch(
      {.resource_version = there.resource_version, .ca_bundle = std::move(bundle)});
}

std::optional<std::string> plan_webhooks(const codec::WebhookConfiguration& there,
                                         const OurService& ours, const std::string& trusted_pem) {
  codec::WebhooksPatch patch{.resource_version = there.resource_version,
                             .ca_bundle = base::base64_encode(trusted_pem)};
  for (const auto& hook : there.hooks) {
    if (hook.service != ours.name || hook.service_ns != ours.ns) continue;
    if (hook.ca_bundle != patch.ca_bundle) patch.hooks.push_back(hook.name);
  }
  if (patch.hooks.empty()) return std::nullopt;
  return codec::webhooks_patch(patch);
}

}  // namespace stowage::metricsapi
