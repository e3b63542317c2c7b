#include "plugin/nvidia_spec.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "base/number.h"
#include "yaml/strict_map.h"

namespace stowage::plugin {
namespace {

using yaml::StrictMap;

constexpr std::size_t kShown = 64;
constexpr std::size_t kTextMax = 1024;
constexpr std::size_t kTextsMax = 8192;  // in lists of texts, of the whole file
constexpr StrictMap::Limits kLimits{
    .shown = kShown, .key_hint = 64, .word = kTextMax, .mappings = 8192};

// Reads one file. Aliases can make a short text long: `texts` counts what was read.
class Reader {
 public:
  void top(StrictMap& map, NvidiaSpec& spec) {
    (void)map.word("cdiVersion", "a version");
    ignore(map, "annotations");
    map.map("containerEdits", [&](StrictMap& inner) { edits(inner, spec.common); });
    map.list("devices", [&](StrictMap& inner) { device(inner, spec); });
  }

 private:
  // Annotations are for people; whatever they say is not copied.
  static void ignore(StrictMap& map, const std::string& key) { (void)map.has(key); }

  void device(StrictMap& map, NvidiaSpec& spec) {
    const auto name = map.word("name", "the name of a device");
    ignore(map, "annotations");
    CdiEdits found;
    map.map("containerEdits", [&](StrictMap& inner) { edits(inner, found); });
    if (!name) return map.refuse("name", "a device needs a name");
    if (!spec.devices.emplace(*name, std::move(found)).second) {
      map.refuse("name", "another device has this name");
    }
  }

  void edits(StrictMap& map, CdiEdits& out) {
    texts(map, "env", out.env);
    map.list("deviceNodes",
             [&](StrictMap& inner) { out.device_nodes.push_back(device_node(inner)); });
    map.list("mounts", [&](StrictMap& inner) { out.mounts.push_back(mount(inner)); });
    map.list("hooks", [&](StrictMap& inner) { out.hooks.push_back(hook(inner)); });
    std::vector<std::string> gids;
    texts(map, "additionalGids", gids);
    for (const std::string& gid : gids) {
      const auto number = base::parse_number<std::uint32_t>(gid);
      if (!number) return map.refuse("additionalGids", "expected a list of group ids");
      out.additional_gids.push_back(*number);
    }
  }

  CdiDeviceNode device_node(StrictMap& map) {
    return {.path = path(map, "path", Need::required),
            .host_path = path(map, "hostPath", Need::optional),
            .type = map.word("type", "a type of device").value_or(""),
            .permissions = map.word("permissions", "permissions such as rw").value_or(""),
            .major = number(map, "major"),
            .minor = number(map, "minor"),
            .file_mode = number(map, "fileMode"),
            .uid = number(map, "uid"),
            .gid = number(map, "gid")};
  }

  CdiMount mount(StrictMap& map) {
    CdiMount out{.host_path = path(map, "hostPath", Need::required),
                 .container_path = path(map, "containerPath", Need::required),
                 .type = map.word("type", "a type of mount").value_or(""),
                 .options = {}};
    texts(map, "options", out.options);
    return out;
  }

  CdiHook hook(StrictMap& map) {
    CdiHook out{.name = map.word("hookName", "the name of a hook").value_or(""),
                .path = path(map, "path", Need::required),
                .args = {},
                .env = {},
                .timeout = number(map, "timeout")};
    if (out.name.empty()) map.refuse("hookName", "a hook needs a name");
    texts(map, "args", out.args);
    texts(map, "env", out.env);
    return out;
  }

  enum class Need : std::uint8_t { required, optional };
  static std::string path(StrictMap& map, const std::string& key, Need need) {
    auto text = map.word(key, "a path");
    if (text && text->front() != '/') map.refuse(key, "expected a path that begins with /");
    if (!text && need == Need::required) map.refuse(key, "expected a path");
    return std::move(text).value_or("");
  }

  static std::optional<std::int64_t> number(StrictMap& map, const std::string& key) {
    const auto word = map.word(key, "a whole number");
    if (!word) return std::nullopt;
    const auto read = base::parse_number<std::int64_t>(*word);
    if (!read || *read < 0 || *read > UINT32_MAX) map.refuse(key, "expected a whole number");
    return read;
  }

  void texts(StrictMap& map, const std::string& key, std::vector<std::string>& out) {
    if (texts_ > kTextsMax) return map.refuse(key, "the file has too many texts");
    map.texts(key, out);
    texts_ += out.size();
    const bool too_long = std::any_of(
        out.begin(), out.end(), [](const std::string& text) { return text.size() > kTextMax; });
    if (too_long) map.refuse(key, fmt::format("a text is longer than {} bytes", kTextMax));
  }

  std::size_t texts_ = 0;
};

struct Found {
  const NvidiaSpec* spec = nullptr;
  const CdiEdits* edits = nullptr;
};

Found find(const std::vector<NvidiaSpec>& specs, const std::string& name) {
  for (const NvidiaSpec& spec : specs) {
    const auto device = spec.devices.find(name);
    if (device != spec.devices.end()) return {.spec = &spec, .edits = &device->second};
  }
  return {};
}

constexpr std::string_view kInstance = "MIG-";

bool has_node(const CdiEdits& edits, int minor) {
  const std::string path = fmt::format("/dev/nvidia{}", minor);
  return std::any_of(edits.device_nodes.begin(), edits.device_nodes.end(),
                     [&](const CdiDeviceNode& node) { return node.path == path; });
}

Result<Found> find_card(const std::vector<NvidiaSpec>& specs, const CardNames& card) {
  std::string name = card.id;
  Found found = find(specs, name);
  // The number of an instance, and its card's device node, say nothing about which instance it is.
  if (found.spec == nullptr && !card.id.starts_with(kInstance)) {
    name = card.number;
    found = find(specs, name);
  }
  if (found.spec == nullptr) {
    std::string files;
    for (const NvidiaSpec& spec : specs) files += (files.empty() ? "" : ", ") + spec.file;
    return fail(
        fmt::format("card {} is in none of NVIDIA's CDI specifications ({}); generate them "
                    "again",
                    card.id, files));
  }
  // Device nodes get other numbers when a card is added or removed, and the file stays as it was.
  if (card.device_minor && !has_node(*found.edits, *card.device_minor)) {
    return fail(
        fmt::format("device {} of {} is not card {}, which is /dev/nvidia{}; generate the "
                    "specification again",
                    name, found.spec->file, card.id, *card.device_minor));
  }
  return found;
}

}  // namespace

Result<std::optional<NvidiaSpec>> parse_nvidia_spec(std::string_view text,
                                                    const std::string& file) {
  if (text.size() > kNvidiaSpecBytesMax) {
    return fail(fmt::format("{}: larger than {} bytes", file, kNvidiaSpecBytesMax));
  }
  STOWAGE_TRY(map, StrictMap::parse(text, {.file = file, .limits = kLimits, .null_at_key = true}));
  const auto kind = map.word("kind", "vendor/class");
  if (!kind || *kind != kNvidiaKind) return std::optional<NvidiaSpec>();
  NvidiaSpec spec{.file = file, .common = {}, .devices = {}};
  Reader().top(map, spec);
  STOWAGE_TRY_VOID(map.finish());
  return std::optional(std::move(spec));
}

Result<CdiEdits> edits_for(const std::vector<NvidiaSpec>& specs,
                           const std::vector<CardNames>& cards) {
  CdiEdits all;
  for (const CardNames& card : cards) {
    STOWAGE_TRY(found, find_card(specs, card));
    add(all, found.spec->common);
    add(all, *found.edits);
  }
  // Last: the nvidia runtime must not add cards of its own, whatever the image says.
  add(all, {.env = {"NVIDIA_VISIBLE_DEVICES=void"}});
  return all;
}

std::vector<std::string> host_paths(const CdiEdits& edits) {
  std::vector<std::string> paths;
  for (const CdiDeviceNode& node : edits.device_nodes) {
    paths.push_back(node.host_path.empty() ? node.path : node.host_path);
  }
  for (const CdiMount& mount : edits.mounts) paths.push_back(mount.host_path);
  for (const CdiHook& hook : edits.hooks) paths.push_back(hook.path);
  return paths;
}

}  // namespace stowage::plugin
