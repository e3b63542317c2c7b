#include "dialect/own_annotations.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/nearest.h"

namespace stowage::dialect {
namespace {

constexpr OwnAnnotation kTable[] = {
    {kGpusAnnotation, Writer::scheduler},
    {kSignatureAnnotation, Writer::scheduler},
    {kPreAllocatedNodeAnnotation, Writer::scheduler},
    {kRetryAnnotation, Writer::scheduler},
    {kNodeResourcesAnnotation, Writer::controller},
    {kInventoryAnnotation, Writer::agent},
    {kCordonedCardsAnnotation, Writer::admin},
    {"stowage.dev/gpu-model", Writer::author},
    {"stowage.dev/exclude-gpu-model", Writer::author},
    {"stowage.dev/gpu-ids", Writer::author},
    {"stowage.dev/exclude-gpu-ids", Writer::author},
    {"stowage.dev/topology", Writer::author},
    {"stowage.dev/policy", Writer::author},
    {"stowage.dev/node-policy", Writer::author},
    {"stowage.dev/card-policy", Writer::author},
};

constexpr std::size_t kShown = 3;       // unknown keys in a message
constexpr std::size_t kKeyShown = 100;  // characters of one key

std::string about_unknown(std::string_view key) {
  std::vector<std::string> known;
  for (const OwnAnnotation& row : kTable) {
    if (row.writer == Writer::author) known.emplace_back(row.key);
  }
  const std::string near = key.size() <= kKeyShown ? base::nearest(key, known) : std::string();
  return fmt::format("Stowage does not know the annotation {}{}", key.substr(0, kKeyShown),
                     near.empty() ? "" : fmt::format("; did you mean {}?", near));
}

}  // namespace

std::string unknown_keys(const PodObject& pod) {
  std::string text;
  std::size_t count = 0;
  for (auto at = pod.annotations.lower_bound(std::string(kOwnDomain));
       at != pod.annotations.end() && at->first.starts_with(kOwnDomain); ++at) {
    const bool known = std::any_of(std::begin(kTable), std::end(kTable),
                                   [&](const OwnAnnotation& row) { return row.key == at->first; });
    if (known) continue;
    if (++count <= kShown) text += (text.empty() ? "" : "; ") + about_unknown(at->first);
  }
  return count <= kShown ? text : text + fmt::format("; and {} more", count - kShown);
}

std::span<const OwnAnnotation> own_annotations() { return kTable; }

std::vector<std::string> scheduler_annotations(const PodObject& pod) {
  std::vector<std::string> found;
  for (const OwnAnnotation& row : kTable) {
    if (row.writer != Writer::scheduler) continue;
    if (std::string key(row.key); pod.annotations.contains(key)) found.push_back(std::move(key));
  }
  return found;
}

}  // namespace stowage::dialect
