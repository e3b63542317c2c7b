#include "dialect/own_annotations.h"

namespace stowage::dialect {
namespace {

constexpr OwnAnnotation kTable[] = {
    {kGpusAnnotation, Writer::scheduler},
    {kRetryAnnotation, Writer::scheduler},
    {kInventoryAnnotation, Writer::agent},
    {"stowage.dev/gpu-model", Writer::author},
    {"stowage.dev/exclude-gpu-model", Writer::author},
    {"stowage.dev/gpu-ids", Writer::author},
    {"stowage.dev/exclude-gpu-ids", Writer::author},
    {"stowage.dev/topology", Writer::author},
    {"stowage.dev/policy", Writer::author},
    {"stowage.dev/node-policy", Writer::author},
    {"stowage.dev/card-policy", Writer::author},
};

}  // namespace

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
