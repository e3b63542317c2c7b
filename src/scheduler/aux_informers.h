// Follows the objects besides nodes and pods that scheduling rules depend on (core::AuxKind):
// namespaces, claims, volumes, storage classes and other storage objects, disruption budgets. Each
// change becomes an event for the engine. Only names are kept here, and for claims the fields that
// binding needs (ClaimView).
//
// A kind that the server does not have (404), or that we may not read (403), counts as empty. That
// is logged once, with its effect on pods, and tried again every minute. Once a kind has been
// listed, its known state stays until the server reports a change. The state of an object that can
// no longer be read stays as well.
//
// Lives on the client's loop.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/log.h"
#include "core/model/event.h"
#include "kube/api_client.h"
#include "kube/informer.h"
#include "scheduler/event_queue.h"

namespace stowage::scheduler {

struct AuxInformersOptions {
  kube::ReflectorOptions reflector;                // the path is set here
  net::Duration retry = std::chrono::seconds{60};  // for kinds that are not available
};

// The fields of a persistent volume claim that binding needs, in their newest state.
struct ClaimView {
  std::string uid;
  std::string resource_version;
  std::string volume;         // spec.volumeName
  std::string selected_node;  // the annotation; a provisioner that gives up removes it
  bool bound = false;         // completely bound to `volume`: pods may use it
  friend bool operator==(const ClaimView&, const ClaimView&) = default;
};

class AuxInformers {
 public:
  struct Deps {  // all outlive the source
    kube::ApiClient& client;
    EventQueue& event_queue;
    base::Log& log;
    std::shared_ptr<kube::Outages> outages;
    std::function<void()> on_synced;  // once, when all kinds are known
    // A claim appeared, was deleted, or changed in a field of ClaimView; claim() returns its state.
    // Not called before start() or after stop().
    std::function<void(const std::string& name)> on_claim_changed;
  };
  AuxInformers(const AuxInformersOptions& options, Deps deps);
  ~AuxInformers();
  AuxInformers(const AuxInformers&) = delete;
  AuxInformers& operator=(const AuxInformers&) = delete;

  void start();
  void stop();
  [[nodiscard]] bool synced() const;
  // Why the kinds are not synced; empty if they are.
  [[nodiscard]] std::string trouble() const;

  // By "namespace/name"; null if there is no such claim. Valid until the loop continues.
  [[nodiscard]] const ClaimView* claim(const std::string& name) const;

  struct Counters {
    std::uint64_t changes = 0;                         // sent to the engine
    std::uint64_t unreadable = 0;                      // objects that could not be read
    std::array<std::uint64_t, core::kAuxKinds> now{};  // number of objects, by kind
    std::array<bool, core::kAuxKinds> absent{};        // kinds that are not available
  };
  [[nodiscard]] Counters counters() const;

 private:
  class Sink;
  friend class Sink;
  void synced_one();
  void keep_claim(const std::string& name, const ClaimView& view);
  void drop_claim(const std::string& name);

  AuxInformersOptions options_;
  Deps deps_;
  std::array<std::unique_ptr<Sink>, core::kAuxKinds> sinks_;
  std::unordered_map<std::string, ClaimView> claims_;
  std::uint64_t changes_ = 0;
  std::uint64_t unreadable_ = 0;
  bool synced_reported_ = false;
};

// The resource of a kind, as the API server names it.
[[nodiscard]] const char* path_of(core::AuxKind kind);

}  // namespace stowage::scheduler
