#include "kube/quota_text.h"

#include <cmath>
#include <exception>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

namespace stowage::kube {
namespace {

constexpr double kMostCards = 1e9;
constexpr double kMostAmount = 1e15;
constexpr std::size_t kMaxBytes = std::size_t{1} << 20U;

Result<YAML::Node> parse(std::string_view text) {
  if (text.size() > kMaxBytes) return fail("the text is larger than 1 MiB");
  try {
    return YAML::Load(std::string(text));
  } catch (const std::exception& e) {
    return fail(e.what());
  }
}

Result<double> number(const YAML::Node& node, const std::string& where, double most) {
  double value = 0;
  const bool fine = node.IsScalar() && YAML::convert<double>::decode(node, value) &&
                    std::isfinite(value) && value >= 0 && value <= most;
  if (fine) return value;
  return fail(fmt::format("{}: expected a number that is not negative", where));
}

Result<std::string> key_of(const YAML::Node& node) {
  if (node.IsScalar() && !node.Scalar().empty()) return node.Scalar();
  return fail("a key is not a text");
}

Result<core::NodeModelQuota> read_node_quota(const YAML::Node& node, const std::string& ns) {
  core::NodeModelQuota quota;
  if (!node.IsMap()) return fail(fmt::format("{}: expected quota and pool", ns));
  if (const YAML::Node models = node["quota"]; models.IsDefined() && !models.IsNull()) {
    if (!models.IsMap()) return fail(fmt::format("{}.quota: expected models and numbers", ns));
    for (const auto& entry : models) {
      STOWAGE_TRY(model, key_of(entry.first));
      STOWAGE_TRY(cards, number(entry.second, fmt::format("{}.quota.{}", ns, model), kMostCards));
      quota.milli[model] = static_cast<std::int64_t>(cards * 1000);
    }
  }
  if (const YAML::Node pools = node["pool"]; pools.IsDefined() && !pools.IsNull()) {
    if (!pools.IsSequence()) return fail(fmt::format("{}.pool: expected a list of names", ns));
    for (const auto& entry : pools) {
      STOWAGE_TRY(pool, key_of(entry));
      quota.pools.push_back(std::move(pool));
    }
  }
  return quota;
}

Result<core::ModelLimit> read_limit(const YAML::Node& node, const std::string& where) {
  core::ModelLimit limit;
  if (!node.IsMap()) return fail(fmt::format("{}: expected model and limits", where));
  for (const auto& entry : node) {
    STOWAGE_TRY(key, key_of(entry.first));
    const std::string at = where + "." + key;
    if (key == "model") {
      STOWAGE_TRY_ASSIGN(limit.model, key_of(entry.second));
      continue;
    }
    auto* unit = key == "cards"       ? &limit.cards
                 : key == "milli"     ? &limit.milli
                 : key == "memoryMiB" ? &limit.memory_mib
                                      : nullptr;
    if (unit == nullptr) {
      return fail(fmt::format("{}: unknown key; known are {}", at, fmt::join(kQuotaKeys, ", ")));
    }
    STOWAGE_TRY(amount, number(entry.second, at, kMostAmount));
    *unit = static_cast<std::int64_t>(amount);
  }
  if (limit.model.empty())
    return fail(fmt::format("{}: model is missing; write \"*\" for all models", where));
  if (!limit.cards && !limit.milli && !limit.memory_mib) {
    return fail(fmt::format("{}: no limit; write cards, milli or memoryMiB", where));
  }
  return limit;
}

}  // namespace

Result<std::map<std::string, core::NodeModelQuota>> parse_gpu_quota(std::string_view text) {
  STOWAGE_TRY(root, parse(text));
  std::map<std::string, core::NodeModelQuota> quotas;
  if (root.IsNull()) return quotas;
  if (!root.IsMap()) return fail("expected an object of namespaces");
  try {
    for (const auto& entry : root) {
      STOWAGE_TRY(ns, key_of(entry.first));
      STOWAGE_TRY_ASSIGN(quotas[ns], read_node_quota(entry.second, ns));
    }
  } catch (const std::exception& e) {
    return fail(e.what());
  }
  return quotas;
}

Result<std::map<std::string, std::vector<core::ModelLimit>>> parse_stowage_quota(
    std::string_view text) {
  STOWAGE_TRY(root, parse(text));
  std::map<std::string, std::vector<core::ModelLimit>> quotas;
  if (root.IsNull()) return quotas;
  if (!root.IsMap()) return fail("expected namespaces, each with a list of limits");
  try {
    for (const auto& entry : root) {
      STOWAGE_TRY(ns, key_of(entry.first));
      if (!entry.second.IsSequence()) return fail(fmt::format("{}: expected a list of limits", ns));
      for (std::size_t i = 0; i < entry.second.size(); ++i) {
        STOWAGE_TRY(limit, read_limit(entry.second[i], fmt::format("{}[{}]", ns, i)));
        quotas[ns].push_back(std::move(limit));
      }
    }
  } catch (const std::exception& e) {
    return fail(e.what());
  }
  return quotas;
}

}  // namespace stowage::kube
