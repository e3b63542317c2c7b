// The configuration of `stowage controller` that matches a migrated one, and which programs must
// stop before both are used.
#include <algorithm>

#include "client/migrate_parts.h"
#include "net/address.h"
#include "net/http.h"

namespace stowage::client {
namespace {

struct Old {
  std::string_view preset;
  std::string_view what;
};
// Programs that would continue to choose cards without regard to our reservations.
constexpr Old kOld[] = {
    {"elastic-gpu-scheduler",
     "the Deployment elastic-gpu-scheduler; elastic-gpu-agent stays on the nodes"},
    {"gpu-admission",
     "gpu-admission (a systemd unit, or a pod beside kube-scheduler); gpu-manager stays on the "
     "nodes"},
    {"vgpu-manager",
     "the scheduler of vgpu-manager (extender and its kube-scheduler); its device plugin stays on "
     "the nodes"},
    {"nvidia-gpu-scheduler",
     "gpuserver and gpuserver-ds of nvidia-gpu-scheduler; the device plugin of NVIDIA stays"},
    {"alnair",
     "the scheduler of Alnair (a static pod vgpu-scheduler); its device plugin stays on the nodes"},
};

}  // namespace

void serve(Script& script, Served served) {
  const auto same = [&](const Served& other) { return other.preset == served.preset; };
  if (std::any_of(script.served.begin(), script.served.end(), same)) return;
  script.served.push_back(std::move(served));
}

std::string listen_for(std::string_view url, std::string_view by_default) {
  const auto parsed = net::parse_url(url);
  const auto usual = net::parse_listen(std::string(by_default));
  if (!parsed || !usual) return std::string(by_default);
  const bool here = net::is_loopback(parsed->host);
  return net::host_and_port(here ? "127.0.0.1" : usual->host, parsed->port);
}

std::string controller_config(const Script& script) {
  YamlOut out;
  out.field("apiVersion", "stowage.dev/v1alpha1").field("kind", "ControllerConfig");
  out.comment("A name belongs to this controller or to a kube-scheduler, never to both.");
  out.open_list("profiles");
  out.item().field("name", "stowage").close();
  for (const std::string& name : script.profiles) out.item().field("name", name).close();
  out.close();
  out.open_list("extenders");
  for (const Served& served : script.served) {
    out.item().field("preset", served.preset).field("listen", served.listen);
    if (served.ignorable) {
      out.comment(
          "kube-scheduler ignores errors of an ignorable extender: pods over quota are therefore "
          "refused like other pods, and autoscalers may add nodes for them.");
      out.raw("errorIfNoNodeHelps", "false");
    }
    if (served.tls) {
      out.comment("kube-scheduler connects by HTTPS: set the files of the certificate.");
      out.open("tls").field("certFile", "/etc/stowage/tls.crt");
      out.field("keyFile", "/etc/stowage/tls.key").close();
    }
    out.close();
  }
  out.close();
  for (const Served& served : script.served) {
    if (!served.behind_api) continue;
    out.comment("The API server forwards requests to it (docs/metrics-api.md).");
    out.open("metricsApi").raw("enabled", "true").field("extender", served.preset).close();
  }
  return out.take();
}

Comments stop_first(const Script& script) {
  Comments list;
  for (const Served& served : script.served) {
    for (const Old& old : kOld) {
      if (old.preset == served.preset) list.emplace_back(old.what);
    }
  }
  return list;
}

}  // namespace stowage::client
