#include "plugin/cdi.h"

#include <algorithm>
#include <utility>

#include "base/json_writer.h"
#include "plugin/record.h"

namespace stowage::plugin {
namespace {

using base::JsonWriter;

template <typename T>
void add_new(std::vector<T>& to, const std::vector<T>& more) {
  for (const T& each : more) {
    if (std::find(to.begin(), to.end(), each) == to.end()) to.push_back(each);
  }
}

void add_variable(std::vector<std::string>& to, const std::string& variable) {
  const std::string start = variable.substr(0, variable.find('=')) + "=";
  std::erase_if(to, [&](const std::string& each) { return each.starts_with(start); });
  to.push_back(variable);
}

void write_text(JsonWriter& json, std::string_view key, const std::string& text) {
  if (!text.empty()) json.key(key).value(text);
}

void write_number(JsonWriter& json, std::string_view key,
                  const std::optional<std::int64_t>& number) {
  if (number) json.key(key).value(*number);
}

void write_texts(JsonWriter& json, std::string_view key, const std::vector<std::string>& texts) {
  if (texts.empty()) return;
  json.key(key).begin_array();
  for (const std::string& text : texts) json.value(text);
  json.end_array();
}

void write_all(JsonWriter& json, const std::vector<CdiDeviceNode>& nodes) {
  if (nodes.empty()) return;
  json.key("deviceNodes").begin_array();
  for (const CdiDeviceNode& node : nodes) {
    json.begin_object().key("path").value(node.path);
    write_text(json, "hostPath", node.host_path);
    write_text(json, "type", node.type);
    write_number(json, "major", node.major);
    write_number(json, "minor", node.minor);
    write_number(json, "fileMode", node.file_mode);
    write_text(json, "permissions", node.permissions);
    write_number(json, "uid", node.uid);
    write_number(json, "gid", node.gid);
    json.end_object();
  }
  json.end_array();
}

void write_all(JsonWriter& json, const std::vector<CdiMount>& mounts) {
  if (mounts.empty()) return;
  json.key("mounts").begin_array();
  for (const CdiMount& mount : mounts) {
    json.begin_object();
    json.key("hostPath").value(mount.host_path).key("containerPath").value(mount.container_path);
    write_text(json, "type", mount.type);
    write_texts(json, "options", mount.options);
    json.end_object();
  }
  json.end_array();
}

void write_all(JsonWriter& json, const std::vector<CdiHook>& hooks) {
  if (hooks.empty()) return;
  json.key("hooks").begin_array();
  for (const CdiHook& hook : hooks) {
    json.begin_object().key("hookName").value(hook.name).key("path").value(hook.path);
    write_texts(json, "args", hook.args);
    write_texts(json, "env", hook.env);
    write_number(json, "timeout", hook.timeout);
    json.end_object();
  }
  json.end_array();
}

void write(JsonWriter& json, const CdiEdits& edits) {
  json.begin_object();
  write_texts(json, "env", edits.env);
  write_all(json, edits.device_nodes);
  write_all(json, edits.mounts);
  write_all(json, edits.hooks);
  if (!edits.additional_gids.empty()) {
    json.key("additionalGids").begin_array();
    for (const std::int64_t gid : edits.additional_gids) json.value(gid);
    json.end_array();
  }
  json.end_object();
}

}  // namespace

void add(CdiEdits& to, const CdiEdits& more) {
  for (const std::string& variable : more.env) add_variable(to.env, variable);
  add_new(to.device_nodes, more.device_nodes);
  add_new(to.mounts, more.mounts);
  add_new(to.hooks, more.hooks);
  add_new(to.additional_gids, more.additional_gids);
}

std::string cdi_spec(std::string_view device, const CdiEdits& edits) {
  JsonWriter json(JsonWriter::Style::compact);
  json.begin_object();
  json.key("cdiVersion").value(edits.additional_gids.empty() ? "0.5.0" : "0.7.0");
  json.key("kind").value(kCdiKind);
  json.key("devices").begin_array().begin_object();
  json.key("name").value(device).key("containerEdits");
  write(json, edits);
  json.end_object().end_array().end_object();
  return json.take() + "\n";
}

}  // namespace stowage::plugin
