#include "webhook/patch.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "dialect/carriers.h"
#include "dialect/dialect.h"
#include "dialect/node_resources.h"
#include "dialect/table.h"

namespace stowage::webhook {
namespace {

using base::JsonWriter;

constexpr std::string_view kVisible = "NVIDIA_VISIBLE_DEVICES";
constexpr std::string_view kVoid = "void";
constexpr std::string_view kMps = "CUDA_MPS_";
constexpr std::string_view kMirror = "kubernetes.io/config.mirror";
constexpr std::size_t kNameShown = 63;  // names of containers are labels of DNS

// "a/b~c" as a part of a JSON pointer.
std::string pointer_part(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

class Operations {
 public:
  Operations() { json_.begin_array(); }

  // The value is written by `put`. An existing value is replaced.
  template <typename Put>
  void add(const std::string& path, Put put) {
    begin("add", path);
    put(json_.key("value"));
    json_.end_object();
  }
  template <typename Put>
  void replace(const std::string& path, Put put) {
    begin("replace", path);
    put(json_.key("value"));
    json_.end_object();
  }
  void remove(const std::string& path) {
    begin("remove", path);
    json_.end_object();
  }
  // Empty if there are none.
  [[nodiscard]] std::string take() {
    json_.end_array();
    return any_ ? json_.take() : std::string();
  }

 private:
  void begin(std::string_view operation, const std::string& path) {
    any_ = true;
    json_.begin_object().key("op").value(operation).key("path").value(path);
  }
  JsonWriter json_{JsonWriter::Style::compact};
  bool any_ = false;
};

template <typename Test>
bool asks(const Container& container, Test test) {
  for (const dialect::Quantities* amounts : {&container.requests, &container.limits}) {
    for (const auto& [name, quantity] : *amounts) {
      if (!quantity.zero() && test(name)) return true;
    }
  }
  return false;
}

bool is_published(const Options& options, const std::string& resource) {
  return dialect::is_published(resource, options.dialects);
}

// In any dialect, or by another plugin of NVIDIA's resources, or by DRA, which may be a card.
bool may_ask_for_cards(const Container& container) {
  return container.has_claims || asks(container, [](const std::string& name) {
           return name.starts_with("nvidia.com/") || dialect::means_cards(name);
         });
}

dialect::PodObject pod_object(const PodReview& pod) {
  dialect::PodObject object{.ns = pod.ns, .name = pod.name, .annotations = pod.annotations};
  const auto add = [&](const std::vector<Container>& containers, bool init) {
    for (const Container& container : containers) {
      object.containers.push_back({.name = container.name,
                                   .init = init,
                                   .sidecar = container.sidecar,
                                   .requests = container.requests,
                                   .limits = container.limits});
    }
  };
  add(pod.init, true);
  add(pod.app, false);
  return object;
}

// The carriers of one container, as it should have them.
struct Carriers {
  std::int64_t attachment = 0;
  std::int64_t init = 0;
};

// Works on one pod.
class Patcher {
 public:
  Patcher(const PodReview& pod, const Options& options) : pod_(pod), options_(options) {
    const auto uses = [&](const Container& each) { return uses_cards(each); };
    ours_ = std::any_of(pod.init.begin(), pod.init.end(), uses) ||
            std::any_of(pod.app.begin(), pod.app.end(), uses);
  }

  Change run() {
    std::int64_t inits = 0;
    for (std::size_t i = 0; i < pod_.init.size(); ++i) {
      const Container& container = pod_.init[i];
      Carriers carriers;
      if (uses_cards(container)) {
        container.sidecar ? carriers.attachment = 1 : carriers.init = ++inits;
      }
      if (carriers.init > 0) warn_of_init(container);
      patch_container(container, fmt::format("/spec/initContainers/{}", i), carriers);
    }
    for (std::size_t i = 0; i < pod_.app.size(); ++i) {
      const Carriers carriers{.attachment = uses_cards(pod_.app[i]) ? 1 : 0};
      patch_container(pod_.app[i], fmt::format("/spec/containers/{}", i), carriers);
    }
    set_scheduler();
    return {.operations = operations_.take(), .warnings = std::move(warnings_)};
  }

 private:
  [[nodiscard]] bool uses_cards(const Container& container) const {
    return asks(container, [&](const std::string& name) { return is_published(options_, name); });
  }

  void warn(const Container& container, std::string_view words) {
    constexpr std::size_t kWarningsMax = 8;
    if (warnings_.size() == kWarningsMax) return;
    warnings_.push_back(
        fmt::format("container \"{}\": {}", container.name.substr(0, kNameShown), words));
  }

  void warn_of_init(const Container& container) {
    warn(container,
         "an init container with a GPU: if the kubelet restarts before the device plugin is back, "
         "such a pod fails (kubernetes/kubernetes#138446)");
  }

  void patch_container(const Container& container, const std::string& path, Carriers carriers) {
    patch_resources(container, path + "/resources", carriers);
    patch_environment(container, path + "/env", carriers.attachment + carriers.init > 0);
  }

  // ---- resources

  static void put_carriers(JsonWriter& json, Carriers carriers) {
    json.begin_object();
    if (carriers.attachment > 0) {
      json.key(dialect::kAttachment).value(std::to_string(carriers.attachment));
    }
    if (carriers.init > 0) json.key(dialect::kInitAttachment).value(std::to_string(carriers.init));
    json.end_object();
  }

  void patch_resources(const Container& container, const std::string& path, Carriers carriers) {
    if (!container.has_resources) {
      if (carriers.attachment + carriers.init == 0) return;
      return operations_.add(path, [&](JsonWriter& json) {
        json.begin_object();
        put_carriers(json.key("limits"), carriers);
        put_carriers(json.key("requests"), carriers);
        json.end_object();
      });
    }
    bool stray = false;
    const auto patch_list = [&](const char* name, bool present, const dialect::Quantities& list) {
      const std::string at = fmt::format("{}/{}", path, name);
      if (!present && carriers.attachment + carriers.init > 0) {
        return operations_.add(at, [&](JsonWriter& json) { put_carriers(json, carriers); });
      }
      stray = patch_amount(at, list, dialect::kAttachment, carriers.attachment) || stray;
      stray = patch_amount(at, list, dialect::kInitAttachment, carriers.init) || stray;
    };
    patch_list("limits", container.has_limits, container.limits);
    patch_list("requests", container.has_requests, container.requests);
    if (stray) warn(container, "stowage.dev/attachment is set by Stowage; it was removed");
  }

  // True if an amount was removed.
  bool patch_amount(const std::string& path, const dialect::Quantities& list,
                    std::string_view resource, std::int64_t wanted) {
    const auto found = list.find(std::string(resource));
    const std::string at = fmt::format("{}/{}", path, pointer_part(resource));
    if (wanted == 0) {
      if (found == list.end()) return false;
      operations_.remove(at);
      return true;
    }
    if (found == list.end() || found->second != base::Quantity::of(wanted)) {
      operations_.add(at, [&](JsonWriter& json) { json.value(std::to_string(wanted)); });
    }
    return false;
  }

  // ---- environment

  void patch_environment(const Container& container, const std::string& path, bool has_cards) {
    const bool windows = pod_.os == "windows";
    const bool voided =
        options_.void_unrequested && !has_cards && !windows && !may_ask_for_cards(container);
    bool there = false;
    std::vector<std::size_t> removed;
    for (std::size_t i = 0; i < container.environment.size(); ++i) {
      const Variable& variable = container.environment[i];
      const bool visible = variable.name == kVisible;
      if (visible && voided) {
        there = true;
        if (variable.is_plain && variable.value == kVoid) continue;
        operations_.replace(fmt::format("{}/{}", path, i),
                            [](JsonWriter& json) { put_void(json); });
      } else if ((visible && has_cards) || (ours_ && variable.name.starts_with(kMps))) {
        removed.push_back(i);
      }
    }
    for (auto at = removed.rbegin(); at != removed.rend(); ++at) {
      operations_.remove(fmt::format("{}/{}", path, *at));
    }
    if (!removed.empty()) {
      warn(container,
           "NVIDIA_VISIBLE_DEVICES and CUDA_MPS_* were removed: Stowage decides which cards it "
           "sees");
    }
    if (!voided || there) return;
    if (container.has_environment) {
      return operations_.add(path + "/-", [](JsonWriter& json) { put_void(json); });
    }
    operations_.add(path, [](JsonWriter& json) {
      json.begin_array();
      put_void(json);
      json.end_array();
    });
  }

  static void put_void(JsonWriter& json) {
    json.begin_object().key("name").value(kVisible).key("value").value(kVoid).end_object();
  }

  // ---- scheduler

  void set_scheduler() {
    if (options_.default_scheduler.empty() || !pod_.node.empty()) return;
    if (!pod_.scheduler.empty() && pod_.scheduler != "default-scheduler") return;
    if (pod_.scheduler == options_.default_scheduler) return;
    if (!dialect::asks_for_cards(pod_object(pod_))) return;
    operations_.add("/spec/schedulerName",
                    [&](JsonWriter& json) { json.value(options_.default_scheduler); });
  }

  const PodReview& pod_;
  const Options& options_;
  bool ours_ = false;  // some container uses cards that our plugin gives out
  Operations operations_;
  std::vector<std::string> warnings_;
};

// The kubelet has started a static pod already; its copy in the API must not differ.
bool is_mirror(const PodReview& pod) { return pod.annotations.contains(std::string(kMirror)); }

}  // namespace

std::string refusal(const PodReview& pod) {
  if (is_mirror(pod)) return {};
  const dialect::PodObject object = pod_object(pod);
  if (const Status good = dialect::check_own_names(object); !good) return good.error().message;
  return dialect::unknown_keys(object);
}

Change change(const PodReview& pod, const Options& options) {
  if (is_mirror(pod)) return {};
  return Patcher(pod, options).run();
}

}  // namespace stowage::webhook
