// Watches a kubelet's pods and devices and prints changes, one JSON object per line.
//
//   podresources_probe SOCKET EVERY_MS DEADLINE_MS
//
// SIGUSR1 makes it ask at once, SIGUSR2 makes it print the known state, SIGTERM ends it.
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <string_view>

#include "agent/podresources_watcher.h"
#include "base/json_writer.h"
#include "grpc/client.h"
#include "net/event_loop.h"

namespace {

using namespace stowage;
using base::JsonWriter;

void put_line(JsonWriter& json) {
  const std::string text = json.take();
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

void write_pod(JsonWriter& json, const agent::PodDevices& pod) {
  json.begin_object().key("pod").value(pod.pod.ns + "/" + pod.pod.name);
  json.key("containers").begin_object();
  for (const agent::ContainerDevices& container : pod.containers) {
    json.key(container.name).begin_array();
    for (const agent::DeviceGroup& group : container.devices) {
      json.begin_object().key("resource").value(group.resource).key("ids").begin_array();
      for (const std::string& id : group.ids) json.value(id);
      json.end_array().key("numa").begin_array();
      for (const std::int64_t node : group.numa) json.value(node);
      json.end_array().end_object();
    }
    json.end_array();
  }
  json.end_object().end_object();
}

void write_pods(JsonWriter& json, const std::vector<agent::PodDevices>& pods) {
  json.begin_array();
  for (const agent::PodDevices& pod : pods) write_pod(json, pod);
  json.end_array();
}

void print_changes(const agent::PodChanges& changes) {
  JsonWriter json(JsonWriter::Style::compact);
  json.begin_object().key("changed");
  write_pods(json, changes.changed);
  json.key("gone").begin_array();
  for (const agent::PodName& pod : changes.gone) json.value(pod.ns + "/" + pod.name);
  json.end_array().end_object();
  put_line(json);
}

void print_contact(const agent::Contact& contact) {
  JsonWriter json(JsonWriter::Style::compact);
  json.begin_object().key("inTouch").boolean(contact.in_touch).key("why").value(contact.why);
  json.end_object();
  put_line(json);
}

std::chrono::milliseconds number(std::string_view text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return std::chrono::milliseconds{value};
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) {
    std::fprintf(stderr, "usage: podresources_probe SOCKET EVERY_MS DEADLINE_MS\n");
    return 2;
  }
  net::EventLoop loop;
  grpc::Client client(loop, {.socket = arguments[1]});
  agent::PodResources resources(loop, client, {.deadline = number(arguments[3])});
  agent::PodResourcesWatcher watcher(loop, resources, {.every = number(arguments[2])},
                                     {.on_changes = print_changes, .on_contact = print_contact});
  loop.on_signals({SIGUSR1}, [&](int) { watcher.refresh_soon(); });
  loop.on_signals({SIGUSR2}, [&](int) {
    JsonWriter json(JsonWriter::Style::compact);
    json.begin_object().key("version").value(resources.version()).key("pods");
    write_pods(json, watcher.pods());
    json.key("throttled").value(resources.counters().throttled);
    json.key("connections").value(client.connections()).end_object();
    put_line(json);
  });
  loop.on_signals({SIGTERM, SIGINT}, [&](int) { loop.stop(); });
  watcher.start();
  loop.run();
  return 0;
}
