// Pods: their dialect, and all their requests.
#include <algorithm>

#include <fmt/format.h>

#include "base/nearest.h"
#include "core/model/limits.h"
#include "dialect/amounts.h"
#include "dialect/carriers.h"
#include "dialect/dialect.h"
#include "dialect/own_annotations.h"
#include "dialect/table.h"
#include "dialect/times.h"
#include "dialect/wishes.h"

namespace stowage::dialect {
namespace {

Status add_amount(const std::string& who, const std::string& resource,
                  const base::Quantity& quantity, core::Resources& out) {
  const auto wrong = [&](std::string_view words) {
    return fail(fmt::format("{}: {} is {}; {}", who, resource, quantity.text(), words));
  };
  if (quantity.negative()) return wrong("write zero or more");
  const bool cpu = resource == "cpu";
  const auto amount = cpu ? quantity.milli() : quantity.units();
  if (!amount) return wrong("no node has that much");
  if (cpu) {
    out.cpu_milli = *amount;
  } else if (resource == "memory") {
    out.memory_bytes = *amount;
  } else if (resource == "ephemeral-storage") {
    out.ephemeral_bytes = *amount;
  } else if (!quantity.whole()) {
    return wrong("write a whole number");
  } else if (*amount > 0 && out.extended.size() < core::kMaxBoundResourceNames) {
    out.extended[resource] = *amount;
  }
  return {};
}

// Resources that mean cards are skipped here, because they become card requests.
Status add_all(const std::string& who, const Quantities& quantities, core::Resources& out) {
  for (const auto& [resource, quantity] : quantities) {
    if (means_cards(resource)) continue;
    STOWAGE_TRY_VOID(add_amount(who, resource, quantity, out));
  }
  return {};
}

// Pod-level requests: only CPU, memory and huge pages.
Status add_pod_requests(const PodObject& pod, core::PodSpec& spec) {
  const std::string who = fmt::format("pod {}", spec.name);
  for (const auto& [resource, quantity] : pod.pod_requests) {
    const bool pages = resource.starts_with("hugepages-");
    if (resource != "cpu" && resource != "memory" && !pages) continue;
    core::Resources amount;
    STOWAGE_TRY_VOID(add_amount(who, resource, quantity, amount));
    if (resource == "cpu") {
      spec.pod_cpu_milli = amount.cpu_milli;
    } else if (resource == "memory") {
      spec.pod_memory_bytes = amount.memory_bytes;
    } else {
      spec.pod_hugepages[resource] = amount.extended[resource];
    }
  }
  return {};
}

// Fields that matter for preemption.
void put_standing(const PodObject& pod, core::PodSpec& spec) {
  spec.never_preempts = pod.never_preempts;
  spec.leaving = pod.deleting;
  spec.stays = pod.annotations.contains("kubernetes.io/config.mirror");
  spec.nominated = pod.nominated;
  const auto started = parse_moment(pod.started);
  spec.since = started ? *started : parse_moment(pod.created).value_or(0);
}

core::Phase phase_of(const ContainerObject& container) {
  if (!container.init) return core::Phase::app;
  return container.sidecar ? core::Phase::sidecar : core::Phase::init;
}

// The pod's wishes about its cards besides amounts. A pod on a node is not refused for an invalid
// wish.
Status read_wishes(const PodObject& pod, const Dialect& dialect, Reading& reading) {
  if (pod.annotations.empty()) return {};
  Reading wished = reading;
  Status good = dialect.wish == nullptr ? Status() : dialect.wish(pod, wished);
  if (good) good = read_card_wishes(pod, wished);
  if (good) reading = std::move(wished);
  return pod.node.empty() ? good : Status();
}

// Names all resources, so that a user who removes one of three does not get a second error.
tl::unexpected<Error> mixed(const PodObject& pod, const std::vector<std::string>& resources) {
  std::string text;
  for (std::size_t i = 0; i < resources.size(); ++i) {
    text += i == 0 ? "with " : i + 1 == resources.size() ? " and with " : ", with ";
    text += resources[i];
  }
  const std::string ways =
      resources.size() == 2 ? std::string("two") : std::to_string(resources.size());
  return fail(fmt::format("pod {}/{} asks for cards in {} ways, {}; keep one of them", pod.ns,
                          pod.name, ways, text));
}

// Cards are assigned per container, so this applies to pods of all schedulers.
Status check_containers(const PodObject& pod) {
  if (pod.containers.size() <= core::kMaxContainers || !pod.node.empty()) return {};
  return fail(fmt::format("pod {}/{} has more than {} containers; split the pod", pod.ns, pod.name,
                          core::kMaxContainers));
}

// Checked before anything is built from the pod.
Status check_limits(const PodObject& pod) {
  const std::string name = fmt::format("{}/{}", pod.ns, pod.name);
  // Approximate: CPU, memory, ephemeral storage and cards count here too.
  std::size_t names = std::max(pod.overhead.size(), pod.pod_requests.size());
  for (const ContainerObject& container : pod.containers) {
    names = std::max({names, container.requests.size(), container.limits.size()});
  }
  if (names > 2 * core::kMaxResourceNames) {
    return fail(fmt::format("pod {} has more than {} different resources; ask for fewer", name,
                            core::kMaxResourceNames));
  }
  if (pod.annotations.size() > kMaxAnnotations) {
    return fail(fmt::format("pod {} has more than {} annotations; remove some of them", name,
                            kMaxAnnotations));
  }
  if (!pod.over_limit.empty()) return fail(pod.over_limit);
  return core::within_limits(name, pod.rules, pod.constraints);
}

}  // namespace

Status check_own_names(const PodObject& pod) {
  const Dialect own = native();
  const std::vector<std::string> known(own.resources.begin(), own.resources.end());
  const auto is_known = [&](const std::string& name) {
    return std::find(known.begin(), known.end(), name) != known.end() ||
           std::find(kCarriers.begin(), kCarriers.end(), name) != kCarriers.end();
  };
  for (const ContainerObject& container : pod.containers) {
    for (const Quantities* amounts : {&container.requests, &container.limits}) {
      for (auto at = amounts->lower_bound(std::string(kOwnDomain));
           at != amounts->end() && at->first.starts_with(kOwnDomain); ++at) {
        if (is_known(at->first)) continue;
        const std::string near = base::nearest(at->first, known);
        return fail(fmt::format("{}: there is no resource {}; {}", owner(pod, container), at->first,
                                near.empty() ? fmt::format("there are {}", fmt::join(known, ", "))
                                             : fmt::format("did you mean {}?", near)));
      }
    }
  }
  return {};
}

bool asks_for_cards(const PodObject& pod) {
  const auto all = dialects();
  return std::any_of(all.begin(), all.end(),
                     [&](const Dialect& dialect) { return spoken(pod, dialect) != nullptr; });
}

void shed(PodObject& pod) {
  if (pod.containers.size() > core::kMaxContainers) {
    pod.containers.resize(core::kMaxContainers);
    pod.containers.shrink_to_fit();
  }
  const auto shed_from = [](Quantities& quantities) {
    if (quantities.size() <= core::kMaxResourceNames) return;
    std::erase_if(quantities, [](const auto& entry) { return !means_cards(entry.first); });
  };
  for (ContainerObject& container : pod.containers) {
    for (Quantities* list : {&container.requests, &container.limits, &container.given}) {
      shed_from(*list);
    }
  }
  shed_from(pod.overhead);
  shed_from(pod.pod_requests);
}

Result<std::optional<Reading>> read(const PodObject& pod, const ReadOptions& options) {
  const Dialect* dialect = nullptr;
  std::vector<std::string> by;
  for (const Dialect& candidate : dialects()) {
    const std::string* resource = spoken(pod, candidate);
    if (resource == nullptr) continue;
    dialect = &candidate;
    by.push_back(*resource);
  }
  if (by.size() > 1) return mixed(pod, by);
  if (dialect == nullptr) return std::nullopt;
  Reading reading{.dialect = dialect->name};
  // Our own resources are available on every node with cards; others need their device plugin.
  if (dialect->name != native().name) reading.needs = dialect->name;
  reading.asks.resize(pod.containers.size());
  STOWAGE_TRY_VOID(dialect->read(pod, options, reading));
  STOWAGE_TRY_VOID(read_wishes(pod, *dialect, reading));
  return reading;
}

Result<core::PodSpec> assemble(const PodObject& pod, std::optional<Reading> reading) {
  core::PodSpec spec{.uid = pod.uid,
                     .name = fmt::format("{}/{}", pod.ns, pod.name),
                     .priority = pod.priority,
                     .rules = pod.rules,
                     .constraints = pod.constraints};
  put_standing(pod, spec);
  if (reading) {
    spec.needs = std::move(reading->needs);
    spec.naming = reading->naming;
    spec.wish = reading->wish;
  }
  if (const auto wished = read_policy_wish(pod, spec.wish); !wished && pod.node.empty()) {
    return tl::unexpected(wished.error());
  }
  spec.containers.reserve(pod.containers.size());
  for (std::size_t i = 0; i < pod.containers.size(); ++i) {
    const ContainerObject& container = pod.containers[i];
    core::ContainerSpec& out = spec.containers.emplace_back();
    out.name = container.name;
    out.phase = phase_of(container);
    const std::string who = owner(pod, container);
    STOWAGE_TRY_VOID(add_all(who, asked(container), out.resources));
    if (reading) out.gpu = std::move(reading->asks[i]);
  }
  STOWAGE_TRY_VOID(add_all(fmt::format("pod {} overhead", spec.name), pod.overhead, spec.overhead));
  STOWAGE_TRY_VOID(add_pod_requests(pod, spec));
  return spec;
}

Result<core::PodSpec> to_spec(const PodObject& pod, const ReadOptions& options) {
  const bool wants_place = pod.node.empty() && !options.placed_by_others;
  STOWAGE_TRY_VOID(check_containers(pod));
  if (wants_place) {
    STOWAGE_TRY_VOID(check_limits(pod));
  }
  STOWAGE_TRY(reading, read(pod, options));
  if (pod.node.empty()) STOWAGE_TRY_VOID(check_own_names(pod));
  STOWAGE_TRY(spec, assemble(pod, std::move(reading)));
  if (wants_place) {
    STOWAGE_TRY_VOID(core::within_limits(spec));
  } else {
    core::cut_to_limits(spec);
  }
  STOWAGE_TRY_VOID(core::validate(spec));
  return spec;
}

}  // namespace stowage::dialect
