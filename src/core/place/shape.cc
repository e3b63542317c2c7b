#include "core/place/shape.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace stowage::core {
namespace {

void put(std::string& out, std::int64_t value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put(std::string& out, const std::string& text) {
  put(out, static_cast<std::int64_t>(text.size()));
  out += text;
}

void put(std::string& out, const std::vector<std::string>& list) {
  put(out, static_cast<std::int64_t>(list.size()));
  for (const auto& entry : list) put(out, entry);
}

void put_bounds(std::string& out, const QuotaBounds& bounds) {
  out += bounds.by_node ? 'n' : 'q';
  put(out, bounds.model_label);
  put(out, bounds.models);
  put(out, bounds.pool_label);
  put(out, bounds.pools);
  put(out, bounds.spent);
}

bool spent(const QuotaBounds& bounds, const std::string& model) {
  const std::string name = base::ascii_lower(model);
  return std::any_of(bounds.spent.begin(), bounds.spent.end(),
                     [&](const std::string& entry) { return entry == "*" || entry == name; });
}

std::vector<std::string> sorted_ids(const std::vector<std::string>& list) {
  std::vector<std::string> ids;
  for (const auto& entry : list) {
    if (std::string id = base::ascii_lower(base::trim(entry, base::kSpaces)); !id.empty())
      ids.push_back(std::move(id));
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

GpuPart make_part(const GpuRequest& ask, std::uint32_t container, Phase phase) {
  GpuPart part;
  part.container = container;
  part.phase = phase;
  part.whole = ask.whole();
  part.count = ask.count;
  part.topology = ask.topology;
  part.filter = ask.filter;
  part.ids = CardIds(ask.filter);
  part.milli = part.whole ? kMilliPerCard : ask.milli.value_or(0);
  part.whole_memory = !part.whole && ask.memory_mib == kWholeMemory;
  part.memory_with_core = !part.whole && ask.memory_mib == kMemoryWithCore;
  part.memory_mib = std::max(0, ask.memory_mib.value_or(0));
  return part;
}

// Compute and cards that are held at once: sidecars + max(apps, each init container).
void derive(Shape& shape) {
  std::int64_t apps = 0;
  std::int64_t sidecars = 0;
  std::int64_t inits = 0;
  std::int32_t app_cards = 0;
  std::int32_t sidecar_cards = 0;
  std::int32_t init_cards = 0;
  for (const auto& part : shape.parts) {
    const std::int64_t milli = std::int64_t{part.milli} * part.count;
    switch (part.phase) {
      case Phase::app:
        apps += milli;
        app_cards += part.count;
        break;
      case Phase::sidecar:
        sidecars += milli;
        sidecar_cards += part.count;
        break;
      case Phase::init:
        inits = std::max(inits, milli);
        init_cards = std::max(init_cards, part.count);
        break;
    }
  }
  shape.gpu_milli = sidecars + std::max(apps, inits);
  shape.cards = sidecar_cards + std::max(app_cards, init_cards);
  shape.simple = shape.parts.empty() ||
                 (shape.parts.size() == 1 && !shape.parts[0].filter.constrains_ids() &&
                  !shape.parts[0].whole_memory && shape.parts[0].topology == Topology::none);
}

}  // namespace

CardIds::CardIds(const CardFilter& filter)
    : any_(sorted_ids(filter.ids_any)), none_(sorted_ids(filter.ids_none)) {}

bool CardIds::accept(const std::string& id) const {
  if (!constrain()) return true;
  const std::string lower = base::ascii_lower(base::trim(id, base::kSpaces));
  return (any_.empty() || std::binary_search(any_.begin(), any_.end(), lower)) &&
         !std::binary_search(none_.begin(), none_.end(), lower);
}

void append_shape_key(const PodSpec& pod, std::string& out) {
  const Resources total = effective_resources(pod);
  put(out, total.cpu_milli);
  put(out, total.memory_bytes);
  put(out, total.ephemeral_bytes);
  for (const auto& [name, amount] : total.extended) {
    if (amount == 0) continue;
    out += '+';
    put(out, name);
    put(out, amount);
  }
  out += '|';
  std::uint32_t position = 0;
  for (const auto& container : pod.containers) {
    const auto at = position++;
    const GpuRequest& gpu = container.gpu;
    if (gpu.count == 0) continue;
    put(out, at);
    put(out, static_cast<std::int64_t>(container.phase));
    put(out, gpu.count);
    constexpr std::int64_t kUnset = -3;
    put(out, gpu.milli ? *gpu.milli : kUnset);
    put(out, gpu.memory_mib ? *gpu.memory_mib : kUnset);
    put(out, static_cast<std::int64_t>(gpu.topology));
    const bool filters = gpu.filter.constrains_models() || gpu.filter.constrains_ids();
    out += filters ? 'f' : '.';
    if (!filters) continue;
    put(out, static_cast<std::int64_t>(gpu.filter.model_match));
    put(out, gpu.filter.models_any);
    put(out, gpu.filter.models_none);
    put(out, gpu.filter.ids_any);
    put(out, gpu.filter.ids_none);
  }
  out += '|';
  append_key(pod.rules, out);
  if (!pod.needs.empty()) out += '!' + pod.needs;
  if (pod.cards_only) out += 'o';
  if (pod.naming != Naming::always) put(out, static_cast<std::int64_t>(pod.naming));
  if (pod.bounds.any()) put_bounds(out, pod.bounds);
}

Shape make_shape(const PodSpec& pod, Ledger& ledger) {
  Shape shape;
  append_shape_key(pod, shape.key);
  const Resources total = effective_resources(pod);
  shape.cpu_milli = total.cpu_milli;
  shape.memory_bytes = total.memory_bytes;
  shape.ephemeral_bytes = total.ephemeral_bytes;
  for (const auto& [name, amount] : total.extended) {
    if (amount == 0) continue;
    shape.extended.emplace_back(ResourceNames::kNone, amount);
    shape.extended_names.push_back(name);
  }
  std::uint32_t position = 0;
  for (const auto& container : pod.containers) {
    if (container.gpu.count > 0) {
      shape.parts.push_back(make_part(container.gpu, position, container.phase));
    }
    ++position;
  }
  shape.rules = pod.rules;
  shape.rules.preferred.clear();
  shape.needs = pod.needs.empty() ? 0 : ledger.offer_bit(pod.needs);
  shape.cards_only = pod.cards_only;
  shape.bounds = pod.bounds;
  shape.selective = !pod.rules.selector.empty() || pod.rules.required.has_value() ||
                    shape.bounds.by_node || shape.cards_only;
  const bool all_whole = std::all_of(shape.parts.begin(), shape.parts.end(),
                                     [](const GpuPart& part) { return part.whole; });
  if (all_whole && !shape.parts.empty()) shape.naming = pod.naming;
  derive(shape);
  shape.learn_names(ledger);
  return shape;
}

void Shape::learn_names(const Ledger& ledger) {
  if (resources_version_ != ledger.names().resources().version()) {
    resources_version_ = ledger.names().resources().version();
    for (std::size_t i = 0; i < extended.size(); ++i) {
      extended[i].first = ledger.names().resources().find(extended_names[i]);
    }
  }
  const bool renamed = models_version_ != ledger.names().models().version();
  models_version_ = ledger.names().models().version();
  const auto& models = ledger.names().models().names();
  for (auto& part : parts) {
    if (renamed) {
      part.model_ok.clear();
      part.model_spent.clear();
    }
    while (part.model_ok.size() < models.size()) {
      const std::string& model = models[part.model_ok.size()];
      const bool accepted = accepts_model(part.filter, model);
      const bool used_up = !bounds.spent.empty() && spent(bounds, model);
      part.model_ok.push_back(accepted && !used_up ? 1 : 0);
      if (!bounds.spent.empty()) part.model_spent.push_back(accepted && used_up ? 1 : 0);
    }
  }
}

}  // namespace stowage::core
