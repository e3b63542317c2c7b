#include "metricsapi/request.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/number.h"
#include "base/text.h"
#include "net/ascii.h"
#include "net/status_paths.h"

namespace stowage::metricsapi {
namespace {

using AskResult = tl::expected<Ask, ApiError>;
using What = Ask::What;

constexpr std::string_view kAgents = "/agent/";
constexpr std::string_view kRoot = "/apis";
constexpr std::string_view kSchedule = "schedule";
constexpr std::array kScheduleVerbs = {ScheduleVerb::filter, ScheduleVerb::prioritize,
                                       ScheduleVerb::preempt};
constexpr std::array<std::pair<std::string_view, What>, 5> kDocuments = {
    {{net::kHealthzPath, What::health},
     {net::kLivezPath, What::health},
     {"/health", What::health},
     {net::kReadyzPath, What::ready},
     {kRoot, What::groups}}};
constexpr std::size_t kRulesMax = 16;
constexpr std::size_t kShownMax = 64;
constexpr std::chrono::seconds kTimeoutMax{24 * 3600};

// Options that only Kubernetes clients send.
constexpr std::array<std::string_view, 8> kKubernetesOptions = {
    "limit",         "continue",      "resourceVersion",     "resourceVersionMatch",
    "fieldSelector", "labelSelector", "allowWatchBookmarks", "sendInitialEvents"};

tl::unexpected<ApiError> refuse(ApiError error) { return tl::unexpected(std::move(error)); }

std::string shown(std::string_view text) { return std::string(text.substr(0, kShownMax)); }

bool reads(std::string_view method) { return method == "GET" || method == "HEAD"; }

bool is_true(std::string_view value) {
  constexpr std::array<std::string_view, 6> kWords = {"1", "t", "T", "true", "True", "TRUE"};
  return std::find(kWords.begin(), kWords.end(), value) != kWords.end();
}

// An integer; an absent or empty option counts as 0.
tl::expected<std::uint64_t, ApiError> number(const net::Target& target, std::string_view option) {
  const std::string_view text = target.query_value(option);
  if (text.empty()) return 0;
  if (const auto value = base::parse_number<std::uint64_t>(text)) return *value;
  return refuse(bad_request(fmt::format("{}: \"{}\" is not a number", option, shown(text))));
}

// "<namespace>.<pod>": no name is longer, and authorization answers are cached by name.
constexpr std::size_t kNameBytesMax = 253 + 1 + 253;

tl::expected<Selector, ApiError> read_selector(std::string_view text) {
  Selector selector;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view rule = text.substr(0, comma);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    const std::size_t sign = rule.find('=');
    if (sign == std::string_view::npos) {
      return refuse(bad_request(fmt::format("fieldSelector: \"{}\" has no =", shown(rule))));
    }
    const bool unequal = sign > 0 && rule[sign - 1] == '!';
    const std::string_view field = rule.substr(0, unequal ? sign - 1 : sign);
    std::string_view name = rule.substr(sign + 1);
    if (name.starts_with('=')) name.remove_prefix(1);
    if (field != "metadata.name") {
      return refuse(bad_request(fmt::format(
          "fieldSelector: \"{}\" is not supported, only metadata.name is", shown(field))));
    }
    if (name.size() > kNameBytesMax) {
      return refuse(bad_request("fieldSelector: the name is too long"));
    }
    if (selector.rules.size() == kRulesMax) {
      return refuse(bad_request(fmt::format("fieldSelector: more than {} rules", kRulesMax)));
    }
    selector.rules.push_back({.name = std::string(name), .equal = !unequal});
  }
  return selector;
}

tl::expected<RowObject, ApiError> read_rows(std::string_view word) {
  if (word.empty() || word == "Metadata") return RowObject::metadata;
  if (word == "None") return RowObject::none;
  if (word == "Object") return RowObject::whole;
  return refuse(bad_request(fmt::format(
      "includeObject: \"{}\" is not supported; write None, Metadata or Object", shown(word))));
}

tl::expected<WatchRequest, ApiError> read_watch(const net::Target& target) {
  WatchRequest watch;
  STOWAGE_TRY(since, number(target, "resourceVersion"));
  watch.since = since;
  watch.initial = since == 0;
  watch.bookmarks = is_true(target.query_value("allowWatchBookmarks"));
  STOWAGE_TRY(timeout, number(target, "timeoutSeconds"));
  watch.timeout =
      std::chrono::seconds{std::min(timeout, static_cast<std::uint64_t>(kTimeoutMax.count()))};
  if (is_true(target.query_value("sendInitialEvents"))) {
    if (target.query_value("resourceVersionMatch") != "NotOlderThan") {
      return refuse({.code = 422,
                     .reason = "Invalid",
                     .message = "sendInitialEvents needs resourceVersionMatch=NotOlderThan"});
    }
    watch.initial = true;
    watch.initial_end = watch.bookmarks;
  }
  return watch;
}

std::string accept_of(const net::Headers& headers) {
  std::string all;
  for (const auto& [name, value] : headers) {
    if (base::equals_ignoring_case(name, "accept")) all += (all.empty() ? "" : ",") + value;
  }
  return all;
}

// Everything of a resource request except its path.
AskResult read_options(const net::HttpRequest& request, const net::Target& target, Ask ask) {
  if (request.method != "GET") return refuse(method_not_allowed(request.method, "GET"));
  const auto form = wanted_form(accept_of(request.headers));
  if (!form) return refuse(not_acceptable());
  ask.shape.form = *form;
  STOWAGE_TRY_ASSIGN(ask.shape.rows, read_rows(target.query_value("includeObject")));
  if (ask.what == What::get) {
    ask.shape.style = Style::kubernetes;
    return ask;
  }
  const bool kubernetes = std::any_of(target.query.begin(), target.query.end(), [](const auto& o) {
    return std::find(kKubernetesOptions.begin(), kKubernetesOptions.end(), o.first) !=
           kKubernetesOptions.end();
  });
  ask.shape.style = kubernetes || *form == Form::table ? Style::kubernetes : Style::original;
  if (!target.query_value("labelSelector").empty()) {
    return refuse(bad_request("labelSelector: these objects have no labels"));
  }
  STOWAGE_TRY_ASSIGN(ask.selector, read_selector(target.query_value("fieldSelector")));
  if (!is_true(target.query_value("watch"))) return ask;
  ask.what = What::watch;
  STOWAGE_TRY_ASSIGN(ask.watch, read_watch(target));
  return ask;
}

// The path after the version: "gpuinfos", "gpuinfos/n1", "schedule/filter".
AskResult read_rest(const net::HttpRequest& request, const net::Target& target,
                    std::string_view rest) {
  const std::size_t slash = rest.find('/');
  const std::string_view head = rest.substr(0, slash);
  std::optional<std::string> name;
  if (slash != std::string_view::npos) {
    auto decoded = net::percent_decode(rest.substr(slash + 1));
    const bool deeper = rest.find('/', slash + 1) != std::string_view::npos;
    if (!decoded || decoded->empty() || deeper) return refuse(no_such_path(target.path));
    if (decoded->size() > kNameBytesMax) return refuse(bad_request("the name is too long"));
    name = std::move(*decoded);
  }
  if (head == kSchedule && name) {
    for (const ScheduleVerb verb : kScheduleVerbs) {
      if (*name != word(verb)) continue;
      if (request.method != "POST") return refuse(method_not_allowed(request.method, "POST"));
      return Ask{.what = What::schedule, .shape = {}, .name = {}, .selector = {}, .verb = verb};
    }
    return refuse(no_such_path(target.path));
  }
  for (const Resource resource : kAllResources) {
    if (head != plural(resource)) continue;
    Ask ask;
    ask.what = name ? What::get : What::list;
    ask.shape.resource = resource;
    ask.name = name.value_or("");
    return read_options(request, target, std::move(ask));
  }
  return refuse(no_such_path(target.path));
}

std::optional<What> document_at(std::string_view path) {
  for (const auto& [at, what] : kDocuments) {
    if (path == at) return what;
  }
  if (!path.starts_with(kRoot)) return std::nullopt;
  path.remove_prefix(kRoot.size());
  if (!path.starts_with('/')) return std::nullopt;
  path.remove_prefix(1);
  if (path == kGroup) return What::group;
  if (path == kGroupVersion) return What::resources;
  return std::nullopt;
}

}  // namespace

std::vector<std::string> routes() {
  std::vector<std::string> all;
  for (const auto& [path, what] : kDocuments) all.push_back(fmt::format("GET {}", path));
  all.push_back(fmt::format("GET {}/{}", kRoot, kGroup));
  const std::string base = fmt::format("{}/{}", kRoot, kGroupVersion);
  all.push_back("GET " + base);
  for (const Resource resource : kAllResources) {
    all.push_back(fmt::format("GET {}/{}[/<name>]", base, plural(resource)));
  }
  for (const ScheduleVerb verb : kScheduleVerbs) {
    all.push_back(fmt::format("POST {}/{}/{}", base, kSchedule, word(verb)));
  }
  return all;
}

std::string_view word(Ask::What what) {
  switch (what) {
    case What::health: return "health";
    case What::ready: return "ready";
    case What::groups:
    case What::group:
    case What::resources: return "discovery";
    case What::list: return "list";
    case What::get: return "get";
    case What::watch: return "watch";
    case What::schedule: return "schedule";
    case What::agents: break;
  }
  return "agents";
}

std::string_view word(ScheduleVerb verb) {
  switch (verb) {
    case ScheduleVerb::filter: return "filter";
    case ScheduleVerb::prioritize: return "prioritize";
    case ScheduleVerb::preempt: break;
  }
  return "preempt";
}

bool Selector::matches(std::string_view name) const {
  return std::all_of(rules.begin(), rules.end(),
                     [&](const Rule& rule) { return (rule.name == name) == rule.equal; });
}

std::string Selector::only() const {
  const auto found =
      std::find_if(rules.begin(), rules.end(), [](const Rule& rule) { return rule.equal; });
  return found == rules.end() ? "" : found->name;
}

AskResult read_ask(const net::HttpRequest& request) {
  const auto target = net::parse_target(request.target);
  if (!target) return refuse(bad_request(target.error().message));
  std::string_view path = target->path;
  if (path.starts_with(kAgents)) return Ask{.what = What::agents};
  if (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  if (const auto what = document_at(path)) {
    if (!reads(request.method)) return refuse(method_not_allowed(request.method, "GET, HEAD"));
    return Ask{.what = *what};
  }
  std::string folder(kRoot);
  folder += '/';
  folder += kGroupVersion;
  folder += '/';
  if (!path.starts_with(folder)) return refuse(no_such_path(target->path));
  return read_rest(request, *target, path.substr(folder.size()));
}

}  // namespace stowage::metricsapi
