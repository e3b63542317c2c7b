#include "kube/object_path.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "net/http.h"

namespace stowage::kube {
namespace {

struct Segment {
  std::string_view text;
  std::size_t end = 0;  // in the path
};

std::vector<Segment> segments_of(std::string_view path) {
  std::vector<Segment> segments;
  for (std::size_t at = 1; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    segments.push_back({.text = path.substr(at, end - at), .end = end});
    at = end + 1;
  }
  return segments;
}

}  // namespace

std::string core_path(std::string_view ns, std::string_view resource) {
  return fmt::format("/api/v1/namespaces/{}/{}", net::percent_encode(ns), resource);
}

std::string core_path(std::string_view ns, std::string_view resource, std::string_view name) {
  return core_path(ns, resource) + '/' + net::percent_encode(name);
}

std::optional<ObjectPath> object_path(std::string_view target) {
  const std::string_view path = target.substr(0, target.find('?'));
  const std::vector<Segment> segments = segments_of(path);
  if (segments.empty()) return std::nullopt;
  // "api" and a version, or "apis", a group and a version.
  std::size_t at = segments[0].text == "api" ? 2 : 3;
  const bool namespaced = segments.size() > at + 2 && segments[at].text == "namespaces";
  if (namespaced) at += 2;
  if (segments.size() < at + 2) return std::nullopt;
  auto name = net::percent_decode(segments[at + 1].text);
  if (!name || name->empty()) return std::nullopt;
  return ObjectPath{.path = std::string(path.substr(0, segments[at + 1].end)),
                    .resource = std::string(segments[at].text),
                    .name = std::move(*name)};
}

}  // namespace stowage::kube
