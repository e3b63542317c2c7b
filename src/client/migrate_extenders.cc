// The extenders of a configuration: keys, units, and advice for the systems that Stowage replaces.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "client/migrate_parts.h"

namespace stowage::client {
namespace {

constexpr std::string_view kVerbs[] = {"filterVerb", "prioritizeVerb", "preemptVerb", "bindVerb"};
constexpr std::string_view kTlsKeys[] = {"insecure", "serverName", "certFile", "keyFile",
                                         "caFile",   "certData",   "keyData",  "caData"};
constexpr std::string_view kOtherKeys[] = {"urlPrefix",        "weight",      "enableHTTPS",
                                           "tlsConfig",        "httpTimeout", "nodeCacheCapable",
                                           "managedResources", "ignorable",   "apiVersion"};

// Addresses and names that are already assigned to extenders.
struct Taken {
  bool bind = false;
  std::set<std::string> resources;
};

bool one_of(std::span<const std::string_view> list, std::string_view key) {
  return std::any_of(list.begin(), list.end(), [&](auto entry) { return same_key(entry, key); });
}

bool manages(const Tree& extender, std::string_view part) {
  const Tree* list = extender.find("managedResources");
  if (list == nullptr) return false;
  return std::any_of(list->elements.begin(), list->elements.end(), [&](const Tree& entry) {
    return entry.text_at("name").find(part) != std::string::npos;
  });
}

struct System {
  std::string_view preset;  // of the controller; empty: not a system that is replaced
  std::string_view listen;
};

System system_of(const Tree& extender) {
  const std::string url = extender.text_at("urlPrefix");
  const auto has = [&](std::string_view part) { return url.find(part) != std::string::npos; };
  if (manages(extender, "elasticgpu.") || has(":39999") || has("elastic-gpu")) {
    return {"elastic-gpu-scheduler", "0.0.0.0:39999"};
  }
  if (manages(extender, "vgpu-number") || has("vgpu-manager")) {
    return {"vgpu-manager", "127.0.0.1:3456"};
  }
  if (manages(extender, "vcuda-") || has(":3456") || has("gpu-admission") ||
      extender.text_at("filterVerb") == "predicates") {
    return {"gpu-admission", "127.0.0.1:3456"};
  }
  if (has("/apis/metrics.nvidia.com/") || has("nvidia-gpu-scheduler")) {
    return {"nvidia-gpu-scheduler", "0.0.0.0:8080"};
  }
  return {};
}

// A duration as Go writes it, as far as kube-scheduler needs it.
bool is_duration(std::string_view text) {
  if (!text.empty() && (text.front() == '+' || text.front() == '-')) text.remove_prefix(1);
  if (text.empty()) return false;
  while (!text.empty()) {
    const std::size_t digits = text.find_first_not_of("0123456789.");
    if (digits == 0 || digits == std::string_view::npos) return false;
    if (text.substr(0, digits).find_first_not_of('.') == std::string_view::npos) return false;
    text.remove_prefix(digits);
    const std::size_t unit = std::min(text.find_first_of("0123456789."), text.size());
    constexpr std::string_view kUnits[] = {"ns", "us", "ms", "s", "m", "h"};
    if (!one_of(kUnits, text.substr(0, unit))) return false;
    text.remove_prefix(unit);
  }
  return true;
}

std::string duration_of(std::int64_t nanos) {
  if (nanos % 1'000'000'000 == 0) return fmt::format("{}s", nanos / 1'000'000'000);
  if (nanos % 1'000'000 == 0) return fmt::format("{}ms", nanos / 1'000'000);
  return fmt::format("{}ns", nanos);
}

void write_timeout(const Tree& extender, Script& script) {
  const Tree* timeout = extender.find("httpTimeout");
  if (timeout == nullptr) return;
  if (timeout->is(Tree::Kind::text) && is_duration(timeout->scalar)) {
    script.out.field("httpTimeout", timeout->scalar);
    return;
  }
  const std::string digits = whole_number(*timeout);
  std::int64_t nanos = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), nanos);
  if (digits.empty() || read.ec != std::errc{} || nanos < 0) {
    return script.tell(fmt::format(
        "httpTimeout was \"{}\", which is not a duration; left out, so the default of 5s applies",
        timeout->scalar));
  }
  if (nanos == 0) return script.tell("httpTimeout was 0, which is the default: 5s");
  script.tell(
      fmt::format("httpTimeout was {}: nanoseconds. It is a string with a unit now.", digits));
  script.out.field("httpTimeout", duration_of(nanos));
}

void write_flag(const Tree& extender, std::string_view key, Script& script) {
  const Tree* flag = extender.find(key);
  if (flag == nullptr) return;
  if (flag->is(Tree::Kind::truth)) {
    script.out.raw(key, flag->scalar);
  } else {
    script.tell(
        fmt::format("{} was \"{}\", neither true nor false; left out, so the default false applies",
                    key, flag->scalar));
  }
}

void write_https(const Tree& extender, Script& script) {
  for (const auto& [key, value] : extender.fields) {
    if (key == "enableHttps") script.tell("enableHttps is spelt enableHTTPS now.");
  }
  write_flag(extender, "enableHTTPS", script);
  const Tree* tls = extender.find("tlsConfig");
  if (tls == nullptr || !tls->is(Tree::Kind::object)) return;
  script.out.open("tlsConfig");
  for (const auto& [key, value] : tls->fields) {
    const auto* known = std::find_if(std::begin(kTlsKeys), std::end(kTlsKeys),
                                     [&, &k = key](auto name) { return same_key(name, k); });
    if (known == std::end(kTlsKeys)) {
      script.tell(unknown_key("tlsConfig", key));
    } else if (value.is(Tree::Kind::text) || value.is(Tree::Kind::truth)) {
      // kube-scheduler reads v1 strictly: CAFile is an unknown field to it.
      if (*known != key) script.tell(fmt::format("{} is spelt {} now.", key, *known));
      script.out.tree(*known, value);
    } else {
      script.tell(fmt::format("tlsConfig.{} cannot be read; left out", key));
    }
  }
  script.out.close();
}

void write_verbs(const Tree& extender, Taken& taken, Script& script) {
  for (const std::string_view verb : kVerbs) {
    const std::string path = extender.text_at(verb);
    if (path.empty()) continue;
    if (verb == "bindVerb" && std::exchange(taken.bind, true)) {
      script.tell(
          fmt::format("bindVerb: {} is left out, since only one extender may bind and one "
                      "above does. Check that it is the right one.",
                      path));
      script.check.push_back("several extenders had a bindVerb; only the first keeps it");
      continue;
    }
    script.out.field(verb, path);
  }
}

void write_weight(const Tree& extender, Script& script) {
  const Tree* weight = extender.find("weight");
  const bool scores = !extender.text_at("prioritizeVerb").empty();
  std::string digits = weight == nullptr ? "" : whole_number(*weight);
  const bool good = !digits.empty() && digits != "0" && digits.front() != '-' && digits.size() < 8;
  if (!good && !scores) return;
  if (!good) {
    script.tell("weight must be 1 or more if there is a prioritizeVerb.");
    digits = "1";
  }
  if (scores && digits.size() == 1) {
    script.out.comment(
        "The extender gives a node at most 100 x weight points, the other plugins together up to "
        "1400: from weight 15 on the packing of GPUs decides.");
  }
  script.out.raw("weight", digits);
}

void write_resources(const Tree& extender, Taken& taken, Script& script) {
  const Tree* list = extender.find("managedResources");
  if (list == nullptr) return;
  script.out.open_list("managedResources");
  for (const Tree& entry : list->elements) {
    const std::string name = entry.text_at("name");
    if (name.find('/') == std::string::npos) {
      script.tell(
          fmt::format("managed resource \"{}\" is left out: the name needs a domain", name));
      continue;
    }
    if (!taken.resources.insert(name).second) {
      script.tell(fmt::format("managed resource {} is left out: it may be listed only once", name));
      continue;
    }
    script.out.item();
    for (const auto& [key, value] : entry.fields) {
      if (!same_key(key, "name") && !same_key(key, "ignoredByScheduler")) {
        script.tell(unknown_key("managedResources", key));
      }
    }
    script.out.field("name", name);
    const Tree* ignored = entry.find("ignoredByScheduler");
    if (ignored != nullptr && ignored->is(Tree::Kind::truth)) {
      script.out.raw("ignoredByScheduler", ignored->scalar);
    }
    script.out.close();
  }
  script.out.close();
}

void advise(const Tree& extender, Script& script) {
  const std::string url = extender.text_at("urlPrefix");
  if (url.find('<') != std::string::npos) {
    script.tell("Replace the words in angle brackets with the address.");
    script.check.push_back("urlPrefix has words in angle brackets: replace them with the address");
  }
  const System system = system_of(extender);
  if (system.preset.empty()) return;
  script.out.comment(fmt::format(
      "This is the address of {0}. The preset {0} of `stowage controller` serves the same routes, "
      "by default on {1}; check host and port. Stowage's own routes are /stowage/filter, "
      "/stowage/prioritize, /stowage/preempt and /stowage/bind, by default on port 10361.",
      system.preset, system.listen));
  if (system.preset == "gpu-admission") {
    script.out.comment(
        "Keep it the last extender: it answers with one node, so the scores of other extenders "
        "have no effect.");
  }
  const Tree* ignorable = extender.find("ignorable");
  const Tree* https = extender.find("enableHTTPS");
  // Then the address is that of the API server.
  const bool behind_api = url.find(":6443/apis/") != std::string::npos;
  serve(script, {.preset = std::string(system.preset),
                 .listen = behind_api ? "127.0.0.1:8080" : listen_for(url, system.listen),
                 .ignorable = ignorable != nullptr && ignorable->scalar == "true",
                 .tls = !behind_api && https != nullptr && https->scalar == "true",
                 .behind_api = behind_api});
  script.check.push_back(
      fmt::format("the address of the extender ({}), and that Stowage runs there", system.preset));
}

void write_extender(const Tree& extender, Taken& taken, Script& script) {
  const std::string url = extender.text_at("urlPrefix");
  if (!extender.is(Tree::Kind::object) || url.empty()) {
    return script.tell("an extender without urlPrefix is left out");
  }
  advise(extender, script);
  script.out.item();
  script.out.field("urlPrefix", url);
  for (const auto& [key, value] : extender.fields) {
    if (same_key(key, "apiVersion")) {
      script.tell(
          fmt::format("apiVersion: {} is left out: there is one version now. Keys in "
                      "requests are written with capitals since then.",
                      value.scalar));
    } else if (!one_of(kVerbs, key) && !one_of(kOtherKeys, key)) {
      script.tell(unknown_key("the extender", key));
    }
  }
  write_verbs(extender, taken, script);
  write_weight(extender, script);
  write_https(extender, script);
  write_timeout(extender, script);
  const Tree* names = extender.find("nodeCacheCapable");
  if (names == nullptr || names->scalar != "true") {
    script.out.comment(
        "With nodeCacheCapable: true only names of nodes are sent, which is many times faster. "
        "Stowage supports both; the previous extender may not.");
  }
  write_flag(extender, "nodeCacheCapable", script);
  write_resources(extender, taken, script);
  write_flag(extender, "ignorable", script);
  script.out.close();
}

void write_ours(Script& script) {
  script.tell(
      "Replaces Alnair's plugins: the preset alnair of `stowage controller` (port 10361) chooses "
      "node and card of pods with alnair/vgpu-memory and alnair/vgpu-compute.");
  script.out.item();
  script.out.field("urlPrefix", "http://127.0.0.1:10361/stowage");
  script.out.field("filterVerb", "filter").field("prioritizeVerb", "prioritize");
  script.out.field("preemptVerb", "preempt").field("bindVerb", "bind");
  script.out.raw("weight", "15").field("httpTimeout", "30s").raw("nodeCacheCapable", "true");
  script.out.open_list("managedResources");
  for (const char* name : {"alnair/vgpu-memory", "alnair/vgpu-compute"}) {
    script.out.item().field("name", name).close();
  }
  script.out.close().close();
  serve(script, {.preset = "alnair", .listen = "127.0.0.1:10361"});
  script.check.emplace_back("the address of the new extender, and that Stowage runs there");
}

}  // namespace

void write_extenders(const Tree& config, bool alnair, Script& script) {
  const Tree* list = config.find("extenders");
  Taken taken;
  script.out.open_list("extenders");
  if (list != nullptr) {
    for (const Tree& extender : list->elements) write_extender(extender, taken, script);
  }
  if (alnair && !taken.bind) write_ours(script);
  script.out.close();
}

}  // namespace stowage::client
