// What a request asks for, read from its method, its path, its options and the header Accept. Pure.
//
//   /healthz /livez /health /readyz          no login
//   /apis[/<group>[/<version>]]              discovery, no login
//   .../podresources[/<ns>.<name>]           list, watch, get
//   .../gpuinfos[/<node>]                    list, watch, get
//   .../schedule/{filter,prioritize,preempt} POST: questions of kube-scheduler
//   /agent/...                               reports of agents, for reports::Door
//
// A list or watch is answered as the original did, unless the client shows that it is one of
// Kubernetes: it asks for a Table, or names an option that such clients name (limit, resource-
// Version, allowWatchBookmarks, a selector, ...). kubectl always does; the original's clients
// never. The original had no `get`, so one object is always that of Kubernetes.
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

// How objects are to be written.
struct Shape {
  Resource resource = Resource::gpu_infos;
  Style style = Style::original;
  Form form = Form::object;
  RowObject rows = RowObject::metadata;
  friend auto operator<=>(const Shape&, const Shape&) = default;
};

// Of a fieldSelector: rules about metadata.name.
struct Selector {
  struct Rule {
    std::string name;
    bool equal = true;
    friend bool operator==(const Rule&, const Rule&) = default;
  };
  std::vector<Rule> rules;
  [[nodiscard]] bool matches(std::string_view name) const;
  // The only name that can match; empty if there may be several.
  [[nodiscard]] std::string only() const;
  friend bool operator==(const Selector&, const Selector&) = default;
};

struct WatchAsk {
  bool initial = true;      // begin with everything that there is
  std::uint64_t since = 0;  // else with what changed after this version
  bool initial_end = false;
  bool bookmarks = false;
  std::chrono::seconds timeout{0};  // 0: the client does not say
  friend bool operator==(const WatchAsk&, const WatchAsk&) = default;
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
  WatchAsk watch;                            // watch
  ScheduleVerb verb = ScheduleVerb::filter;  // schedule
  friend bool operator==(const Ask&, const Ask&) = default;
};
[[nodiscard]] tl::expected<Ask, ApiError> read_ask(const net::HttpRequest& request);

// For people and for the API server: "list", "filter".
[[nodiscard]] std::string_view word(Ask::What what);
[[nodiscard]] std::string_view word(ScheduleVerb verb);

}  // namespace stowage::metricsapi
