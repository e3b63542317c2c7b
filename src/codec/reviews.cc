#include "codec/reviews.h"

#include "base/json_writer.h"
#include "codec/fields.h"
#include "codec/json_in.h"

namespace stowage::codec {
namespace {

using base::JsonWriter;

Status read_extra(JsonValue& value, UserInfo& who) {
  return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    return read_strings(field, who.extra[std::string(key)]);
  });
}

Status read_user(JsonValue& value, UserInfo& who) {
  return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "username") return read(field, who.user);
    if (key == "uid") return read(field, who.uid);
    if (key == "groups") return read_strings(field, who.groups);
    return key == "extra" ? read_extra(field, who) : Status{};
  });
}

Status read_token_status(JsonValue& value, TokenVerdict& verdict) {
  return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "authenticated") return read(field, verdict.known);
    if (key == "error") return read(field, verdict.error);
    if (key == "audiences") return read_strings(field, verdict.audiences);
    return key == "user" ? read_user(field, verdict.who) : Status{};
  });
}

void put_strings(JsonWriter& json, const std::vector<std::string>& texts) {
  json.begin_array();
  for (const std::string& text : texts) json.value(text);
  json.end_array();
}

void put_access(JsonWriter& json, const Access& access) {
  if (!access.path.empty()) {
    json.key("nonResourceAttributes").begin_object();
    json.key("path").value(access.path).key("verb").value(access.verb).end_object();
    return;
  }
  json.key("resourceAttributes").begin_object();
  const auto put = [&](std::string_view key, const std::string& text) {
    if (!text.empty()) json.key(key).value(text);
  };
  put("verb", access.verb);
  put("group", access.group);
  put("version", access.version);
  put("resource", access.resource);
  put("subresource", access.subresource);
  put("namespace", access.ns);
  put("name", access.name);
  json.end_object();
}

// Reads the status of an object; `each` gets its fields.
template <typename Each>
Status read_status(std::string_view json, Each&& each) {
  JsonText text;
  bool there = false;
  STOWAGE_TRY(fields, text.open(json, kMaxObjectBytes));
  STOWAGE_TRY_VOID(each_field(fields, [&](std::string_view key, JsonValue& value) -> Status {
    if (key != "status") return {};
    there = true;
    return each(value);
  }));
  STOWAGE_TRY_VOID(text.close());
  if (!there) return fail("status: is missing");
  return {};
}

}  // namespace

std::string token_review(std::string_view token, std::string_view audience) {
  JsonWriter json(JsonWriter::Style::compact);
  json.begin_object();
  json.key("apiVersion").value("authentication.k8s.io/v1").key("kind").value("TokenReview");
  json.key("spec").begin_object().key("token").value(token);
  if (!audience.empty()) json.key("audiences").begin_array().value(audience).end_array();
  json.end_object().end_object();
  return json.take();
}

Result<TokenVerdict> read_token_review(std::string_view json) {
  TokenVerdict verdict;
  STOWAGE_TRY_VOID(
      read_status(json, [&](JsonValue& value) { return read_token_status(value, verdict); }));
  if (verdict.known && verdict.who.user.empty()) return fail("status.user.username: is missing");
  return verdict;
}

std::string access_review(const UserInfo& who, const Access& access) {
  JsonWriter json(JsonWriter::Style::compact);
  json.begin_object();
  json.key("apiVersion").value("authorization.k8s.io/v1");
  json.key("kind").value("SubjectAccessReview");
  json.key("spec").begin_object();
  json.key("user").value(who.user);
  if (!who.uid.empty()) json.key("uid").value(who.uid);
  json.key("groups");
  put_strings(json, who.groups);
  if (!who.extra.empty()) {
    json.key("extra").begin_object();
    for (const auto& [key, values] : who.extra) {
      json.key(key);
      put_strings(json, values);
    }
    json.end_object();
  }
  put_access(json, access);
  json.end_object().end_object();
  return json.take();
}

Result<AccessVerdict> read_access_review(std::string_view json) {
  AccessVerdict verdict;
  bool denied = false;
  STOWAGE_TRY_VOID(read_status(json, [&](JsonValue& value) {
    return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
      if (key == "allowed") return read(field, verdict.allowed);
      if (key == "denied") return read(field, denied);
      return key == "reason" ? read(field, verdict.reason) : Status{};
    });
  }));
  if (denied) verdict.allowed = false;
  return verdict;
}

}  // namespace stowage::codec
