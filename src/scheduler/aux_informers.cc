#include "scheduler/aux_informers.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "codec/kubernetes.h"

namespace stowage::scheduler {
namespace {

using core::AuxKind;

struct Row {
  AuxKind kind;
  const char* path;
  const char* without;  // the effect on pods if this kind is not available
};
constexpr std::array<Row, core::kAuxKinds> kRows{{
    {AuxKind::name_space, "/api/v1/namespaces",
     "namespace selectors of pod affinity match no namespace"},
    {AuxKind::claim, "/api/v1/persistentvolumeclaims", "pods that use volume claims wait"},
    {AuxKind::volume, "/api/v1/persistentvolumes", "pods that use volume claims wait"},
    {AuxKind::storage_class, "/apis/storage.k8s.io/v1/storageclasses",
     "pods whose volume claims are not bound yet wait"},
    {AuxKind::storage_driver, "/apis/storage.k8s.io/v1/csidrivers",
     "the free capacity of storage drivers is ignored"},
    {AuxKind::storage_capacity, "/apis/storage.k8s.io/v1/csistoragecapacities",
     "pods that need new volumes of drivers that publish their capacity wait"},
    {AuxKind::node_volume_limits, "/apis/storage.k8s.io/v1/csinodes",
     "volume limits of nodes are ignored"},
    {AuxKind::attachment, "/apis/storage.k8s.io/v1/volumeattachments",
     "volumes that stay attached after their pods are deleted are not counted"},
    {AuxKind::budget, "/apis/policy/v1/poddisruptionbudgets",
     "disruption budgets are ignored when pods are evicted"},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<std::size_t>(kRows[i].kind) != i) return false;
  }
  return true;
}
static_assert(in_order(), "the rows have the order of AuxKind");

constexpr std::size_t place_of(AuxKind kind) { return static_cast<std::size_t>(kind); }

// "persistentvolumes" from a path.
std::string plural(std::string_view path) { return std::string(path.substr(path.rfind('/') + 1)); }

}  // namespace

const char* path_of(AuxKind kind) { return kRows.at(place_of(kind)).path; }

// Follows one kind of object.
class AuxInformers::Sink final : public kube::InformerHandler<codec::DecodedAuxObject> {
 public:
  Sink(AuxInformers& owner, const Row& row)
      : owner_(owner), row_(row), informer_(owner.deps_.client, options(owner, row), *this) {}

  [[nodiscard]] kube::InformerBase& informer() { return informer_; }
  [[nodiscard]] std::string trouble() const {
    if (informer_.synced()) return {};
    const std::string& error = informer_.status().error;
    if (!error.empty()) return error;
    return fmt::format("the first list of {} is not complete", plural(row_.path));
  }

  Result<codec::DecodedAuxObject> decode(std::string_view json) override {
    return decoder_.aux_object(row_.kind, json);
  }
  std::string key(const codec::DecodedAuxObject& object) override { return object.name; }
  Result<std::string> key_of(std::string_view json) override {
    return decoder_.aux_object_name(row_.kind, json);
  }
  void updated(codec::DecodedAuxObject object) override {
    if (const auto* claim = std::get_if<core::Claim>(&object.aux_object)) {
      owner_.keep_claim(object.name, {.uid = claim->uid,
                                      .resource_version = std::move(object.resource_version),
                                      .volume = claim->volume,
                                      .selected_node = claim->selected_node,
                                      .bound = claim->bound});
    }
    ++owner_.changes_;
    owner_.deps_.event_queue.put_aux_object(object.name,
                                            core::AuxObjectChanged{std::move(object.aux_object)});
  }
  void deleted(const Deleted& object) override {
    if (!object.was_read) return;
    if (row_.kind == AuxKind::claim) owner_.drop_claim(object.key);
    ++owner_.changes_;
    owner_.deps_.event_queue.put_aux_object_gone({.kind = row_.kind, .name = object.key});
  }
  // The known state stays: a budget that cannot be read still applies.
  void unreadable(const Unreadable& object) override {
    ++owner_.unreadable_;
    owner_.deps_.log.warn(
        "unreadable object: its last known state is kept",
        {{"what", plural(row_.path)},
         {"why", object.key.empty() ? object.why : fmt::format("{}: {}", object.key, object.why)}});
  }
  void unreadable_event(const std::string& why) override {
    owner_.deps_.log.warn("unreadable watch event", {{"what", plural(row_.path)}, {"why", why}});
  }
  void list_ended() override { owner_.synced_one(); }
  void absent(const std::string& why) override {
    owner_.deps_.log.warn("objects not available, treated as an empty list",
                          {{"what", plural(row_.path)}, {"so", row_.without}, {"why", why}});
    owner_.synced_one();
  }

 private:
  static kube::InformerOptions options(const AuxInformers& owner, const Row& row) {
    kube::InformerOptions options{.reflector = owner.options_.reflector,
                                  .outages = owner.deps_.outages,
                                  .what = plural(row.path),
                                  .retry_absent = owner.options_.retry};
    options.reflector.path = row.path;
    options.reflector.seed += place_of(row.kind);
    return options;
  }

  AuxInformers& owner_;
  const Row& row_;
  codec::Decoder decoder_;
  kube::Informer<codec::DecodedAuxObject> informer_;
};

AuxInformers::AuxInformers(const AuxInformersOptions& options, Deps deps)
    : options_(options), deps_(std::move(deps)) {
  for (const Row& row : kRows) sinks_[place_of(row.kind)] = std::make_unique<Sink>(*this, row);
}

AuxInformers::~AuxInformers() = default;

void AuxInformers::start() {
  for (const auto& sink : sinks_) sink->informer().start();
}

void AuxInformers::stop() {
  for (const auto& sink : sinks_) sink->informer().stop();
}

bool AuxInformers::synced() const {
  return std::all_of(sinks_.begin(), sinks_.end(),
                     [](const auto& sink) { return sink->informer().synced(); });
}

std::string AuxInformers::trouble() const {
  for (const auto& sink : sinks_) {
    if (std::string text = sink->trouble(); !text.empty()) return text;
  }
  return {};
}

const ClaimView* AuxInformers::claim(const std::string& name) const {
  const auto found = claims_.find(name);
  return found == claims_.end() ? nullptr : &found->second;
}

AuxInformers::Counters AuxInformers::counters() const {
  Counters out{.changes = changes_, .unreadable = unreadable_};
  for (std::size_t i = 0; i < sinks_.size(); ++i) {
    out.now[i] = sinks_[i]->informer().size();
    out.absent[i] = sinks_[i]->informer().is_absent();
  }
  return out;
}

void AuxInformers::synced_one() {
  if (synced_reported_ || !synced()) return;
  synced_reported_ = true;
  deps_.on_synced();
}

void AuxInformers::keep_claim(const std::string& name, const ClaimView& view) {
  ClaimView& kept = claims_[name];
  if (kept == view) return;
  kept = view;
  deps_.on_claim_changed(name);
}

void AuxInformers::drop_claim(const std::string& name) {
  if (claims_.erase(name) > 0) deps_.on_claim_changed(name);
}

}  // namespace stowage::scheduler
