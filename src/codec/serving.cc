#include "codec/serving.h"

#include "base/json_writer.h"
#include "codec/fields.h"
#include "codec/json_in.h"
#include "codec/object_out.h"

namespace stowage::codec {
namespace {

using base::JsonWriter;

// Reads the version; `each` reads the rest.
template <typename Each>
Status read_versioned(std::string_view json, std::string& resource_version, Each&& each) {
  JsonText text;
  Metadata metadata;
  STOWAGE_TRY(fields, text.open(json, kMaxObjectBytes));
  STOWAGE_TRY_VOID(each_field(fields, [&](std::string_view key, JsonValue& value) -> Status {
    return key == "metadata" ? read_metadata(value, metadata) : each(key, value);
  }));
  STOWAGE_TRY_VOID(text.close());
  if (metadata.resource_version.empty()) return fail("metadata.resourceVersion: is missing");
  resource_version = std::move(metadata.resource_version);
  return {};
}

Status read_service(JsonValue& value, ApiService& out) {
  return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "name") return read(field, out.service);
    return key == "namespace" ? read(field, out.service_ns) : Status();
  });
}

Status read_service_spec(JsonValue& value, ApiService& out) {
  return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "service") return read_service(field, out);
    if (key == "caBundle") return read(field, out.ca_bundle);
    return key == "insecureSkipTLSVerify" ? read(field, out.insecure) : Status();
  });
}

Status read_client_config(JsonValue& value, WebhookConfiguration::Hook& out) {
  return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "caBundle") return read(field, out.ca_bundle);
    if (key != "service") return {};
    return each_field(field, [&](std::string_view name, JsonValue& text) -> Status {
      if (name == "name") return read(text, out.service);
      return name == "namespace" ? read(text, out.service_ns) : Status();
    });
  });
}

Status read_hooks(JsonValue& value, std::vector<WebhookConfiguration::Hook>& out) {
  out.clear();
  return each_element(value, [&](JsonValue& element) -> Status {
    if (out.size() == kHooksMax) return element.wrong("too many webhooks");
    WebhookConfiguration::Hook& hook = out.emplace_back();
    return each_field(element, [&](std::string_view key, JsonValue& field) -> Status {
      if (key == "name") return read(field, hook.name);
      return key == "clientConfig" ? read_client_config(field, hook) : Status();
    });
  });
}

}  // namespace

Result<Secret> read_secret(std::string_view json) {
  Secret out;
  STOWAGE_TRY_VOID(read_versioned(json, out.resource_version,
                                  [&](std::string_view key, JsonValue& value) -> Status {
                                    return key == "data" ? read_texts(value, out.data) : Status();
                                  }));
  return out;
}

std::string secret(const SecretRequest& ask) {
  JsonWriter json(JsonWriter::Style::compact);
  begin_object(json, {.api_version = "v1", .kind = "Secret", .ns = ask.ns, .name = ask.name});
  json.end_object();
  json.key("type").value(ask.type);
  json.key("data").begin_object();
  for (const auto& [key, text] : ask.data) {
    if (!text.empty()) json.key(key).value(text);
  }
  json.end_object().end_object();
  return json.take();
}

std::string secret_patch(const SecretRequest& ask) {
  JsonWriter json(JsonWriter::Style::compact);
  json.begin_object();
  json.key("metadata").begin_object();
  json.key("resourceVersion").value(ask.resource_version).end_object();
  put_changes(json, "data", ask.data);
  json.end_object();
  return json.take();
}

Result<ApiService> read_api_service(std::string_view json) {
  ApiService out;
  STOWAGE_TRY_VOID(read_versioned(json, out.resource_version,
                                  [&](std::string_view key, JsonValue& value) -> Status {
                                    return key == "spec" ? read_service_spec(value, out) : Status();
                                  }));
  return out;
}

std::string api_service_patch(const ApiServicePatch& patch) {
  JsonWriter json(JsonWriter::Style::compact);
  json.begin_object();
  json.key("metadata").begin_object();
  json.key("resourceVersion").value(patch.resource_version).end_object();
  json.key("spec").begin_object();
  json.key("caBundle").value(patch.ca_bundle);
  json.key("insecureSkipTLSVerify").boolean(false);
  json.end_object().end_object();
  return json.take();
}

Result<WebhookConfiguration> read_webhooks(std::string_view json) {
  WebhookConfiguration out;
  STOWAGE_TRY_VOID(read_versioned(
      json, out.resource_version, [&](std::string_view key, JsonValue& value) -> Status {
        return key == "webhooks" ? read_hooks(value, out.hooks) : Status();
      }));
  return out;
}

std::string webhooks_patch(const WebhooksPatch& patch) {
  JsonWriter json(JsonWriter::Style::compact);
  json.begin_object();
  json.key("metadata").begin_object();
  json.key("resourceVersion").value(patch.resource_version).end_object();
  json.key("webhooks").begin_array();
  for (const std::string& name : patch.hooks) {
    json.begin_object().key("name").value(name);
    json.key("clientConfig").begin_object().key("caBundle").value(patch.ca_bundle);
    json.end_object().end_object();
  }
  json.end_array().end_object();
  return json.take();
}

}  // namespace stowage::codec
