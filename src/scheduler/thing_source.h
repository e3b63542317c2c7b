// Follows the objects that rules of scheduling speak of besides nodes and pods (core::ThingKind):
// namespaces, claims, volumes, storage classes and what else storage has to say, disruption
// budgets. Each is told to the engine; nothing but their names is kept here, and of claims what
// binding them needs (ClaimView).
//
// A kind that the server does not know (404), or that we may not read (403), counts as empty: that
// is told once in the log, with what it means for pods, and tried again every minute. Once a kind
// has been listed, what is known of it stays true until the server says otherwise; so does what is
// known of an object that can no longer be read.
//
// Lives on the client's loop.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/log.h"
#include "core/model/event.h"
#include "kube/api_client.h"
#include "kube/informer.h"
#include "scheduler/mailbox.h"

namespace stowage::scheduler {

struct ThingOptions {
  kube::ReflectorOptions reflector;                // the path is set here
  net::Duration retry = std::chrono::seconds{60};  // of kinds that we can not have
};

// A persistent volume claim as binding it needs to see it, in its newest state.
struct ClaimView {
  std::string uid;
  std::string resource_version;
  std::string volume;         // spec.volumeName
  std::string selected_node;  // the annotation; a provisioner that gives up removes it
  bool bound = false;         // to `volume`, completely: pods may use it
  friend bool operator==(const ClaimView&, const ClaimView&) = default;
};

class ThingSource {
 public:
  struct Ends {  // all outlive the source
    kube::ApiClient& client;
    Mailbox& mailbox;
    base::Log& log;
    std::shared_ptr<kube::Outages> outages;
    std::function<void()> on_synced;  // once, when all kinds are known
    // A claim appeared, is different in one of the fields of ClaimView, or is gone. claim() tells
    // which. Only kept, never called, before start() and after stop().
    std::function<void(const std::string& name)> on_claim_changed;
  };
  ThingSource(const ThingOptions& options, Ends ends);
  ~ThingSource();
  ThingSource(const ThingSource&) = delete;
  ThingSource& operator=(const ThingSource&) = delete;

  void start();
  void stop();
  [[nodiscard]] bool synced() const;
  // What is missing for that, in words; empty if nothing.
  [[nodiscard]] std::string trouble() const;

  // By "namespace/name"; null if there is no such claim. Valid until the loop goes on.
  [[nodiscard]] const ClaimView* claim(const std::string& name) const;

  struct Counters {
    std::uint64_t changes = 0;                           // told to the engine
    std::uint64_t unreadable = 0;                        // objects that were not taken
    std::array<std::uint64_t, core::kThingKinds> now{};  // how many there are, by kind
    std::array<bool, core::kThingKinds> absent{};        // kinds that we can not have
  };
  [[nodiscard]] Counters counters() const;

 private:
  class Sink;
  friend class Sink;
  void synced_one();
  void keep_claim(const std::string& name, const ClaimView& view);
  void drop_claim(const std::string& name);

  ThingOptions options_;
  Ends ends_;
  std::array<std::unique_ptr<Sink>, core::kThingKinds> sinks_;
  std::unordered_map<std::string, ClaimView> claims_;
  std::uint64_t changes_ = 0;
  std::uint64_t unreadable_ = 0;
  bool told_synced_ = false;
};

// The resource of a kind, as the API server names it.
[[nodiscard]] const char* path_of(core::ThingKind kind);

}  // namespace stowage::scheduler
