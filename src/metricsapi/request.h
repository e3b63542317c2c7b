// Parses a request from its method, path, options and the header Accept. Pure.
//
//   /healthz /livez /health /readyz          no login
//   /apis[/<group>[/<version>]]              discovery, no login
//   .../podresources[/<ns>.<name>]           list, watch, get
//   .../gpuinfos[/<node>]                    list, watch, get
//   .../schedule/{filter,prioritize,preempt} POST: requests of kube-scheduler
//   /agent/...                               reports of agents, for reports::AgentServer
//
// A list or watch is answered in the style of the original, unless the request comes from a
// Kubernetes client: it asks for a Table, or has an option that only such clients send (limit,
// resourceVersion, allowWatchBookmarks, a selector, ...). kubectl always does; the original's
// clients never do. The original had no `get`, so a single object always has the style of
// Kubernetes.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "metricsapi/accept.h"
#include "metricsapi/answers.h"
#include "metricsapi/objects.h"
#include "metricsapi/table.h"
#include "net/http.h"

namespace stowage::metricsapi {

// The format of objects.
struct Shape {
  Resource resource = Resource::gpu_infos;
  Style style = Style::original;
  Form form = Form::object;
  RowObject rows = RowObject::metadata;
  friend auto operator<=>(const Shape&, const Shape&) = default;
};

// Rules of a fieldSelector about metadata.name.
struct Selector {
  struct Rule {
    std::string name;
    bool equal = true;
    friend bool operator==(const Rule&, const Rule&) = default;
  };
  std::vector<Rule> rules;
  [[nodiscard]] bool matches(std::string_view name) const;
  // The only name that can match; empty if several may.
  [[nodiscard]] std::string only() const;
  friend bool operator==(const Selector&, const Selector&) = default;
};

struct WatchRequest {
  bool initial = true;      // begin with all existing objects
  std::uint64_t since = 0;  // otherwise with changes after this version
  bool initial_end = false;
  bool bookmarks = false;
  std::chrono::seconds timeout{0};  // 0: not given
  friend bool operator==(const WatchRequest&, const WatchRequest&) = default;
};

enum class ScheduleVerb : std::uint8_t { filter, prioritize, preempt };

struct Ask {
  enum class What : std::uint8_t {
    health,
    ready,
    groups,
    group,
    resources,
    list,
    get,
    watch,
    schedule,
    agents
  };
  What what = What::health;
  Shape shape;                               // list, get, watch
  std::string name;                          // get
  Selector selector;                         // list, watch
  WatchRequest watch;                        // watch
  ScheduleVerb verb = ScheduleVerb::filter;  // schedule
  friend bool operator==(const Ask&, const Ask&) = default;
};
[[nodiscard]] tl::expected<Ask, ApiError> read_ask(const net::HttpRequest& request);

// All routes of read_ask(), e.g. "GET /apis/metrics.nvidia.com/v1alpha1/gpuinfos".
[[nodiscard]] std::vector<std::string> routes();

// For messages and for the API server: "list", "filter".
[[nodiscard]] std::string_view word(Ask::What what);
[[nodiscard]] std::string_view word(ScheduleVerb verb);

}  // namespace stowage::metricsapi
