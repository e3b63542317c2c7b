#include "local/call.h"

#include <algorithm>
#include <optional>

#include <fmt/core.h>

#include "base/number.h"
#include "local/protobuf.h"

namespace stowage::local {
namespace {

std::optional<std::vector<std::string>> segments_of(std::string_view path) {
  std::vector<std::string> segments;
  while (!path.empty()) {
    if (path.front() != '/') return std::nullopt;
    path.remove_prefix(1);
    const std::size_t end = std::min(path.find('/'), path.size());
    auto decoded = net::percent_decode(path.substr(0, end));
    path.remove_prefix(end);
    if (!decoded) return std::nullopt;
    if (decoded->empty()) {
      if (path.empty()) break;  // a trailing slash
      return std::nullopt;
    }
    segments.push_back(std::move(*decoded));
  }
  return segments;
}

// The media types of an Accept header. Their order and weights are ignored.
ApiResult<Form> form_of(std::string_view accept) {
  if (accept.find("as=Table") != std::string_view::npos) return Form::table;
  if (accept.find("as=PartialObjectMetadata") != std::string_view::npos) return Form::metadata;
  const bool json = accept.empty() || accept.find("application/json") != std::string_view::npos ||
                    accept.find("*/*") != std::string_view::npos ||
                    accept.find("application/*") != std::string_view::npos;
  if (json) return Form::object;
  return refuse(api_error(406, "NotAcceptable",
                          "only the following media types are accepted: application/json"));
}

ApiError unsupported_media(std::string_view type) {
  return api_error(
      415, "UnsupportedMediaType",
      fmt::format(
          "the body of the request was in an unknown format ({}) - accepted media types include: "
          "application/json, application/vnd.kubernetes.protobuf",
          type));
}

// The path after the version: [namespaces/<ns>/]<resource>[/<name>[/<subresource>]].
ApiResult<void> read_place(Call& call, std::string_view group, std::string_view version,
                           std::vector<std::string> rest) {
  const bool of_namespace =
      rest.size() == 3 && rest[0] == "namespaces" && (rest[2] == "status" || rest[2] == "finalize");
  if (rest.size() >= 3 && rest[0] == "namespaces" && !of_namespace) {
    call.ns = rest[1];
    rest.erase(rest.begin(), rest.begin() + 2);
  }
  if (rest.empty() || rest.size() > 3) return refuse(unknown_resource());
  if (group.empty() && version == "v1" && rest[0] == "bindings" && rest.size() == 1) {
    // The older way to bind: the name is in the body.
    call.resource = &resource_of(Kind::pod);
    call.subresource = "binding";
    return {};
  }
  call.resource = find_resource(group, version, rest[0]);
  if (call.resource == nullptr) return refuse(unknown_resource());
  call.second_form = group == kEventsGroup;
  if (!call.ns.empty() && !call.resource->namespaced) return refuse(unknown_resource());
  if (rest.size() > 1) call.name = rest[1];
  if (rest.size() > 2) {
    call.subresource = rest[2];
    if (!call.resource->has_subresource(call.subresource)) return refuse(unknown_resource());
  }
  if (!call.name.empty() && call.resource->namespaced && call.ns.empty()) {
    return refuse(unknown_resource());
  }
  return {};
}

bool is_true(std::string_view value) { return value == "true" || value == "1"; }

}  // namespace

ApiError unknown_resource() {
  return api_error(404, "NotFound", "the server could not find the requested resource");
}

ApiError method_not_allowed() {
  return api_error(405, "MethodNotAllowed",
                   "the server does not allow this method on the requested resource");
}

bool Call::watches() const {
  return method == "GET" && subresource.empty() && is_true(target.query_value("watch"));
}

ApiResult<Call> parse_call(const net::HttpRequest& request) {
  auto target = net::parse_target(request.target);
  if (!target) return refuse(bad_request(target.error().message));
  auto segments = segments_of(target->path);
  if (!segments) {
    return refuse(bad_request(fmt::format("bad path in \"{}\"", request.target.substr(0, 200))));
  }
  Call call;
  call.method = request.method;
  call.target = std::move(*target);
  call.body = request.body;
  const std::string_view type = net::find_header(request.headers, "Content-Type");
  call.content_type = type.substr(0, type.find_first_of("; "));
  const bool core = !segments->empty() && segments->front() == "api";
  const bool named = !segments->empty() && segments->front() == "apis";
  const std::size_t prefix = core ? 2 : 3;
  if ((!core && !named) || segments->size() <= prefix) return refuse(unknown_resource());
  const std::string group = core ? "" : (*segments)[1];
  const std::string version = core ? (*segments)[1] : (*segments)[2];
  segments->erase(segments->begin(), segments->begin() + static_cast<std::ptrdiff_t>(prefix));
  STOWAGE_TRY_VOID(read_place(call, group, version, std::move(*segments)));
  STOWAGE_TRY_ASSIGN(call.form, form_of(net::find_header(request.headers, "Accept")));
  return call;
}

ApiResult<WriteOptions> write_options(const Call& call) {
  WriteOptions options;
  for (const auto& [key, value] : call.target.query) {
    if (key == "dryRun") {
      if (value != "All") {
        return refuse(bad_request(
            fmt::format("dryRun: Unsupported value: \"{}\": supported values: \"All\"", value)));
      }
      options.dry_run = true;
    }
  }
  const std::string_view validation = call.target.query_value("fieldValidation");
  if (validation == "Strict") {
    options.validation = FieldValidation::strict;
  } else if (validation.empty() || validation == "Warn") {
    options.validation = FieldValidation::warn;
  } else if (validation != "Ignore") {
    return refuse(bad_request(
        fmt::format("fieldValidation: Unsupported value: \"{}\": supported values: \"Ignore\", "
                    "\"Warn\", \"Strict\"",
                    validation)));
  }
  return options;
}

ApiResult<Filter> filter_of(const Call& call) {
  Filter filter;
  filter.ns = call.ns;
  STOWAGE_TRY_ASSIGN(filter.labels, parse_label_selector(call.target.query_value("labelSelector")));
  STOWAGE_TRY_ASSIGN(filter.fields, parse_field_selector(*call.resource,
                                                         call.target.query_value("fieldSelector")));
  if (!call.name.empty()) {
    filter.fields.all.push_back({FieldRequirement::kName, true, call.name});
  }
  return filter;
}

ApiResult<std::uint64_t> number_param(const Call& call, std::string_view name) {
  const std::string_view text = call.target.query_value(name);
  if (text.empty()) return 0;
  if (const auto value = base::parse_number<std::uint64_t>(text)) return *value;
  return refuse(
      bad_request(fmt::format("{}: Invalid value: \"{}\": must be a number", name, text)));
}

RowObject row_object(const Call& call) {
  const std::string_view include = call.target.query_value("includeObject");
  if (include == "None") return RowObject::none;
  return include == "Object" ? RowObject::whole : RowObject::metadata;
}

ApiResult<json::object> read_body(const Call& call, const Schema& schema, Body need) {
  if (call.body.empty()) {
    if (need == Body::optional) return json::object();
    return refuse(bad_request("the request has no body"));
  }
  if (call.content_type == "application/vnd.kubernetes.protobuf") {
    return from_protobuf(schema, call.body);
  }
  if (!call.content_type.empty() && !call.content_type.ends_with("json") &&
      call.content_type != "application/apply-patch+yaml") {
    return refuse(unsupported_media(call.content_type));
  }
  auto parsed = parse_json(call.body);
  if (!parsed) return refuse(bad_request(parsed.error().message));
  if (!parsed->is_object()) return refuse(bad_request("the body is not a JSON object"));
  return std::move(parsed->get_object());
}

void read_delete_options(const json::object& options, DeleteOptions& into) {
  if (const auto grace = int_at(options, "gracePeriodSeconds")) into.grace_seconds = grace;
  const std::string_view propagation = text_at(options, "propagationPolicy");
  if (!propagation.empty()) into.propagation = propagation;
  if (true_at(options, "orphanDependents")) into.propagation = "Orphan";
  into.preconditions.uid = text_at(options, "preconditions.uid");
  into.preconditions.resource_version = text_at(options, "preconditions.resourceVersion");
  const json::array* dry = array_at(options, "dryRun");
  if (dry != nullptr && !dry->empty()) into.dry_run = true;
}

ApiResult<DeleteOptions> delete_options(const Call& call, const Schema& schema) {
  STOWAGE_TRY(body, read_body(call, schema, Body::optional));
  DeleteOptions options;
  if (const std::string_view grace = call.target.query_value("gracePeriodSeconds");
      !grace.empty()) {
    STOWAGE_TRY(seconds, number_param(call, "gracePeriodSeconds"));
    options.grace_seconds = static_cast<std::int64_t>(std::min<std::uint64_t>(seconds, 1U << 30U));
  }
  options.propagation = call.target.query_value("propagationPolicy");
  STOWAGE_TRY(write, write_options(call));
  options.dry_run = write.dry_run;
  read_delete_options(body, options);
  const std::string_view policy = options.propagation;
  if (!policy.empty() && policy != "Background" && policy != "Foreground" && policy != "Orphan") {
    return refuse(
        bad_request(fmt::format("propagationPolicy: Unsupported value: \"{}\": supported "
                                "values: \"Foreground\", \"Background\", \"Orphan\"",
                                policy)));
  }
  return options;
}

}  // namespace stowage::local
