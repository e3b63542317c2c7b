#include "scheduler/quota_source.h"

#include <utility>

#include <fmt/format.h>

#include "codec/config_map.h"
#include "kube/quota_text.h"

namespace stowage::scheduler {

// Follows one ConfigMap.
class QuotaSource::Sink final : public kube::ReflectorSink {
 public:
  // Takes the text (null: the ConfigMap, or its key, is not there) into the owner's quotas.
  using Take = std::function<Status(core::Quotas& quotas, const std::string* text)>;

  struct What {
    std::string name;
    std::string key;
    Take take;
  };
  Sink(QuotaSource& owner, What what, kube::ReflectorOptions options)
      : owner_(owner),
        what_(std::move(what)),
        outage_(owner.ends_.outages, "configmap " + what_.name),
        reflector_(owner.ends_.client, named(std::move(options), owner.options_.ns, what_.name),
                   *this) {}

  kube::Reflector& reflector() { return reflector_; }
  [[nodiscard]] const kube::Reflector& reflector() const { return reflector_; }
  [[nodiscard]] bool synced() const { return synced_; }
  [[nodiscard]] bool broken() const { return broken_; }

  void on_list_begin() override { seen_ = false; }
  void on_item(std::string_view json) override { see(json); }
  void on_list_end(std::string_view /*version*/) override {
    if (!seen_) gone();
    if (std::exchange(synced_, true)) return;
    owner_.synced_one();
  }
  void on_event(kube::WatchType type, std::string_view json) override {
    if (type == kube::WatchType::deleted) return gone();
    see(json);
  }
  void on_status(const kube::ReflectorStatus& status) override { kube::tell(outage_, status); }
  void on_bad_line(const std::string& error) override {
    owner_.ends_.log.warn("unreadable watch event of a quota", {{"why", error}});
    reflector_.relist_soon();
  }

 private:
  static kube::ReflectorOptions named(kube::ReflectorOptions options, const std::string& ns,
                                      const std::string& name) {
    options.path = fmt::format("/api/v1/namespaces/{}/configmaps", net::percent_encode(ns));
    options.field_selector = "metadata.name=" + name;
    return options;
  }

  void see(std::string_view json) {
    auto map = codec::read_config_map(parser_, json);
    if (!map) {
      seen_ = true;  // it is there; the last good one stays
      return refuse({}, map.error().message);
    }
    if (map->name != what_.name) return;  // a server that ignores the selector
    seen_ = true;
    const auto text = map->data.find(what_.key);
    const std::string* found = text == map->data.end() ? nullptr : &text->second;
    core::Quotas next = owner_.quotas_;
    if (auto taken = what_.take(next, found); !taken) return refuse(*map, taken.error().message);
    broken_ = false;
    adopt(std::move(next));
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
    if (changed) owner_.tell();
    owner_.counters_.broken = owner_.gpu_quota_->broken() || owner_.stowage_quota_->broken();
  }

  void refuse(const codec::ConfigMap& map, const std::string& why) {
    broken_ = true;
    owner_.counters_.broken = true;
    ++owner_.counters_.unreadable;
    const std::string note = fmt::format(
        "the quota in ConfigMap {}/{}, key {}, cannot be read: {}; the last good one "
        "stays in force",
        owner_.options_.ns, what_.name, what_.key, why);
    owner_.ends_.log.warn("quota not taken", {{"configmap", what_.name}, {"why", why}});
    owner_.ends_.recorder.record({.regarding = {.kind = "ConfigMap",
                                                .ns = owner_.options_.ns,
                                                .name = what_.name,
                                                .uid = map.uid},
                                  .type = kube::EventType::warning,
                                  .reason = "QuotaUnreadable",
                                  .action = "ReadingQuota",
                                  .note = note});
  }

  QuotaSource& owner_;
  What what_;
  codec::JsonText parser_;
  bool seen_ = false;
  bool synced_ = false;
  bool broken_ = false;
  kube::Outages::Source outage_;
  kube::Reflector reflector_;
};

namespace {

// Drops namespaces that have no limit left.
void tidy(core::Quotas& quotas) {
  std::erase_if(quotas.namespaces, [](const auto& entry) {
    return !entry.second.by_node && entry.second.limits.empty();
  });
}

Status take_gpu_quota(core::Quotas& quotas, const std::string* text) {
  std::map<std::string, core::NodeModelQuota> read;
  if (text != nullptr) {
    STOWAGE_TRY(parsed, kube::parse_gpu_quota(*text));
    read = std::move(parsed);
  }
  for (auto& [ns, quota] : quotas.namespaces) quota.by_node.reset();
  for (auto& [ns, quota] : read) quotas.namespaces[ns].by_node = std::move(quota);
  tidy(quotas);
  return {};
}

Status take_stowage_quota(core::Quotas& quotas, const std::string* text) {
  std::map<std::string, std::vector<core::ModelLimit>> read;
  if (text != nullptr) {
    STOWAGE_TRY(parsed, kube::parse_stowage_quota(*text));
    read = std::move(parsed);
  }
  for (auto& [ns, quota] : quotas.namespaces) quota.limits.clear();
  for (auto& [ns, limits] : read) quotas.namespaces[ns].limits = std::move(limits);
  tidy(quotas);
  return {};
}

}  // namespace

QuotaSource::QuotaSource(QuotaOptions options, const kube::ReflectorOptions& reflector, Ends ends)
    : options_(std::move(options)), ends_(std::move(ends)) {
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
  gpu_quota_->reflector().start();
  stowage_quota_->reflector().start();
}

void QuotaSource::stop() {
  gpu_quota_->reflector().stop();
  stowage_quota_->reflector().stop();
}

bool QuotaSource::synced() const { return gpu_quota_->synced() && stowage_quota_->synced(); }

std::string QuotaSource::trouble() const {
  if (synced()) return {};
  std::string text = "GPU quota has not been synced, please retry later";
  for (const auto* sink : {gpu_quota_.get(), stowage_quota_.get()}) {
    const auto& status = sink->reflector().status();
    if (!status.synced && !status.error.empty()) return text + ": " + status.error;
  }
  return text;
}

void QuotaSource::synced_one() {
  if (told_synced_ || !synced()) return;
  told_synced_ = true;
  ends_.on_synced();
}

void QuotaSource::tell() {
  ++counters_.changes;
  counters_.namespaces = quotas_.namespaces.size();
  ends_.log.info("quota changed", {{"namespaces", fmt::format("{}", quotas_.namespaces.size())}});
  ends_.mailbox.put_reply(core::QuotaChanged{quotas_});
}

}  // namespace stowage::scheduler
