#include "kube/exec_credential.h"

#include <fmt/format.h>

#include "base/base64.h"
#include "base/json_writer.h"
#include "codec/json_in.h"

namespace stowage::kube {
namespace {

constexpr std::size_t kBytesMax = std::size_t{1} << 20U;

struct Printed {
  std::string api_version;
  std::string kind;
  std::string expires;
  bool has_status = false;
  ExecCredential credential;
};

Status read_status(codec::JsonValue& value, Printed& printed) {
  printed.has_status = true;
  return codec::each_field(value, [&](std::string_view key, codec::JsonValue& field) -> Status {
    if (key == "token") return codec::read(field, printed.credential.token);
    if (key == "clientCertificateData")
      return codec::read(field, printed.credential.certificate_pem);
    if (key == "clientKeyData") return codec::read(field, printed.credential.key_pem);
    if (key == "expirationTimestamp") return codec::read(field, printed.expires);
    return {};
  });
}

Result<Printed> read_printed(std::string_view out) {
  codec::JsonText text;
  Printed printed;
  STOWAGE_TRY(fields, text.open(out, kBytesMax));
  STOWAGE_TRY_VOID(
      codec::each_field(fields, [&](std::string_view key, codec::JsonValue& value) -> Status {
        if (key == "apiVersion") return codec::read(value, printed.api_version);
        if (key == "kind") return codec::read(value, printed.kind);
        if (key == "status") return read_status(value, printed);
        return {};
      }));
  STOWAGE_TRY_VOID(text.close());
  return printed;
}

}  // namespace

std::string exec_info(const ExecPlugin& plugin, const ClientConfig& config) {
  base::JsonWriter json(base::JsonWriter::Style::compact);
  json.begin_object();
  json.key("kind").value("ExecCredential").key("apiVersion").value(plugin.api_version);
  json.key("spec").begin_object();
  json.key("interactive").boolean(false);
  if (plugin.provide_cluster_info) {
    json.key("cluster").begin_object();
    json.key("server").value(config.server_url);
    if (!config.tls_server_name.empty()) json.key("tls-server-name").value(config.tls_server_name);
    if (config.insecure) json.key("insecure-skip-tls-verify").boolean(true);
    if (!config.ca_pem.empty()) {
      json.key("certificate-authority-data").value(base::base64_encode(config.ca_pem));
    }
    json.end_object();
  }
  json.end_object();
  json.end_object();
  return json.take();
}

Result<ExecCredential> parse_exec_credential(const ExecPlugin& plugin, std::string_view out) {
  const auto wrong = [&](const std::string& trouble) {
    return fail(fmt::format("{} printed no usable ExecCredential: {}", plugin.command, trouble));
  };
  auto printed = read_printed(out);
  if (!printed) return wrong(printed.error().message);
  if (printed->kind != "ExecCredential") {
    return wrong(fmt::format("kind is \"{}\"", printed->kind.substr(0, 64)));
  }
  if (printed->api_version != plugin.api_version) {
    return wrong(fmt::format("apiVersion is \"{}\", the kubeconfig asks for \"{}\"",
                             printed->api_version.substr(0, 64), plugin.api_version));
  }
  ExecCredential& credential = printed->credential;
  if (!printed->has_status) return wrong("it has no status");
  if (credential.certificate_pem.empty() != credential.key_pem.empty()) {
    return wrong("clientCertificateData and clientKeyData must come together");
  }
  if (credential.token.empty() && credential.certificate_pem.empty()) {
    return wrong("it has neither a token nor a client certificate");
  }
  for (const char c : credential.token) {
    if (c <= ' ' || c > '~')
      return wrong("the token contains characters that are not allowed in a token");
  }
  if (!printed->expires.empty()) {
    auto expires = parse_rfc3339(printed->expires);
    if (!expires) return wrong("expirationTimestamp: " + expires.error().message);
    credential.expires = *expires;
  }
  return std::move(credential);
}

}  // namespace stowage::kube
