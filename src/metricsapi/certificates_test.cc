#include "metricsapi/certificates.h"

#include <gtest/gtest.h>

#include "base/base64.h"

namespace stowage::metricsapi {
namespace {

constexpr std::int64_t kStart = 1'800'000'000;
constexpr std::int64_t kDay = 86'400;
const CertificateRules kRules{.hosts = {"svc.ns.svc", "svc.ns"},
                              .authority_days = 90,
                              .serving_days = 30,
                              .overlap = std::chrono::hours{24}};

CertificatePlan plan(const KeptCertificates& there, std::int64_t now,
                     const CertificateRules& rules = kRules) {
  const auto made = plan_certificates(there, rules, now);
  EXPECT_TRUE(made) << made.error().message;
  return made.value_or(CertificatePlan{});
}

// Every plan can be used at once: the pair matches, is for the hosts, and is trusted.
void expect_good(const KeptCertificates& kept, std::int64_t now) {
  EXPECT_TRUE(net::check_pair(kept.serving));
  EXPECT_TRUE(net::check_pair(kept.authority));
  EXPECT_TRUE(net::check_signature(kept.serving.certificate_pem, kept.authority.certificate_pem));
  const auto facts = net::read_certificate(kept.serving.certificate_pem);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->hosts, kRules.hosts);
  EXPECT_GT(facts->ends_unix, now);
  EXPECT_LE(facts->ends_unix,
            net::read_certificate(kept.authority.certificate_pem).value().ends_unix + kDay);
  EXPECT_EQ(plan(kept, now).changes, std::vector<std::string>{}) << "a second look changes nothing";
}

TEST(Certificates, AreMadeWhereThereAreNone) {
  const CertificatePlan made = plan({}, kStart);
  EXPECT_EQ(made.changes.size(), 2U);
  expect_good(made.kept, kStart);
  EXPECT_EQ(trusted(made.kept), made.kept.authority.certificate_pem);
  EXPECT_EQ(made.kept.next, net::KeyPair{});
  EXPECT_EQ(made.kept.before_pem, "");
  EXPECT_FALSE(plan_certificates({}, {}, kStart)) << "for no host";
}

TEST(Certificates, WhatIsMadeAgainAndWhatStays) {
  const KeptCertificates good = plan({}, kStart).kept;
  const KeptCertificates other = plan({}, kStart).kept;
  CertificateRules more_hosts = kRules;
  more_hosts.hosts.emplace_back("another.host");
  const auto changed = [&](auto change) {
    KeptCertificates kept = good;
    change(kept);
    return kept;
  };
  struct Row {
    const char* name;
    KeptCertificates there;
    std::int64_t day;
    const CertificateRules& rules;
    bool authority;  // replaced
    bool serving;    // replaced
  };
  const Row rows[] = {
      {"all is well", good, 0, kRules, false, false},
      {"not two thirds over", good, 19, kRules, false, false},
      {"two thirds of the serving one are over", good, 21, kRules, false, true},
      {"it has expired", good, 31, kRules, false, true},
      {"another host", good, 0, more_hosts, false, true},
      {"no serving key", changed([](auto& k) { k.serving.key_pem.clear(); }), 0, kRules, false,
       true},
      {"a damaged serving certificate",
       changed([](auto& k) { k.serving.certificate_pem = "junk"; }), 0, kRules, false, true},
      {"one that another authority has signed",
       changed([&](auto& k) { k.serving = other.serving; }), 0, kRules, false, true},
      {"the key of another", changed([&](auto& k) { k.serving.key_pem = other.serving.key_pem; }),
       0, kRules, false, true},
      {"no authority", changed([](auto& k) { k.authority = {}; }), 0, kRules, true, true},
      {"no key of the authority", changed([](auto& k) { k.authority.key_pem.clear(); }), 0, kRules,
       true, true},
      {"the authority has run out", good, 91, kRules, true, true},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const std::int64_t now = kStart + row.day * kDay;
    const CertificatePlan made = plan(row.there, now, row.rules);
    EXPECT_EQ(made.kept.authority != row.there.authority, row.authority);
    EXPECT_EQ(made.kept.serving != row.there.serving, row.serving);
    EXPECT_EQ(!made.changes.empty(), row.authority || row.serving);
    EXPECT_TRUE(net::check_signature(made.kept.serving.certificate_pem,
                                     made.kept.authority.certificate_pem));
    if (&row.rules == &kRules) expect_good(made.kept, now);
  }
}

// The life of an authority: trusted before it signs, and still trusted after it stops signing.
TEST(Certificates, AnAuthorityIsExchangedInSteps) {
  KeptCertificates kept = plan({}, kStart).kept;
  const net::KeyPair first = kept.authority;
  std::int64_t now = kStart + 59 * kDay;
  kept = plan(kept, now).kept;
  EXPECT_EQ(kept.next, net::KeyPair{}) << "not yet";

  now = kStart + 61 * kDay;
  kept = plan(kept, now).kept;
  ASSERT_NE(kept.next, net::KeyPair{});
  EXPECT_EQ(kept.authority, first) << "nobody has heard of the next one";
  EXPECT_EQ(trusted(kept), first.certificate_pem + kept.next.certificate_pem);
  expect_good(kept, now);
  const net::KeyPair second = kept.next;

  now += kDay - 3600;
  EXPECT_TRUE(plan(kept, now).changes.empty());
  now += 3600;
  const CertificatePlan takeover = plan(kept, now);
  kept = takeover.kept;
  EXPECT_EQ(kept.authority, second);
  EXPECT_EQ(kept.next, net::KeyPair{});
  EXPECT_EQ(kept.before_pem, first.certificate_pem);
  EXPECT_EQ(trusted(kept), second.certificate_pem + first.certificate_pem);
  expect_good(kept, now);

  now += kDay;
  const CertificatePlan later = plan(kept, now);
  EXPECT_EQ(later.changes, std::vector<std::string>{"the previous CA is no longer trusted"});
  EXPECT_EQ(trusted(later.kept), second.certificate_pem);
  EXPECT_EQ(later.kept.serving, kept.serving);
}

TEST(Certificates, WhoWasAwayForLongCatchesUp) {
  const KeptCertificates old = plan({}, kStart).kept;
  const KeptCertificates half = plan(old, kStart + 61 * kDay).kept;
  const std::int64_t late = kStart + 200 * kDay;
  const KeptCertificates fresh = plan(old, late).kept;
  expect_good(fresh, late);
  EXPECT_EQ(fresh.before_pem, "") << "it has expired, and signs nothing that anybody could show";
  const KeptCertificates promoted = plan(half, kStart + 95 * kDay).kept;
  EXPECT_EQ(promoted.authority, half.next) << "the next one is there and good";
  expect_good(promoted, kStart + 95 * kDay);
}

TEST(Certificates, ANextAuthorityThatCannotBeUsedIsMadeAgain) {
  KeptCertificates kept = plan({}, kStart).kept;
  const std::int64_t now = kStart + 61 * kDay;
  kept = plan(kept, now).kept;
  kept.next.key_pem = kept.serving.key_pem;
  const CertificatePlan made = plan(kept, now);
  EXPECT_NE(made.kept.next, kept.next);
  EXPECT_EQ(made.kept.authority, kept.authority);
  expect_good(made.kept, now);
}

TEST(Certificates, GoThroughASecret) {
  KeptCertificates kept = plan({}, kStart).kept;
  kept = plan(kept, kStart + 61 * kDay).kept;
  codec::Secret secret{.resource_version = "1", .data = secret_data(kept)};
  EXPECT_EQ(from_secret(secret), kept);
  EXPECT_EQ(secret.data.at("ca-before.crt"), "");
  secret.data["tls.crt"] = "%%%";
  secret.data.erase("tls.key");
  EXPECT_EQ(from_secret(secret).serving, net::KeyPair{});
  EXPECT_EQ(from_secret({}), KeptCertificates{});
}

TEST(Certificates, TheApiServiceIsToldIfItIsOurs) {
  const std::string bundle = base::base64_encode("pem");
  const OurService ours{.ns = "ns", .name = "svc"};
  struct Row {
    const char* name;
    codec::ApiService there;
    bool patched;
  };
  const Row rows[] = {
      {"nothing told", {"1", "svc", "ns", "", false}, true},
      {"trusts everybody", {"1", "svc", "ns", bundle, true}, true},
      {"trusts others", {"1", "svc", "ns", "QQ==", false}, true},
      {"knows", {"1", "svc", "ns", bundle, false}, false},
      {"another service", {"1", "gpuserver", "ns", "", false}, false},
      {"another namespace", {"1", "svc", "kube-system", "", false}, false},
      {"none at all", {"1", "", "", "", false}, false},
  };
  for (const Row& row : rows) {
    const auto patch = plan_api_service(row.there, ours, "pem");
    EXPECT_EQ(patch.has_value(), row.patched) << row.name;
    if (patch) {
      EXPECT_EQ(*patch, codec::api_service_patch({.resource_version = "1", .ca_bundle = bundle}));
    }
  }
}

TEST(Certificates, OnlyHooksOfOurServiceGetTheBundle) {
  const OurService ours{.ns = "ns", .name = "svc"};
  const std::string bundle = base::base64_encode("pem");
  codec::WebhookConfiguration there{
      .resource_version = "1",
      .hooks = {{.name = "empty", .service = "svc", .service_ns = "ns"},
                {.name = "done", .service = "svc", .service_ns = "ns", .ca_bundle = bundle},
                {.name = "old", .service = "svc", .service_ns = "ns", .ca_bundle = "QQ=="},
                {.name = "other", .service = "svc", .service_ns = "elsewhere"},
                {.name = "url"}}};
  EXPECT_EQ(plan_webhooks(there, ours, "pem"),
            codec::webhooks_patch(
                {.resource_version = "1", .hooks = {"empty", "old"}, .ca_bundle = bundle}));
  std::erase_if(there.hooks,
                [](const auto& hook) { return hook.name == "empty" || hook.name == "old"; });
  EXPECT_EQ(plan_webhooks(there, ours, "pem"), std::nullopt);
}

}  // namespace
}  // namespace stowage::metricsapi
