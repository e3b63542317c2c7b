#include "codec/extender.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/text.h"
#include "codec/fields.h"

namespace stowage::codec {
namespace {

bool is(std::string_view key, std::string_view name) {
  return base::equals_ignoring_case(key, name);
}

tl::unexpected<Error> too_many(const JsonValue& value, std::size_t max) {
  return value.wrong(fmt::format("more than {} are given", max));
}

Status read_name(JsonValue& value, std::string& out) {
  STOWAGE_TRY_VOID(read(value, out));
  if (out.empty()) return value.wrong("is empty");
  return {};
}

Status read_names(JsonValue& value, std::vector<std::string>& names) {
  return each_element(value, [&](JsonValue& element) -> Status {
    if (names.size() == kMaxExtenderNodes) return too_many(value, kMaxExtenderNodes);
    return read_name(element, names.emplace_back());
  });
}

Result<dialect::PodObject> read_pod(JsonValue& value) {
  STOWAGE_TRY(fields, value.fields());
  return read_pod(fields);
}

Status read_node(const JsonText& text, JsonValue& value, RawNode& node) {
  STOWAGE_TRY(fields, value.fields());
  STOWAGE_TRY_VOID(each_field(fields, [&](std::string_view key, JsonValue& field) -> Status {
    if (key != "metadata") return {};
    return each_field(field, [&](std::string_view name, JsonValue& part) -> Status {
      return name == "name" ? read_name(part, node.name) : Status();
    });
  }));
  if (node.name.empty()) return value.wrong("the node has no metadata.name");
  STOWAGE_TRY(whole, fields.raw());
  node.json = text.given(whole);
  return {};
}

Status read_nodes(const JsonText& text, JsonValue& value, std::vector<RawNode>& nodes) {
  return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (!is(key, "items")) return {};
    nodes.clear();
    return each_element(field, [&](JsonValue& element) -> Status {
      if (nodes.size() == kMaxExtenderNodes) return too_many(field, kMaxExtenderNodes);
      return read_node(text, element, nodes.emplace_back());
    });
  });
}

Result<ExtenderArgs> read_args(JsonText& text, JsonFields& fields) {
  ExtenderArgs args;
  STOWAGE_TRY_VOID(each_field(fields, [&](std::string_view key, JsonValue& field) -> Status {
    if (is(key, "pod")) {
      STOWAGE_TRY(parts, field.fields());
      STOWAGE_TRY(pod, read_pod(parts));
      STOWAGE_TRY(whole, parts.raw());
      args.pod = std::move(pod);
      args.pod_json = text.given(whole);
    } else if (is(key, "nodenames")) {
      return read_names(field, args.node_names.emplace());
    } else if (is(key, "nodes")) {
      return read_nodes(text, field, args.nodes.emplace());
    }
    return {};
  }));
  STOWAGE_TRY_VOID(text.close());
  if (args.nodes && args.node_names) return fail("Nodes and NodeNames: only one may be given");
  return args;
}

using VictimMap = std::map<std::string, Victims>;

// One of the two maps of a preemption; `total` counts the victims of all its nodes.
enum class VictimForm : std::uint8_t { full, meta };

Status read_victim(JsonValue& value, VictimForm form, Victims& victims) {
  if (form == VictimForm::full) {
    STOWAGE_TRY(pod, read_pod(value));
    if (pod.uid.empty()) return value.wrong("the pod has no metadata.uid");
    victims.uids.push_back(pod.uid);
    victims.pods.push_back(std::move(pod));
    return {};
  }
  std::string& uid = victims.uids.emplace_back();
  STOWAGE_TRY_VOID(each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    return is(key, "uid") ? read_name(field, uid) : Status();
  }));
  if (uid.empty()) return value.wrong("the pod has no UID");
  return {};
}

Status read_victims(JsonValue& value, VictimForm form, Victims& victims, std::size_t& total) {
  return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (is(key, "numpdbviolations")) {
      STOWAGE_TRY(count, field.integer());
      if (count < 0) return field.wrong(fmt::format("{} is negative", count));
      victims.pdb_violations = count;
      return {};
    }
    if (!is(key, "pods")) return {};
    victims.uids.clear();
    victims.pods.clear();
    return each_element(field, [&](JsonValue& element) -> Status {
      if (total == kMaxExtenderVictims) return too_many(field, kMaxExtenderVictims);
      ++total;
      return read_victim(element, form, victims);
    });
  });
}

Status read_victim_map(JsonValue& value, VictimForm form, VictimMap& map) {
  std::size_t total = 0;
  return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key.empty()) return value.wrong("a node has an empty name");
    Victims& victims = map[std::string(key)];
    if (map.size() > kMaxExtenderNodes) return too_many(value, kMaxExtenderNodes);
    victims = {};
    return read_victims(field, form, victims, total);
  });
}

Status read_reasons(JsonValue& value, std::map<std::string, std::string>& reasons) {
  reasons.clear();
  return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    std::string& words = reasons[std::string(key)];
    if (reasons.size() > kMaxExtenderNodes) return too_many(value, kMaxExtenderNodes);
    return read(field, words);
  });
}

Status read_score(JsonValue& value, NodeScore& score) {
  return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (is(key, "host")) return read_name(field, score.node);
    return is(key, "score") ? read(field, score.score) : Status();
  });
}

bool plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; });
}

void put_text(std::string& out, std::string_view text) {
  out += '"';
  if (plain(text)) {
    out += text;
  } else {
    out += base::json_escaped(text);
  }
  out += '"';
}

void put_number(std::string& out, std::int64_t number) {
  char digits[24];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), number);
  out.append(std::begin(digits), end.ptr);
}

// Items in brackets with commas, each written by put(out, item).
template <typename Items, typename Put>
void put_all(std::string& out, std::string_view brackets, const Items& items, Put put) {
  out += brackets.front();
  bool first = true;
  for (const auto& item : items) {
    if (!first) out += ',';
    first = false;
    put(out, item);
  }
  out += brackets.back();
}

void put_reasons(std::string& out, const Reasons& reasons) {
  put_all(out, "{}", reasons, [](std::string& to, const auto& reason) {
    put_text(to, reason.first);
    to += ':';
    put_text(to, reason.second);
  });
}

std::size_t bytes_of(const FilterResult& result) {
  constexpr std::size_t kMarks = 6;  // quotes, colon, comma
  std::size_t bytes = 128 + result.error.size();
  for (const auto* list : {result.node_names, result.nodes}) {
    if (list == nullptr) continue;
    for (const std::string_view text : *list) bytes += text.size() + kMarks;
  }
  for (const Reasons* reasons : {&result.failed, &result.unresolvable}) {
    for (const auto& [node, words] : *reasons) bytes += node.size() + words.size() + kMarks;
  }
  return bytes;
}

}  // namespace

Result<ExtenderArgs> ExtenderDecoder::args(std::string_view body) {
  STOWAGE_TRY(fields, text_.open(body, kMaxExtenderBytes));
  return read_args(text_, fields);
}

Result<ExtenderArgs> ExtenderDecoder::args(std::string& body) {
  STOWAGE_TRY(fields, text_.open_in_place(body, kMaxExtenderBytes));
  return read_args(text_, fields);
}

Result<BindingArgs> ExtenderDecoder::binding(std::string_view body) {
  STOWAGE_TRY(fields, text_.open(body, kMaxExtenderBytes));
  BindingArgs args;
  STOWAGE_TRY_VOID(each_field(fields, [&](std::string_view key, JsonValue& field) -> Status {
    if (is(key, "podname")) return read(field, args.pod_name);
    if (is(key, "podnamespace")) return read(field, args.pod_namespace);
    if (is(key, "poduid")) return read(field, args.pod_uid);
    if (is(key, "node")) return read(field, args.node);
    return {};
  }));
  STOWAGE_TRY_VOID(text_.close());
  if (args.pod_name.empty()) return fail("PodName: missing or empty");
  if (args.pod_namespace.empty()) return fail("PodNamespace: missing or empty");
  return args;
}

Result<PreemptionArgs> ExtenderDecoder::preemption(std::string_view body) {
  STOWAGE_TRY(fields, text_.open(body, kMaxExtenderBytes));
  PreemptionArgs args;
  std::optional<VictimMap> full;
  std::optional<VictimMap> meta;
  STOWAGE_TRY_VOID(each_field(fields, [&](std::string_view key, JsonValue& field) -> Status {
    if (is(key, "pod")) {
      STOWAGE_TRY_ASSIGN(args.pod, read_pod(field));
    } else if (is(key, "nodenametovictims")) {
      return read_victim_map(field, VictimForm::full, full.emplace());
    } else if (is(key, "nodenametometavictims")) {
      return read_victim_map(field, VictimForm::meta, meta.emplace());
    }
    return {};
  }));
  STOWAGE_TRY_VOID(text_.close());
  args.given = full || meta;
  if (full) {
    args.victims = std::move(*full);
  } else if (meta) {
    args.victims = std::move(*meta);
  }
  return args;
}

Result<FilterAnswer> ExtenderDecoder::filter_answer(std::string_view body) {
  STOWAGE_TRY(fields, text_.open(body, kMaxExtenderBytes));
  FilterAnswer answer;
  STOWAGE_TRY_VOID(each_field(fields, [&](std::string_view key, JsonValue& field) -> Status {
    if (is(key, "nodenames")) return read_names(field, answer.node_names.emplace());
    if (is(key, "nodes")) return read_nodes(text_, field, answer.nodes.emplace());
    if (is(key, "failednodes")) return read_reasons(field, answer.failed);
    if (is(key, "failedandunresolvablenodes")) return read_reasons(field, answer.unresolvable);
    return is(key, "error") ? read(field, answer.error) : Status();
  }));
  STOWAGE_TRY_VOID(text_.close());
  return answer;
}

// The body is a bare list, but the reader needs an object, so one is added around it.
Result<std::vector<NodeScore>> ExtenderDecoder::priorities(std::string_view body) {
  const std::string wrapped = fmt::format("{{\"list\":{}}}", body);
  STOWAGE_TRY(fields, text_.open(wrapped, kMaxExtenderBytes));
  std::vector<NodeScore> scores;
  bool given = false;
  STOWAGE_TRY_VOID(each_field(fields, [&](std::string_view key, JsonValue& field) -> Status {
    if (key != "list" || std::exchange(given, true))
      return fail("expected a list and nothing else");
    return each_element(field, [&](JsonValue& element) -> Status {
      if (scores.size() == kMaxExtenderNodes) return too_many(field, kMaxExtenderNodes);
      return read_score(element, scores.emplace_back());
    });
  }));
  STOWAGE_TRY_VOID(text_.close());
  return scores;
}

std::string encode_args(const ExtenderArgs& args) {
  std::string out = R"({"Pod":)";
  out += args.pod_json.empty() ? std::string_view("null") : args.pod_json;
  out += R"(,"Nodes":)";
  if (args.nodes) {
    out += R"({"metadata":{},"items":)";
    put_all(out, "[]", *args.nodes, [](std::string& to, const RawNode& node) { to += node.json; });
    out += '}';
  } else {
    out += "null";
  }
  out += R"(,"NodeNames":)";
  if (args.node_names) {
    put_all(out, "[]", *args.node_names, put_text);
  } else {
    out += "null";
  }
  out += '}';
  return out;
}

std::string encode(const FilterResult& result) {
  std::string out;
  out.reserve(bytes_of(result));
  out += R"({"Nodes":)";
  if (result.nodes != nullptr) {
    out += R"({"metadata":{},"items":)";
    put_all(out, "[]", *result.nodes, [](std::string& to, std::string_view json) { to += json; });
    out += '}';
  } else {
    out += "null";
  }
  out += R"(,"NodeNames":)";
  if (result.node_names != nullptr) {
    put_all(out, "[]", *result.node_names, put_text);
  } else {
    out += "null";
  }
  out += R"(,"FailedNodes":)";
  put_reasons(out, result.failed);
  out += R"(,"FailedAndUnresolvableNodes":)";
  put_reasons(out, result.unresolvable);
  out += R"(,"Error":)";
  put_text(out, result.error);
  out += '}';
  return out;
}

std::string encode_priorities(const std::vector<HostScore>& scores) {
  std::string out;
  put_all(out, "[]", scores, [](std::string& to, const HostScore& score) {
    to += R"({"Host":)";
    put_text(to, score.host);
    to += R"(,"Score":)";
    put_number(to, score.score);
    to += '}';
  });
  return out;
}

std::string encode_binding_result(std::string_view error) {
  std::string out = R"({"Error":)";
  put_text(out, error);
  out += '}';
  return out;
}

std::string encode_preemption_result(const std::map<std::string, Victims>& victims) {
  std::string out = R"({"NodeNameToMetaVictims":)";
  put_all(out, "{}", victims, [](std::string& to, const auto& node) {
    put_text(to, node.first);
    to += R"(:{"Pods":)";
    put_all(to, "[]", node.second.uids, [](std::string& pods, std::string_view uid) {
      pods += R"({"UID":)";
      put_text(pods, uid);
      pods += '}';
    });
    to += R"(,"NumPDBViolations":)";
    put_number(to, node.second.pdb_violations);
    to += '}';
  });
  out += '}';
  return out;
}

}  // namespace stowage::codec
