// Follows all objects of one resource and passes them on decoded: updates, deletions, and objects
// that a list no longer contains.
//
//   Reflector -> decode -> updated(object)
//                   '--- unreadable(): the known state of the object stays
//
// After a list, objects that it does not contain are deleted, in the order of their keys. None is
// deleted if the list has an object whose key cannot be read, because it may be any of them. An
// event that cannot be read leads to a new list (Reflector::relist_soon).
//
// Lives on the client's loop. Keeps only one key per object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/result.h"
#include "kube/outages.h"
#include "kube/reflector.h"

namespace stowage::kube {

// Callbacks of an informer besides updates. Views are valid during the call only.
class InformerEvents {
 public:
  virtual ~InformerEvents() = default;

  // The key of an object whose other fields are not needed or cannot be decoded.
  [[nodiscard]] virtual Result<std::string> key_of(std::string_view json) = 0;

  struct Deleted {
    const std::string& key;
    bool by_list = false;   // a list lacks it; otherwise the watch reported it
    bool was_read = false;  // it was passed on at least once
  };
  virtual void deleted(const Deleted& object) = 0;
  struct Unreadable {
    std::string_view json;
    const std::string& key;  // empty: the key cannot be read either
    const std::string& why;
  };
  virtual void unreadable(const Unreadable& object) = 0;
  // An event of the watch cannot be read; it may be about any object. A list follows.
  virtual void unreadable_event(const std::string& why) = 0;

  virtual void list_began() {}
  virtual void list_read() {}   // all its objects were passed on; deletions follow
  virtual void list_ended() {}  // after the deletions
  // Only with InformerOptions::retry_absent: the server does not have the resource, or we may not
  // read it. Called once.
  virtual void absent(const std::string& /*why*/) {}
  virtual void status_changed(const ReflectorStatus& /*status*/) {}
};

struct InformerOptions {
  ReflectorOptions reflector;
  std::shared_ptr<Outages> outages;  // null: outages are not reported
  std::string what;                  // the name in such reports: "pods"
  // If set: replies 403 and 404 before the first list mean that there are no such objects. The list
  // is tried again after this time.
  std::optional<net::Duration> retry_absent;
};

// The part of an informer that does not depend on the type of its objects.
class InformerBase : private ReflectorSink {
 public:
  // `client` and `events` outlive it.
  InformerBase(ApiClient& client, InformerOptions options, InformerEvents& events);
  ~InformerBase() override = default;
  InformerBase(const InformerBase&) = delete;
  InformerBase& operator=(const InformerBase&) = delete;

  void start() { reflector_->start(); }  // once
  void stop();                           // no callback follows
  void relist() { reflector_->relist(); }
  // There is an object of this key, which may never be seen: a list that begins later and lacks it
  // deletes it.
  void expect(const std::string& key) { known_[key] = list_; }

  [[nodiscard]] bool synced() const { return listed_ || absent_; }
  [[nodiscard]] bool is_absent() const { return absent_; }
  [[nodiscard]] std::size_t size() const { return known_.size(); }  // objects that were passed on
  [[nodiscard]] const ReflectorStatus& status() const { return reflector_->status(); }
  [[nodiscard]] const ReflectorCounters& counters() const { return reflector_->counters(); }

 private:
  // Passes the object on; returns its key, or why it cannot be decoded.
  [[nodiscard]] virtual Result<std::string> update(std::string_view json) = 0;

  void on_list_begin() override;
  void on_item(std::string_view json) override { see(json); }
  void on_list_end(std::string_view version) override;
  void on_event(WatchType type, std::string_view json) override;
  void on_status(const ReflectorStatus& status) override;
  void on_bad_line(const std::string& error) override;
  void make_reflector();
  void see(std::string_view json);
  void delete_unlisted();
  void do_without(const std::string& why);

  using Keys = std::unordered_map<std::string, std::uint64_t>;  // with the list that last contained
                                                                // each
  ApiClient& client_;
  InformerOptions options_;
  InformerEvents& events_;
  Keys known_;
  Keys unread_;  // never decoded
  std::uint64_t list_ = 0;
  bool unnamed_ = false;  // the list has an object without a key
  bool listed_ = false;
  bool absent_ = false;
  net::Timer retry_;
  std::optional<Outages::Source> outage_;
  std::unique_ptr<Reflector> reflector_;
};

template <typename T>
class InformerHandler : public InformerEvents {
 public:
  [[nodiscard]] virtual Result<T> decode(std::string_view json) = 0;
  [[nodiscard]] virtual std::string key(const T& object) = 0;
  virtual void updated(T object) = 0;  // new or not
};

template <typename T>
class Informer final : public InformerBase {
 public:
  // Both outlive it.
  Informer(ApiClient& client, InformerOptions options, InformerHandler<T>& handler)
      : InformerBase(client, std::move(options), handler), handler_(handler) {}

 private:
  Result<std::string> update(std::string_view json) override {
    STOWAGE_TRY(object, handler_.decode(json));
    std::string key = handler_.key(object);
    handler_.updated(std::move(object));
    return key;
  }

  InformerHandler<T>& handler_;
};

}  // namespace stowage::kube
