// Pods on a node that are not valid as a whole: the parts of them that still count.
#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "core/model/limits.h"
#include "dialect/amounts.h"
#include "dialect/dialect.h"
#include "dialect/table.h"

namespace stowage::dialect {
namespace {

// More than any node has, and small enough that sums over the pods of a node fit.
constexpr std::int64_t kTooMuch = std::int64_t{1} << 48U;

using Keep = std::function<bool(const std::string& resource)>;

void keep_only(PodObject& pod, const Keep& keep) {
  const auto drop = [&](Quantities& amounts) {
    std::erase_if(amounts, [&](const auto& entry) { return !keep(entry.first); });
  };
  for (ContainerObject& container : pod.containers) {
    for (Quantities* list : {&container.requests, &container.limits, &container.given}) drop(*list);
  }
  for (Quantities* list : {&pod.pod_requests, &pod.overhead}) drop(*list);
}

std::set<std::string> resources_of(const PodObject& pod) {
  std::set<std::string> names;
  const auto add = [&](const Quantities& amounts) {
    for (const auto& [resource, quantity] : amounts) names.insert(resource);
  };
  for (const ContainerObject& container : pod.containers) {
    for (const Quantities* list : {&container.requests, &container.limits, &container.given}) {
      add(*list);
    }
  }
  add(pod.pod_requests);
  add(pod.overhead);
  return names;
}

void take_all(const std::string& resource, core::Resources& out) {
  if (resource == "cpu") {
    out.cpu_milli = kTooMuch;
  } else if (resource == "memory") {
    out.memory_bytes = kTooMuch;
  } else if (resource == "ephemeral-storage") {
    out.ephemeral_bytes = kTooMuch;
  } else {
    out.extended[resource] = kTooMuch;
  }
}

core::ContainerSpec all_cards() {
  return {.name = "unread cards",
          .gpu = {.count = static_cast<std::int32_t>(core::kMaxCardsPerNode)}};
}

// The card requests of the pod in each of its dialects, as containers without other requests.
std::vector<core::ContainerSpec> cards_of(const PodObject& pod, ReadOptions options) {
  options.floor_whole_cards = true;
  std::vector<core::ContainerSpec> containers;
  for (const Dialect& dialect : dialects()) {
    if (spoken(pod, dialect) == nullptr) continue;
    PodObject part = pod;
    part.annotations.clear();  // wishes no longer matter
    keep_only(part, [&](const std::string& resource) {
      return std::find(dialect.resources.begin(), dialect.resources.end(), resource) !=
             dialect.resources.end();
    });
    auto reading = read(part, options);
    auto spec = reading ? assemble(part, *std::move(reading)) : tl::unexpected(reading.error());
    if (spec) {
      std::erase_if(spec->containers,
                    [](const auto& container) { return container.gpu.count == 0; });
    }
    if (!spec || !core::validate(*spec)) return {all_cards()};
    for (core::ContainerSpec& container : spec->containers) {
      container.name += " " + std::string(dialect.name);
      containers.push_back(std::move(container));
    }
  }
  return containers;
}

// The pod without its cards and without unreadable amounts.
core::PodSpec without_cards(const PodObject& pod) {
  PodObject rest = pod;
  rest.annotations.clear();
  keep_only(rest, [](const std::string& resource) { return !means_cards(resource); });
  auto spec = assemble(rest, std::nullopt);
  core::ContainerSpec unread{.name = "unread amounts"};
  for (const std::string& resource : spec ? std::set<std::string>() : resources_of(rest)) {
    PodObject one = rest;
    keep_only(one, [&](const std::string& name) { return name == resource; });
    if (auto alone = assemble(one, std::nullopt); alone && core::validate(*alone)) continue;
    take_all(resource, unread.resources);
    keep_only(rest, [&](const std::string& name) { return name != resource; });
  }
  if (!spec) {
    spec = assemble(rest, std::nullopt);
    if (!spec) spec = core::PodSpec{};
    spec->containers.push_back(std::move(unread));
  }
  return *std::move(spec);
}

// Merges all containers into one, if there are too many or they are too large.
void put_together(core::PodSpec& spec) {
  core::ContainerSpec all{.name = "all", .resources = core::effective_resources(spec)};
  core::Resources& sum = all.resources;
  for (std::int64_t* amount : {&sum.cpu_milli, &sum.memory_bytes, &sum.ephemeral_bytes}) {
    *amount = std::clamp<std::int64_t>(*amount, 0, kTooMuch);
  }
  for (auto& [name, amount] : sum.extended) amount = std::clamp<std::int64_t>(amount, 0, kTooMuch);
  sum.pods = 0;
  spec.containers.assign(1, std::move(all));
  spec.overhead = {};
  spec.pod_cpu_milli.reset();
  spec.pod_memory_bytes.reset();
  spec.pod_hugepages.clear();
}

}  // namespace

core::PodSpec readable_part(const PodObject& pod, const ReadOptions& options) {
  core::PodSpec spec = without_cards(pod);
  spec.uid = pod.uid;
  spec.name = pod.ns + "/" + pod.name;
  if (!core::validate(spec)) put_together(spec);
  const std::size_t own = spec.containers.size();
  for (core::ContainerSpec& cards : cards_of(pod, options)) {
    spec.containers.push_back(std::move(cards));
  }
  if (!core::validate(spec)) {
    spec.containers.resize(own);
    put_together(spec);
    spec.containers.push_back(all_cards());
  }
  core::cut_to_limits(spec);
  return spec;
}

}  // namespace stowage::dialect
