#include "scheduler/thing_source.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "codec/kubernetes.h"

namespace stowage::scheduler {
namespace {

using core::ThingKind;

constexpr int kForbidden = 403;
constexpr int kNotFound = 404;

struct Row {
  ThingKind kind;
  const char* path;
  const char* without;  // what follows for pods if we can not have them
};
constexpr std::array<Row, core::kThingKinds> kRows{{
    {ThingKind::name_space, "/api/v1/namespaces",
     "selectors of namespaces in pod affinity match none"},
    {ThingKind::claim, "/api/v1/persistentvolumeclaims", "pods that use volume claims wait"},
    {ThingKind::volume, "/api/v1/persistentvolumes", "pods that use volume claims wait"},
    {ThingKind::storage_class, "/apis/storage.k8s.io/v1/storageclasses",
     "pods whose volume claims are not bound yet wait"},
    {ThingKind::storage_driver, "/apis/storage.k8s.io/v1/csidrivers",
     "how much storage drivers have left is not heeded"},
    {ThingKind::storage_capacity, "/apis/storage.k8s.io/v1/csistoragecapacities",
     "pods that need new volumes of drivers that tell their capacity wait"},
    {ThingKind::node_volume_limits, "/apis/storage.k8s.io/v1/csinodes",
     "how many volumes a node may have is not heeded"},
    {ThingKind::attachment, "/apis/storage.k8s.io/v1/volumeattachments",
     "volumes that stay attached when their pods have gone are not counted"},
    {ThingKind::budget, "/apis/policy/v1/poddisruptionbudgets",
     "disruption budgets are not heeded when pods are evicted"},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<std::size_t>(kRows[i].kind) != i) return false;
  }
  return true;
}
static_assert(in_order(), "the rows stand in the order of ThingKind");

constexpr std::size_t place_of(ThingKind kind) { return static_cast<std::size_t>(kind); }

// "persistentvolumes" of a path.
std::string plural(std::string_view path) { return std::string(path.substr(path.rfind('/') + 1)); }

}  // namespace

const char* path_of(ThingKind kind) { return kRows.at(place_of(kind)).path; }

// Follows one kind.
class ThingSource::Sink final : public kube::ReflectorSink {
 public:
  Sink(ThingSource& owner, const Row& row)
      : owner_(owner),
        row_(row),
        again_(owner.ends_.client.loop()),
        outage_(owner.ends_.outages, plural(row.path)) {
    make_reflector();
  }

  void start() { reflector_->start(); }
  void stop() {
    again_.cancel();
    reflector_->stop();
  }
  [[nodiscard]] bool known() const { return listed_ || absent_; }
  [[nodiscard]] bool absent() const { return absent_; }
  [[nodiscard]] std::size_t size() const { return names_.size(); }
  [[nodiscard]] std::string trouble() const {
    if (known()) return {};
    const std::string& error = reflector_->status().error;
    if (!error.empty()) return error;
    return fmt::format("the first list of {} is not in yet", plural(row_.path));
  }

  void on_list_begin() override {
    ++list_;
    unnamed_ = false;
  }
  void on_item(std::string_view json) override { see(json); }
  void on_list_end(std::string_view /*version*/) override {
    std::vector<std::string> gone;
    for (const auto& [name, seen_in] : names_) {
      if (seen_in != list_ && !unnamed_) gone.push_back(name);
    }
    std::sort(gone.begin(), gone.end());
    for (const std::string& name : gone) lose(name);
    listed_ = true;
    absent_ = false;
    owner_.synced_one();
  }
  void on_event(kube::WatchType type, std::string_view json) override {
    if (type != kube::WatchType::deleted) return see(json);
    const auto name = decoder_.thing_name(row_.kind, json);
    if (name) return lose(*name);
    complain(name.error().message);
    reflector_->relist_soon();
  }
  void on_status(const kube::ReflectorStatus& status) override {
    const bool failed = status.phase == kube::ReflectorPhase::disconnected;
    if (failed && !listed_ && (status.code == kForbidden || status.code == kNotFound)) {
      outage_.works();  // the server does
      return do_without(status.error);
    }
    kube::tell(outage_, status);
  }
  void on_bad_line(const std::string& error) override {
    owner_.ends_.log.warn("unreadable watch event", {{"what", plural(row_.path)}, {"why", error}});
    reflector_->relist_soon();
  }

 private:
  void make_reflector() {
    kube::ReflectorOptions options = owner_.options_.reflector;
    options.path = row_.path;
    options.seed += place_of(row_.kind);
    reflector_ = std::make_unique<kube::Reflector>(owner_.ends_.client, std::move(options), *this);
  }

  void do_without(const std::string& why) {
    reflector_->stop();
    again_.start(owner_.options_.retry, [this] {
      make_reflector();
      reflector_->start();
    });
    if (std::exchange(absent_, true)) return;
    owner_.ends_.log.warn("not available, taken for empty",
                          {{"what", plural(row_.path)}, {"so", row_.without}, {"why", why}});
    owner_.synced_one();
  }

  void see(std::string_view json) {
    auto object = decoder_.thing(row_.kind, json);
    if (!object) return refuse(json, object.error().message);
    names_[object->name] = list_;
    if (const auto* claim = std::get_if<core::Claim>(&object->thing)) {
      owner_.keep_claim(object->name, {.uid = claim->uid,
                                       .resource_version = std::move(object->resource_version),
                                       .volume = claim->volume,
                                       .selected_node = claim->selected_node,
                                       .bound = claim->bound});
    }
    ++owner_.changes_;
    owner_.ends_.mailbox.put_thing(object->name, core::ThingChanged{std::move(object->thing)});
  }

  // What is known of it stays: a budget that nobody can read is still one.
  void refuse(std::string_view json, const std::string& why) {
    ++owner_.unreadable_;
    const auto name = decoder_.thing_name(row_.kind, json);
    complain(name ? fmt::format("{}: {}", *name, why) : why);
    if (!name) {
      unnamed_ = true;
    } else if (const auto known = names_.find(*name); known != names_.end()) {
      known->second = list_;
    }
  }

  void complain(const std::string& why) {
    owner_.ends_.log.warn("unreadable object: what is known of it stays",
                          {{"what", plural(row_.path)}, {"why", why}});
  }

  void lose(const std::string& name) {
    if (names_.erase(name) == 0) return;
    if (row_.kind == ThingKind::claim) owner_.drop_claim(name);
    ++owner_.changes_;
    owner_.ends_.mailbox.put_thing_gone({.kind = row_.kind, .name = name});
  }

  ThingSource& owner_;
  const Row& row_;
  codec::Decoder decoder_;
  std::unordered_map<std::string, std::uint64_t> names_;  // and the list that named them last
  std::uint64_t list_ = 0;
  bool listed_ = false;
  bool absent_ = false;
  bool unnamed_ = false;  // the list has one that may be any
  net::Timer again_;
  kube::Outages::Source outage_;
  std::unique_ptr<kube::Reflector> reflector_;
};

ThingSource::ThingSource(const ThingOptions& options, Ends ends)
    : options_(options), ends_(std::move(ends)) {
  for (const Row& row : kRows) sinks_[place_of(row.kind)] = std::make_unique<Sink>(*this, row);
}

ThingSource::~ThingSource() = default;

void ThingSource::start() {
  for (const auto& sink : sinks_) sink->start();
}

void ThingSource::stop() {
  for (const auto& sink : sinks_) sink->stop();
}

bool ThingSource::synced() const {
  return std::all_of(sinks_.begin(), sinks_.end(), [](const auto& sink) { return sink->known(); });
}

std::string ThingSource::trouble() const {
  for (const auto& sink : sinks_) {
    if (std::string text = sink->trouble(); !text.empty()) return text;
  }
  return {};
}

const ClaimView* ThingSource::claim(const std::string& name) const {
  const auto found = claims_.find(name);
  return found == claims_.end() ? nullptr : &found->second;
}

ThingSource::Counters ThingSource::counters() const {
  Counters out{.changes = changes_, .unreadable = unreadable_};
  for (std::size_t i = 0; i < sinks_.size(); ++i) {
    out.now[i] = sinks_[i]->size();
    out.absent[i] = sinks_[i]->absent();
  }
  return out;
}

void ThingSource::synced_one() {
  if (told_synced_ || !synced()) return;
  told_synced_ = true;
  ends_.on_synced();
}

void ThingSource::keep_claim(const std::string& name, const ClaimView& view) {
  ClaimView& kept = claims_[name];
  if (kept == view) return;
  kept = view;
  ends_.on_claim_changed(name);
}

void ThingSource::drop_claim(const std::string& name) {
  if (claims_.erase(name) > 0) ends_.on_claim_changed(name);
}

}  // namespace stowage::scheduler
