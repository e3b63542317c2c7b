#include "metricsapi/certificate_manager.h"

#include <utility>

#include <fmt/format.h>

#include "base/file.h"
#include "codec/config_map.h"
#include "kube/clock.h"
#include "kube/object_path.h"

namespace stowage::metricsapi {
namespace {

using kube::core_path;
using kube::ObjectResult;

constexpr const char* kApiServices = "/apis/apiregistration.k8s.io/v1/apiservices/";
constexpr const char* kWebhooks =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/";
constexpr const char* kCaKey = "ca.crt";
constexpr int kConflictsMax = 5;  // in a row; then it waits as after a failure

}  // namespace

std::vector<std::string> service_hosts(const std::string& service, const std::string& ns) {
  return {fmt::format("{}.{}.svc", service, ns),
          fmt::format("{}.{}.svc.cluster.local", service, ns), fmt::format("{}.{}", service, ns)};
}

CertificateManager::CertificateManager(CertificateManagerOptions options, Deps deps)
    : options_([&] {
        if (options.rules.hosts.empty()) {
          options.rules.hosts = service_hosts(options.service, options.ns);
        }
        return std::move(options);
      }()),
      deps_(std::move(deps)),
      pauses_(options_.retry_min, options_.look, options_.seed),
      timer_(deps_.client.loop()),
      access_(deps_.client, {.total_deadline = options_.deadline, .seed = options_.seed}) {}

void CertificateManager::start() { look(); }

// ---- the Secret

void CertificateManager::look() {
  ++counters_.looks;
  conflicts_in_row_ = 0;
  read_secret();
}

void CertificateManager::read_secret() {
  access_.call({.what = "read the secret with the certificates",
                .method = "GET",
                .target = core_path(options_.ns, "secrets", options_.secret)},
               [this](const Outcome& outcome) { taken(outcome); });
}

void CertificateManager::taken(const Outcome& outcome) {
  codec::Secret secret;
  if (outcome.result == ObjectResult::done) {
    auto read = codec::read_secret(outcome.body);
    if (!read) return fail_with("cannot read the secret: " + read.error().message);
    secret = std::move(*read);
  } else if (outcome.result != ObjectResult::gone) {
    return fail_with(outcome.message);
  }
  const std::int64_t now = kube::unix_seconds(deps_.client.wall_clock()());
  KeptCertificates there = from_secret(secret);
  const bool lost = there == KeptCertificates{} && !(kept_ == KeptCertificates{});
  if (lost) there = kept_;
  auto plan = plan_certificates(there, options_.rules, now);
  if (!plan) return fail_with(plan.error().message);
  if (lost) plan->changes.emplace_back("they are written again: the secret no longer had them");
  if (net::check_pair(there.serving)) use(there);  // better than none if it cannot be written
  if (plan->changes.empty()) return tell_api_service();
  write_secret(std::move(*plan), secret.resource_version);
}

void CertificateManager::write_secret(CertificatePlan plan, const std::string& resource_version) {
  const codec::SecretRequest ask{.ns = options_.ns,
                                 .name = options_.secret,
                                 .resource_version = resource_version,
                                 .data = secret_data(plan.kept)};
  const bool create = resource_version.empty();
  access_.call({.what = "write the secret with the certificates",
                .method = create ? "POST" : "PATCH",
                .target = create ? core_path(options_.ns, "secrets")
                                 : core_path(options_.ns, "secrets", options_.secret),
                .body = create ? codec::secret(ask) : codec::secret_patch(ask)},
               [this, plan = std::move(plan)](const Outcome& outcome) { written(plan, outcome); });
}

// If another replica has written at the same time, its write counts. A Secret that was deleted in
// between is created again.
void CertificateManager::written(const CertificatePlan& plan, const Outcome& outcome) {
  if (outcome.result == ObjectResult::conflict || outcome.result == ObjectResult::gone) {
    ++counters_.conflicts;
    if (++conflicts_in_row_ > kConflictsMax) return fail_with(outcome.message);
    return read_secret();
  }
  if (outcome.result != ObjectResult::done) {
    return fail_with(fmt::format("{} (create the secret {}/{}: the controller may only fill it)",
                                 outcome.message, options_.ns, options_.secret));
  }
  ++counters_.written;
  for (const std::string& change : plan.changes) {
    deps_.log.info("certificates have changed", {{"what", change}});
  }
  use(plan.kept);
  tell_api_service();
}

void CertificateManager::use(const KeptCertificates& kept) {
  kept_ = kept;
  ServingCertificates fresh{.pair = kept.serving, .trusted_pem = trusted(kept)};
  if (fresh == in_use_) return;
  in_use_ = std::move(fresh);
  deps_.use(in_use_);
}

// ---- publishing

void CertificateManager::tell_api_service() {
  if (options_.api_service.empty()) return tell_webhooks();
  const std::string target = kApiServices + net::percent_encode(options_.api_service);
  access_.call({.what = "read the APIService", .method = "GET", .target = target},
               [this, target](const Outcome& outcome) {
                 if (outcome.result == ObjectResult::gone)
                   return tell_webhooks();  // not configured
                 if (outcome.result != ObjectResult::done) return fail_with(outcome.message);
                 const auto there = codec::read_api_service(outcome.body);
                 if (!there)
                   return fail_with("cannot read the APIService: " + there.error().message);
                 auto patch = plan_api_service(
                     *there, {.ns = options_.ns, .name = options_.service}, in_use_.trusted_pem);
                 if (!patch) return tell_webhooks();
                 access_.call({.what = "write the CA bundle to the APIService",
                               .target = target,
                               .body = std::move(*patch)},
                              [this](const Outcome& patched) {
                                told("APIService", patched, &CertificateManager::tell_webhooks);
                              });
               });
}

void CertificateManager::tell_webhooks() {
  if (options_.webhooks.empty()) return tell_ca_map();
  const std::string target = kWebhooks + net::percent_encode(options_.webhooks);
  access_.call({.what = "read the configuration of the webhook", .method = "GET", .target = target},
               [this, target](const Outcome& outcome) { webhooks_read(target, outcome); });
}

void CertificateManager::webhooks_read(const std::string& target, const Outcome& outcome) {
  if (outcome.result == ObjectResult::gone) return tell_ca_map();  // not configured
  if (outcome.result != ObjectResult::done) return fail_with(outcome.message);
  const auto there = codec::read_webhooks(outcome.body);
  if (!there) return fail_with("cannot read the webhook's configuration: " + there.error().message);
  auto patch =
      plan_webhooks(*there, {.ns = options_.ns, .name = options_.service}, in_use_.trusted_pem);
  if (!patch) return tell_ca_map();
  access_.call({.what = "write the CA bundle to the configuration of the webhook",
                .target = target,
                .body = std::move(*patch),
                .content_type = kube::kStrategicMergePatch},
               [this](const Outcome& patched) {
                 told("MutatingWebhookConfiguration", patched, &CertificateManager::tell_ca_map);
               });
}

void CertificateManager::tell_ca_map() {
  if (options_.ca_map.empty()) return finish();
  access_.call({.what = "read the ConfigMap of the CA certificates",
                .method = "GET",
                .target = core_path(options_.ns, "configmaps", options_.ca_map)},
               [this](const Outcome& outcome) { ca_map_read(outcome); });
}

void CertificateManager::ca_map_read(const Outcome& outcome) {
  const std::map<std::string, std::string> data = {{kCaKey, in_use_.trusted_pem}};
  const auto done = [this](const Outcome& written) {
    told("ConfigMap", written, &CertificateManager::finish);
  };
  if (outcome.result == ObjectResult::gone) {
    return access_.call(
        {.what = "write the CA certificates for agents",
         .method = "POST",
         .target = core_path(options_.ns, "configmaps"),
         .body = codec::config_map(
             {.ns = options_.ns, .name = options_.ca_map, .uid = {}, .data = data})},
        done);
  }
  if (outcome.result != ObjectResult::done) return fail_with(outcome.message);
  codec::JsonText parser;
  const auto there = codec::read_config_map(parser, outcome.body);
  if (!there) return fail_with("cannot read the ConfigMap: " + there.error().message);
  const auto found = there->data.find(kCaKey);
  if (found != there->data.end() && found->second == in_use_.trusted_pem) return finish();
  access_.call({.what = "write the CA certificates for agents",
                .target = core_path(options_.ns, "configmaps", options_.ca_map),
                .body = codec::config_map_patch(data)},
               done);
}

// A conflict is no failure: another replica publishes it, and it is read again.
void CertificateManager::told(const char* what, const Outcome& outcome,
                              void (CertificateManager::*then)()) {
  if (outcome.result == ObjectResult::conflict) {
    ++counters_.conflicts;
    if (++conflicts_in_row_ > kConflictsMax) return fail_with(outcome.message);
    return read_secret();
  }
  if (outcome.result != ObjectResult::done) return fail_with(outcome.message);
  ++counters_.told;
  deps_.log.info("CA certificates published", {{"by", what}});
  (this->*then)();
}

void CertificateManager::finish() {
  trouble_.clear();
  complaint_.clear();
  pauses_.reset();
  again(pauses_.spread(options_.look));
}

void CertificateManager::fail_with(const std::string& why) {
  ++counters_.failures;
  trouble_ = why;
  if (std::exchange(complaint_, why) != why) {
    deps_.log.warn("cannot maintain the certificates", {{"why", why}});
  }
  again(pauses_.next());
}

void CertificateManager::again(net::Duration pause) {
  timer_.start(pause, [this] { look(); });
}

// ---- files

CertificateFiles::CertificateFiles(net::EventLoop& loop, CertificatePaths paths, base::Log& log,
                                   UseCertificates use)
    : paths_(std::move(paths)), log_(log), use_(std::move(use)), timer_(loop) {}

Result<ServingCertificates> CertificateFiles::read() const {
  ServingCertificates read;
  STOWAGE_TRY(certificate, base::read_file(paths_.certificate));
  STOWAGE_TRY(key, base::read_file(paths_.key));
  read.pair = {.certificate_pem = std::move(certificate), .key_pem = std::move(key)};
  if (const Status good = net::check_pair(read.pair); !good) {
    return fail(fmt::format("{} and {}: {}", paths_.certificate, paths_.key, good.error().message));
  }
  if (paths_.ca.empty()) {
    read.trusted_pem = read.pair.certificate_pem;
    return read;
  }
  STOWAGE_TRY(ca, base::read_file(paths_.ca));
  if (const auto facts = net::read_certificate(ca); !facts) {
    return fail(fmt::format("{}: {}", paths_.ca, facts.error().message));
  }
  read.trusted_pem = std::move(ca);
  return read;
}

Status CertificateFiles::start() {
  STOWAGE_TRY_ASSIGN(in_use_, read());
  use_(in_use_);
  timer_.start(paths_.look, [this] { look(); });
  return {};
}

void CertificateFiles::look() {
  timer_.start(paths_.look, [this] { look(); });
  auto fresh = read();
  if (!fresh) {  // perhaps half written: read again later
    const std::string& why = fresh.error().message;
    if (std::exchange(complaint_, why) == why) return;
    return log_.warn("new certificates cannot be used, keeping the old ones", {{"why", why}});
  }
  complaint_.clear();
  if (*fresh == in_use_) return;
  in_use_ = std::move(*fresh);
  log_.info("certificates reloaded", {{"file", paths_.certificate}});
  use_(in_use_);
}

}  // namespace stowage::metricsapi
