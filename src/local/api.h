// The Kubernetes API without HTTP: what the kinds mean, on top of the store. Every write to a local
// cluster, from kubectl or from a simulated kubelet, goes through this class. It sets defaults,
// validates, checks versions and preconditions, and deletes with finalizers and grace periods. One
// thread; deterministic.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "local/api_error.h"
#include "local/resources.h"
#include "local/schema.h"
#include "local/store.h"

namespace stowage::local {

enum class FieldValidation : std::uint8_t { ignore, warn, strict };

struct WriteOptions {
  bool dry_run = false;
  FieldValidation validation = FieldValidation::ignore;
  std::vector<std::string>* warnings = nullptr;  // with validation "warn": the findings
  std::string manager;                           // of an apply patch: the field manager
};

// Which part of an object a write may change: a write to `main` keeps the stored status, a write to
// `status` keeps all but status, labels and annotations. `whole` is for parts of the cluster
// itself, such as kubelets and controllers, that change both at once.
enum class Part : std::uint8_t { main, status, whole };

enum class PatchType : std::uint8_t { json, merge, strategic, apply };

struct Preconditions {
  std::string uid;               // "": any
  std::string resource_version;  // "": any
};

struct DeleteOptions {
  std::optional<std::int64_t> grace_seconds;  // unset: the pod's own; 0: at once
  std::string propagation;                    // "", Background, Foreground, Orphan
  Preconditions preconditions;
  bool dry_run = false;
};

struct BindRequest {
  ObjectName pod;
  std::string node;
  Preconditions preconditions;
  std::vector<std::pair<std::string, std::string>> annotations;  // merged into the pod's
};

class Api {
 public:
  // Creates the namespaces default, kube-system, kube-public and kube-node-lease and the two system
  // priority classes.
  explicit Api(const StoreOptions& options);

  [[nodiscard]] Store& store() { return store_; }
  [[nodiscard]] const Store& store() const { return store_; }
  [[nodiscard]] const Schema& schema() const { return schema_; }

  // `ns` is the namespace of the request; the object may omit it but not contradict it. If
  // metadata.generateName is set, the name is generated.
  ApiResult<ObjectPtr> create(Kind kind, std::string_view ns, json::object object,
                              const WriteOptions& options = {});

  // `change` edits the current state in place. It returns true to write it, false to write nothing,
  // or an error, which becomes the result.
  using Edit = std::function<ApiResult<bool>(json::object&)>;
  ApiResult<ObjectPtr> update(Kind kind, const ObjectName& name, Part part, const Edit& change,
                              const WriteOptions& options = {});
  // A metadata.resourceVersion or uid in `object` is a precondition.
  ApiResult<ObjectPtr> replace(Kind kind, const ObjectName& name, Part part, json::object object,
                               const WriteOptions& options = {});
  // With `apply`, an object that does not exist is created.
  ApiResult<ObjectPtr> patch(Kind kind, const ObjectName& name, Part part, PatchType type,
                             const json::value& patch, const WriteOptions& options = {});
  // Bound pods get a grace period; finalizers delay the deletion. The result is the object with its
  // deletionTimestamp, or the last state if it is gone.
  struct Removal {
    ObjectPtr object;
    bool gone = false;
  };
  ApiResult<Removal> remove(Kind kind, const ObjectName& name, const DeleteOptions& options = {});

  ApiResult<ObjectPtr> bind(const BindRequest& request, const WriteOptions& options = {});
  // Deletes the pod unless a disruption budget forbids it (429).
  ApiResult<Removal> evict(const ObjectName& pod, const DeleteOptions& options = {});

  [[nodiscard]] ApiResult<std::int64_t> scale(Kind kind, const ObjectName& name) const;
  ApiResult<ObjectPtr> set_scale(Kind kind, const ObjectName& name, std::int64_t replicas,
                                 const Preconditions& preconditions,
                                 const WriteOptions& options = {});

 private:
  struct Current;  // an object, its tree, and the memory of both

  ApiResult<void> place(Kind kind, std::string_view ns, json::object& object) const;
  ApiResult<void> admit(Kind kind, json::object& object);
  ApiResult<void> check(Kind kind, json::object& object, const WriteOptions& options) const;
  ApiResult<ObjectPtr> finish_update(Kind kind, const Current& current, json::object after,
                                     Part part, const WriteOptions& options);
  ApiResult<json::object> patched(Kind kind, const Current& current, PatchType type,
                                  const json::value& patch, const std::string& manager) const;
  ApiResult<Removal> remove_pod(const ObjectPtr& pod, const DeleteOptions& options);
  ApiResult<Removal> remove_namespace(const ObjectPtr& object, const DeleteOptions& options);
  ApiResult<Removal> mark_deleted(const ObjectPtr& object, std::int64_t grace_seconds,
                                  const DeleteOptions& options);
  ApiResult<Removal> take_out(const ObjectPtr& object, const DeleteOptions& options);
  void after_removal(const ObjectPtr& object, std::string_view propagation);
  void release_dependents(const ObjectPtr& owner, bool orphan);
  ApiResult<void> check_budgets(const ObjectPtr& pod, bool dry_run);

  Schema schema_;
  Store store_;
  base::Rng names_;
  // What each manager applied last, as JSON, by the object's uid.
  std::map<std::string, std::map<std::string, std::string>> applied_;
  std::uint32_t next_address_ = 1;  // of a service
};

// Fails if one of them is set and does not match the object.
[[nodiscard]] ApiResult<void> check_preconditions(const Preconditions& preconditions,
                                                  const StoredObject& object);

}  // namespace stowage::local
