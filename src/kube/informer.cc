#include "kube/informer.h"

#include <algorithm>
#include <vector>

namespace stowage::kube {
namespace {

constexpr int kForbidden = 403;
constexpr int kNotFound = 404;

}  // namespace

InformerBase::InformerBase(ApiClient& client, InformerOptions options, InformerEvents& events)
    : client_(client), options_(std::move(options)), events_(events), retry_(client.loop()) {
  if (options_.outages) outage_.emplace(options_.outages, options_.what);
  make_reflector();
}

void InformerBase::make_reflector() {
  ReflectorSink& sink = *this;
  reflector_ = std::make_unique<Reflector>(client_, options_.reflector, sink);
}

void InformerBase::stop() {
  retry_.cancel();
  reflector_->stop();
}

void InformerBase::on_list_begin() {
  ++list_;
  unnamed_ = false;
  events_.list_began();
}

void InformerBase::on_list_end(std::string_view /*version*/) {
  events_.list_read();
  if (!unnamed_) delete_unlisted();
  listed_ = true;
  absent_ = false;
  events_.list_ended();
}

void InformerBase::delete_unlisted() {
  std::vector<std::pair<std::string, bool>> gone;  // key, and whether it was read
  for (const Keys* keys : {&known_, &unread_}) {
    for (const auto& [key, list] : *keys) {
      if (list != list_) gone.emplace_back(key, keys == &known_);
    }
  }
  std::sort(gone.begin(), gone.end());
  for (const auto& [key, was_read] : gone) {
    (was_read ? known_ : unread_).erase(key);
    events_.deleted({.key = key, .by_list = true, .was_read = was_read});
  }
}

void InformerBase::on_event(WatchType type, std::string_view json) {
  if (type != WatchType::deleted) return see(json);
  const Result<std::string> key = events_.key_of(json);
  if (!key) return on_bad_line(key.error().message);
  unread_.erase(*key);
  const bool was_read = known_.erase(*key) > 0;
  events_.deleted({.key = *key, .was_read = was_read});
}

void InformerBase::see(std::string_view json) {
  const Result<std::string> updated = update(json);
  if (updated) {
    unread_.erase(*updated);
    known_[*updated] = list_;
    return;
  }
  const std::string key = events_.key_of(json).value_or("");
  if (key.empty()) {
    unnamed_ = true;
  } else {
    (known_.contains(key) ? known_ : unread_)[key] = list_;
  }
  events_.unreadable({.json = json, .key = key, .why = updated.error().message});
}

void InformerBase::on_status(const ReflectorStatus& status) {
  const bool failed = status.phase == ReflectorPhase::disconnected;
  const bool refused = failed && (status.code == kForbidden || status.code == kNotFound);
  if (options_.retry_absent && refused && !listed_) {
    if (outage_) outage_->works();  // the server works
    return do_without(status.error);
  }
  if (outage_) tell(*outage_, status);
  events_.status_changed(status);
}

void InformerBase::do_without(const std::string& why) {
  reflector_->stop();
  retry_.start(*options_.retry_absent, [this] {
    make_reflector();
    reflector_->start();
  });
  if (!std::exchange(absent_, true)) events_.absent(why);
}

void InformerBase::on_bad_line(const std::string& error) {
  events_.unreadable_event(error);
  reflector_->relist_soon();
}

}  // namespace stowage::kube
