#include "webhook/pod_review.h"

#include <utility>

#include <fmt/format.h>

#include "codec/fields.h"

namespace stowage::webhook {
namespace {

using codec::each_element;
using codec::each_field;
using codec::JsonFields;
using codec::JsonValue;
using codec::read;

constexpr std::string_view kApiVersion = "admission.k8s.io/v1";
constexpr std::size_t kUidMax = 256;

struct Request {
  std::string uid;
  std::string group;
  std::string resource;
  std::string subresource;
  std::string operation;
  std::string ns;
  std::string_view object;
};

Status read_variable(JsonValue& value, Variable& out) {
  return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "name") return read(field, out.name);
    if (key == "value") return read(field, out.value);
    if (key == "valueFrom") out.is_plain = false;
    return {};
  });
}

Status read_resources(JsonValue& value, Container& out) {
  return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "requests") {
      out.has_requests = true;
      return codec::read_quantities(field, out.requests);
    }
    if (key == "limits") {
      out.has_limits = true;
      return codec::read_quantities(field, out.limits);
    }
    if (key != "claims") return {};
    return each_element(field, [&](JsonValue& /*claim*/) -> Status {
      out.has_claims = true;
      return {};
    });
  });
}

Status read_environment(JsonValue& value, Container& out) {
  out.has_environment = true;
  out.environment.clear();
  return each_element(value, [&](JsonValue& element) -> Status {
    if (out.environment.size() == kVariablesMax) {
      return element.wrong(fmt::format("more than {} variables", kVariablesMax));
    }
    return read_variable(element, out.environment.emplace_back());
  });
}

// The last one of a repeated key counts, as in the API server.
Status read_containers(JsonValue& value, std::vector<Container>& out) {
  out.clear();
  return each_element(value, [&](JsonValue& element) -> Status {
    if (out.size() == kContainersMax) {
      return element.wrong(fmt::format("more than {} containers", kContainersMax));
    }
    Container& container = out.emplace_back();
    return each_field(element, [&](std::string_view key, JsonValue& field) -> Status {
      if (key == "name") return read(field, container.name);
      if (key == "env") return read_environment(field, container);
      if (key == "resources") {
        container.has_resources = true;
        return read_resources(field, container);
      }
      if (key != "restartPolicy") return {};
      STOWAGE_TRY(policy, field.text());
      container.sidecar = policy == "Always";
      return {};
    });
  });
}

Status read_spec(JsonValue& value, PodReview& out) {
  return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "containers") return read_containers(field, out.app);
    if (key == "initContainers") return read_containers(field, out.init);
    if (key == "schedulerName") return read(field, out.scheduler);
    if (key == "nodeName") return read(field, out.node);
    if (key != "os") return {};
    return each_field(field, [&](std::string_view name, JsonValue& text) -> Status {
      return name == "name" ? read(text, out.os) : Status();
    });
  });
}

Status read_metadata(JsonValue& value, PodReview& out) {
  std::string prefix;
  STOWAGE_TRY_VOID(each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "name") return read(field, out.name);
    if (key == "generateName") return read(field, prefix);
    if (key == "annotations") {
      return codec::read_texts(field, out.annotations, dialect::kMaxAnnotations);
    }
    return {};
  }));
  if (out.name.empty()) out.name = std::move(prefix);
  return {};
}

Status read_request(JsonValue& value, Request& out) {
  return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "uid") return read(field, out.uid);
    if (key == "subResource") return read(field, out.subresource);
    if (key == "operation") return read(field, out.operation);
    if (key == "namespace") return read(field, out.ns);
    if (key == "object") {
      STOWAGE_TRY_ASSIGN(out.object, field.raw_object());
      return {};
    }
    if (key != "resource") return {};
    return each_field(field, [&](std::string_view name, JsonValue& text) -> Status {
      if (name == "group") return read(text, out.group);
      return name == "resource" ? read(text, out.resource) : Status();
    });
  });
}

}  // namespace

Result<PodReview> PodReviewReader::read(std::string_view body) {
  if (body.size() > kBodyMax) {
    return fail(fmt::format("the review has {} bytes; at most {} are read", body.size(), kBodyMax));
  }
  STOWAGE_TRY(fields, review_.open(body, kBodyMax));
  std::string api_version;
  std::string kind;
  Request request;
  STOWAGE_TRY_VOID(each_field(fields, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "apiVersion") return codec::read(field, api_version);
    if (key == "kind") return codec::read(field, kind);
    return key == "request" ? read_request(field, request) : Status();
  }));
  STOWAGE_TRY_VOID(review_.close());
  if (api_version != kApiVersion || kind != "AdmissionReview") {
    return fail(fmt::format("expected an AdmissionReview of {}", kApiVersion));
  }
  if (request.uid.empty() || request.uid.size() > kUidMax) {
    return fail(fmt::format("request.uid: expected 1 to {} characters", kUidMax));
  }
  PodReview review{.uid = std::move(request.uid)};
  review.creates_pod = request.group.empty() && request.resource == "pods" &&
                       request.subresource.empty() && request.operation == "CREATE";
  if (!review.creates_pod) return review;
  if (request.object.empty()) return fail("request.object: missing");
  review.ns = std::move(request.ns);
  if (const Status read = read_pod(request.object, review); !read) {
    review.over_limit = read.error().message;
  }
  return review;
}

Status PodReviewReader::read_pod(std::string_view object, PodReview& out) {
  STOWAGE_TRY(pod, object_.open(object, kBodyMax));
  STOWAGE_TRY_VOID(each_field(pod, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "metadata") return read_metadata(field, out);
    return key == "spec" ? read_spec(field, out) : Status();
  }));
  return object_.close();
}

}  // namespace stowage::webhook
