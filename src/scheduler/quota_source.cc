#include "scheduler/quota_source.h"

#include <utility>

#include <fmt/format.h>

#include "codec/config_map.h"
#include "kube/quota_text.h"

namespace stowage::scheduler {

// Follows one ConfigMap.
class QuotaSource::Sink final : public kube::InformerHandler<codec::ConfigMap> {
 public:
  // Reads the text into the owner's quotas. Null: the ConfigMap or its key does not exist.
  using Take = std::function<Status(core::Quotas& quotas, const std::string* text)>;

  struct What {
    std::string name;
    std::string key;
    Take take;
  };
  Sink(QuotaSource& owner, What what, kube::ReflectorOptions options)
      : owner_(owner),
        what_(std::move(what)),
        informer_(owner.deps_.client,
                  {.reflector = named(std::move(options), owner.options_.ns, what_.name),
                   .outages = owner.deps_.outages,
                   .what = "configmap " + what_.name},
                  *this) {}

  [[nodiscard]] kube::InformerBase& informer() { return informer_; }
  [[nodiscard]] bool broken() const { return broken_; }

  Result<codec::ConfigMap> decode(std::string_view json) override {
    return codec::read_config_map(parser_, json);
  }
  std::string key(const codec::ConfigMap& map) override { return map.name; }
  Result<std::string> key_of(std::string_view /*json*/) override { return what_.name; }
  void updated(codec::ConfigMap map) override {
    if (map.name != what_.name) return;  // a server that ignores the selector
    const auto text = map.data.find(what_.key);
    const std::string* found = text == map.data.end() ? nullptr : &text->second;
    core::Quotas next = owner_.quotas_;
    if (auto taken = what_.take(next, found); !taken) return refuse(map, taken.error().message);
    broken_ = false;
    adopt(std::move(next));
  }
  void deleted(const Deleted& map) override {
    if (map.key == what_.name) gone();
  }
  void unreadable(const Unreadable& map) override { refuse({}, map.why); }
  void unreadable_event(const std::string& why) override {
    owner_.deps_.log.warn("unreadable watch event of a quota", {{"why", why}});
  }
  void list_ended() override { owner_.synced_one(); }

 private:
  static kube::ReflectorOptions named(kube::ReflectorOptions options, const std::string& ns,
                                      const std::string& name) {
    options.path = fmt::format("/api/v1/namespaces/{}/configmaps", net::percent_encode(ns));
    options.field_selector = "metadata.name=" + name;
    return options;
  }

  void gone() {
    core::Quotas next = owner_.quotas_;
    (void)what_.take(next, nullptr);
    broken_ = false;
    adopt(std::move(next));
  }

  void adopt(core::Quotas next) {
    const bool changed = next != owner_.quotas_;
    owner_.quotas_ = std::move(next);
    if (changed) owner_.publish();
    owner_.counters_.broken = owner_.gpu_quota_->broken() || owner_.stowage_quota_->broken();
  }

  void refuse(const codec::ConfigMap& map, const std::string& why) {
    broken_ = true;
    owner_.counters_.broken = true;
    ++owner_.counters_.unreadable;
    const std::string note = fmt::format(
        "the quota in ConfigMap {}/{}, key {}, cannot be read: {}; the last valid one stays in "
        "force",
        owner_.options_.ns, what_.name, what_.key, why);
    owner_.deps_.log.warn("quota refused", {{"configmap", what_.name}, {"why", why}});
    owner_.deps_.recorder.record({.regarding = {.kind = "ConfigMap",
                                                .ns = owner_.options_.ns,
                                                .name = what_.name,
                                                .uid = map.uid},
                                  .type = kube::EventType::warning,
                                  .reason = kube::EventReason::quota_unreadable,
                                  .action = "ReadingQuota",
                                  .note = note});
  }

  QuotaSource& owner_;
  What what_;
  codec::JsonText parser_;
  bool broken_ = false;
  kube::Informer<codec::ConfigMap> informer_;
};

namespace {

// Removes namespaces that have no limit left.
void tidy(core::Quotas& quotas) {
  std::erase_if(quotas.namespaces, [](const auto& entry) {
    return !entry.second.by_node && entry.second.limits.empty();
  });
}

Status take_gpu_quota(core::Quotas& quotas, const std::string* text) {
  std::map<std::string, core::NodeModelQuota> read;
  if (text != nullptr) {
    STOWAGE_TRY_ASSIGN(read, kube::parse_gpu_quota(*text));
  }
  for (auto& [ns, quota] : quotas.namespaces) quota.by_node.reset();
  for (auto& [ns, quota] : read) quotas.namespaces[ns].by_node = std::move(quota);
  tidy(quotas);
  return {};
}

Status take_stowage_quota(core::Quotas& quotas, const std::string* text) {
  std::map<std::string, std::vector<core::ModelLimit>> read;
  if (text != nullptr) {
    STOWAGE_TRY_ASSIGN(read, kube::parse_stowage_quota(*text));
  }
  for (auto& [ns, quota] : quotas.namespaces) quota.limits.clear();
  for (auto& [ns, limits] : read) quotas.namespaces[ns].limits = std::move(limits);
  tidy(quotas);
  return {};
}

}  // namespace

QuotaSource::QuotaSource(QuotaOptions options, const kube::ReflectorOptions& reflector, Deps deps)
    : options_(std::move(options)), deps_(std::move(deps)) {
  quotas_.model_label = options_.model_label;
  quotas_.pool_label = options_.pool_label;
  gpu_quota_ = std::make_unique<Sink>(*this,
                                      Sink::What{.name = options_.gpu_quota,
                                                 .key = std::string(kube::kGpuQuotaKey),
                                                 .take = take_gpu_quota},
                                      reflector);
  stowage_quota_ = std::make_unique<Sink>(*this,
                                          Sink::What{.name = options_.stowage_quota,
                                                     .key = std::string(kube::kStowageQuotaKey),
                                                     .take = take_stowage_quota},
                                          reflector);
}

QuotaSource::~QuotaSource() = default;

void QuotaSource::start() {
  gpu_quota_->informer().start();
  stowage_quota_->informer().start();
}

void QuotaSource::stop() {
  gpu_quota_->informer().stop();
  stowage_quota_->informer().stop();
}

bool QuotaSource::synced() const {
  return gpu_quota_->informer().synced() && stowage_quota_->informer().synced();
}

std::string QuotaSource::trouble() const {
  if (synced()) return {};
  std::string text = "GPU quota has not been synced, please retry later";
  for (auto* sink : {gpu_quota_.get(), stowage_quota_.get()}) {
    const auto& status = sink->informer().status();
    if (!status.synced && !status.error.empty()) return text + ": " + status.error;
  }
  return text;
}

void QuotaSource::synced_one() {
  if (synced_reported_ || !synced()) return;
  synced_reported_ = true;
  deps_.on_synced();
}

void QuotaSource::publish() {
  ++counters_.changes;
  counters_.namespaces = quotas_.namespaces.size();
  deps_.log.info("quota changed", {{"namespaces", fmt::format("{}", quotas_.namespaces.size())}});
  deps_.event_queue.put_reply(core::QuotaChanged{quotas_});
}

}  // namespace stowage::scheduler
