#include <algorithm>
#include <string_view>

#include "base/quantity.h"
#include "local/defaults.h"

namespace stowage::local {
namespace {

// "registry:5000/a/b:tag@digest" -> true if the tag is latest, or there is neither a tag nor a
// digest.
bool is_latest(std::string_view image) {
  if (image.find('@') != std::string_view::npos) return false;
  const std::size_t slash = image.rfind('/');
  const std::string_view last = slash == std::string_view::npos ? image : image.substr(slash + 1);
  const std::size_t colon = last.find(':');
  return colon == std::string_view::npos || last.substr(colon + 1) == "latest";
}

void default_probe(json::object& container, std::string_view name) {
  json::object* probe = object_in(container, name);
  if (probe == nullptr) return;
  set_default(*probe, "timeoutSeconds", 1);
  set_default(*probe, "periodSeconds", 10);
  set_default(*probe, "successThreshold", 1);
  set_default(*probe, "failureThreshold", 3);
  if (json::object* get = object_in(*probe, "httpGet")) {
    set_default(*get, "path", "/");
    set_default(*get, "scheme", "HTTP");
  }
}

// A limit without a request becomes the request.
void copy_limits(json::object& resources) {
  const json::object* limits = object_at(resources, "limits");
  if (limits == nullptr || limits->empty()) return;
  const json::object copy = *limits;
  json::object& requests = make_object(resources, "requests");
  for (const auto& limit : copy) set_default(requests, limit.key(), limit.value());
}

void default_container(json::object& container) {
  set_default(container, "terminationMessagePath", "/dev/termination-log");
  set_default(container, "terminationMessagePolicy", "File");
  const bool latest = is_latest(text_at(container, "image"));
  set_default(container, "imagePullPolicy", latest ? "Always" : "IfNotPresent");
  copy_limits(make_object(container, "resources"));
  each_object(container, "ports", [](json::object& port) { set_default(port, "protocol", "TCP"); });
  for (const std::string_view probe : {"livenessProbe", "readinessProbe", "startupProbe"}) {
    default_probe(container, probe);
  }
}

void default_volume(json::object& volume) {
  if (volume.size() == 1 && volume.contains("name")) volume["emptyDir"].emplace_object();
  constexpr int kReadable = 0644;
  for (const std::string_view kind : {"secret", "configMap", "downwardAPI", "projected"}) {
    if (json::object* source = object_in(volume, kind)) {
      set_default(*source, "defaultMode", kReadable);
    }
  }
  if (json::object* host = object_in(volume, "hostPath")) set_default(*host, "type", "");
}

void open_host_ports(json::object& container) {
  each_object(container, "ports", [](json::object& port) {
    const json::value* number = port.if_contains("containerPort");
    if (number != nullptr && int_at(port, "hostPort").value_or(0) == 0) {
      port["hostPort"] = json::value(*number);
    }
  });
}

// True if the resource has an amount above zero: only that counts for quality of service.
bool positive(const json::object& container, std::string_view list, std::string_view resource) {
  const json::object* amounts = object_at(container, list);
  const json::value* amount = amounts == nullptr ? nullptr : amounts->if_contains(resource);
  if (amount == nullptr) return false;
  const auto quantity = base::Quantity::parse(text_of(*amount));
  return quantity && !quantity->zero() && !quantity->negative();
}

bool same_amount(const json::object& container, std::string_view resource) {
  const auto of = [&](std::string_view list) {
    const json::object* amounts = object_at(container, list);
    const json::value* amount = amounts == nullptr ? nullptr : amounts->if_contains(resource);
    return base::Quantity::parse(amount == nullptr ? "" : text_of(*amount));
  };
  const auto limit = of("resources.limits");
  const auto request = of("resources.requests");
  return limit && request && *limit == *request;
}

}  // namespace

void default_pod_spec(json::object& spec) {
  set_default(spec, "restartPolicy", "Always");
  set_default(spec, "terminationGracePeriodSeconds", 30);
  set_default(spec, "dnsPolicy", "ClusterFirst");
  set_default(spec, "schedulerName", "default-scheduler");
  make_object(spec, "securityContext");
  if (!text_at(spec, "serviceAccountName").empty()) {
    spec["serviceAccount"] = spec.at("serviceAccountName");
  }
  each_object(spec, "containers", default_container);
  each_object(spec, "initContainers", default_container);
  each_object(spec, "volumes", default_volume);
  if (true_at(spec, "hostNetwork")) {  // then a container port is a host port
    each_object(spec, "containers", open_host_ports);
    each_object(spec, "initContainers", open_host_ports);
  }
  if (json::object* resources = object_in(spec, "resources")) copy_limits(*resources);
}

std::string_view qos_class(const json::object& pod_spec) {
  bool anything = false;
  bool guaranteed = true;
  for (const std::string_view list : {"containers", "initContainers"}) {
    for (const json::object* container : objects_at(pod_spec, list)) {
      for (const std::string_view resource : {"cpu", "memory"}) {
        const bool limit = positive(*container, "resources.limits", resource);
        anything = anything || limit || positive(*container, "resources.requests", resource);
        guaranteed = guaranteed && limit && same_amount(*container, resource);
      }
    }
  }
  if (!anything) return "BestEffort";
  return guaranteed ? "Guaranteed" : "Burstable";
}

void set_condition(json::object& status, const Condition& condition, WallTime now) {
  json::array& conditions = make_array(status, "conditions");
  const auto found =
      std::find_if(conditions.begin(), conditions.end(), [&](const json::value& element) {
        const json::object* one = element.if_object();
        return one != nullptr && text_at(*one, "type") == condition.type;
      });
  const bool fresh = found == conditions.end();
  json::object& place =
      fresh ? conditions.emplace_back(json::object()).get_object() : found->get_object();
  if (fresh || text_at(place, "status") != condition.status) {
    place["lastTransitionTime"] = time_text(now);
  }
  place["type"] = condition.type;
  place["status"] = condition.status;
  for (const auto& [key, text] :
       {std::pair{"reason", condition.reason}, std::pair{"message", condition.message}}) {
    if (text.empty()) {
      place.erase(key);
    } else {
      place[key] = text;
    }
  }
}

}  // namespace stowage::local
