#include "agent/agent.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "agent/cgroup.h"
#include "agent/metrics.h"
#include "agent/resident_memory.h"
#include "base/version.h"
#include "net/address.h"

namespace stowage::agent {
namespace {

constexpr std::chrono::seconds kLookEvery{1};
constexpr std::chrono::milliseconds kFarewell{150};  // changes are sent within 50 ms
constexpr std::chrono::seconds kStarted{15};         // every part has run once by then

net::HttpResponse plain(int status, std::string text) {
  return {.status = status,
          .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
          .body = std::move(text)};
}

std::string name_of(const PodName& pod) { return pod.ns + '/' + pod.name; }

codec::ReportedPod reported(const PodDevices& pod) {
  codec::ReportedPod out{.ns = pod.pod.ns, .name = pod.pod.name};
  for (const ContainerDevices& container : pod.containers) {
    codec::ReportedContainer& to = out.containers.emplace_back();
    to.name = container.name;
    for (const DeviceGroup& group : container.devices) {
      to.devices.push_back({.resource = group.resource, .ids = group.ids});
    }
  }
  return out;
}

std::optional<std::int32_t> narrow(const std::optional<std::int64_t>& value) {
  if (!value) return std::nullopt;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(*value, 0, INT32_MAX));
}

}  // namespace

Agent::Agent(net::EventLoop& loop, AgentOptions options, base::Log& log)
    : loop_(loop),
      options_(std::move(options)),
      log_(log),
      snapshot_(std::make_shared<CardsSnapshot>()),
      timer_(loop),
      end_timer_(loop) {}

Agent::~Agent() = default;

Result<std::unique_ptr<Agent>> Agent::create(net::EventLoop& loop, AgentOptions options,
                                             std::unique_ptr<gpu::Source> source, base::Log& log) {
  std::unique_ptr<Agent> made(new Agent(loop, std::move(options), log));
  const AgentOptions& given = made->options_;
  if (given.cluster) {
    auto client = kube::ApiClient::create(loop, *given.cluster, {.in_flight_max = 4});
    if (!client) return fail(client.error().message);
    made->client_ = std::move(*client);
    if (given.write_annotation) {
      made->reporter_ = std::make_unique<Reporter>(
          *made->client_, ReporterOptions{.node = given.node, .seed = given.seed}, log);
    }
    made->node_pods_ = std::make_unique<NodePods>(*made->client_, given.node, given.seed, log);
  }
  if (given.uplink) made->uplink_ = std::make_unique<Uplink>(loop, *given.uplink, log);
  if (!given.podresources.empty()) {
    made->kubelet_ =
        std::make_unique<grpc::Client>(loop, grpc::ClientOptions{.socket = given.podresources});
    made->resources_ = std::make_unique<PodResources>(loop, *made->kubelet_,
                                                      PodResourcesOptions{.seed = given.seed});
    made->pods_ = std::make_unique<PodResourcesWatcher>(
        loop, *made->resources_, WatcherOptions{.seed = given.seed},
        PodResourcesWatcher::Deps{
            .on_changes = [self = made.get()](const PodChanges& changes) { self->take(changes); },
            .on_contact =
                [self = made.get()](const Contact& contact) {
                  if (contact.in_touch)
                    return self->log_.info("the kubelet lists pods and devices");
                  self->log_.warn("the kubelet does not list pods and devices",
                                  {{"why", contact.why}});
                }});
  }
  if (given.plugin) STOWAGE_TRY_VOID(made->create_plugin());
  made->sampler_ =
      std::make_unique<Sampler>(loop, std::move(source), given.sampler,
                                [self = made.get()](std::shared_ptr<const CardsSnapshot> snapshot) {
                                  self->take(std::move(snapshot));
                                });
  STOWAGE_TRY_VOID(made->listen());
  return made;
}

Status Agent::listen() {
  STOWAGE_TRY(address, net::parse_listen(options_.listen));
  net::HttpServerOptions http;
  http.address = host_ = address.host;
  http.port = address.port;
  http.body_bytes_max = std::size_t{64} << 10U;
  http.connections_max = 64;
  STOWAGE_TRY(server,
              net::HttpServer::listen(loop_, http,
                                      [this](const net::ServerRequest& request,
                                             const std::shared_ptr<net::Responder>& responder) {
                                        serve(request, responder);
                                      }));
  server_ = std::move(server);
  return {};
}

std::string Agent::address() const { return net::host_and_port(host_, server_->port()); }

void Agent::start() {
  started_ = loop_.now();
  log_.info(
      "starting",
      {{"version", std::string(base::kVersion)}, {"node", options_.node}, {"listen", address()}});
  sampler_->start();
  if (reporter_) reporter_->start();
  if (node_pods_) node_pods_->start();
  if (pods_) pods_->start();
  if (keys_) keys_->start();
  tell_plugin();
  if (plugin_) plugin_->start();
  if (uplink_) uplink_->start();
  look();
}

// ---- the device plugin

Status Agent::create_plugin() {
  if (!client_) return fail("the device plugin needs the API server");
  const auto look_soon = [this] {
    if (plugin_) plugin_->look_soon();
  };
  keys_ = std::make_unique<kube::PublicKeys>(*client_, options_.plugin->keys, log_, look_soon);
  node_pods_->on_updated(look_soon);
  plugin_view_ = std::make_unique<PluginView>(
      PluginView::Deps{.client = *client_,
                       .pods = *node_pods_,
                       .keys = *keys_,
                       .resources = resources_.get(),
                       .cards = [this] { return cards_for_plugin(); }});
  STOWAGE_TRY_ASSIGN(
      plugin_, plugin::DevicePlugin::create(loop_, options_.plugin->device_plugin, *plugin_view_,
                                            log_, [this] { tell_plugin(); }));
  return {};
}

plugin::NodeCards Agent::cards_for_plugin() const {
  plugin::NodeCards cards = node_cards(*snapshot_);
  if (hung()) {
    cards.known = false;
    cards.trouble = "the driver does not answer";
  }
  return cards;
}

void Agent::finish(std::function<void()> done) {
  ending_ = true;
  tell_plugin();
  const bool told = plugin_ && uplink_ && uplink_->snapshot().open;
  end_timer_.start(told ? kFarewell : net::Duration{0}, std::move(done));
}

void Agent::tell_plugin() {
  if (!uplink_ || !plugin_) return;
  codec::ReportedPlugin report{.registered = plugin_->registered() && !ending_, .resources = {}};
  for (const std::string_view resource : plugin::kResources) {
    report.resources.emplace_back(resource);
  }
  uplink_->set_plugin(std::move(report));
}

// ---- cards and their load

void Agent::take(std::shared_ptr<const CardsSnapshot> snapshot) {
  for (const std::string& words : snapshot->news) log_.warn(words);
  if (!snapshot->trouble.empty() && snapshot->trouble != snapshot_->trouble) {
    log_.warn("the cards cannot be read", {{"why", snapshot->trouble}});
  } else if (snapshot->known && !snapshot_->known) {
    log_.info("the cards can be read", {{"cards", fmt::format("{}", snapshot->list.cards.size())},
                                        {"driver", snapshot->inventory.driver_version}});
  }
  snapshot_ = std::move(snapshot);
  hung_told_ = false;
  if (reporter_ && snapshot_->known) {
    reporter_->set_cards(snapshot_->list.cards, snapshot_->list.links);
  }
  note_busy(*snapshot_);
  if (uplink_) tell_uplink(*snapshot_);
  if (plugin_) plugin_->look_soon();
}

// Cards without load data (parts of a divided card) do not count as idle.
void Agent::note_busy(const CardsSnapshot& snapshot) {
  for (const gpu::CardSample& sample : snapshot.samples) {
    if (!sample.utilisation_permille) continue;
    const auto [at, fresh] = last_busy_.try_emplace(sample.id, loop_.now());
    if (*sample.utilisation_permille > 0) at->second = loop_.now();
  }
  std::erase_if(last_busy_, [&](const auto& entry) {
    return std::none_of(snapshot.list.cards.begin(), snapshot.list.cards.end(),
                        [&](const core::Card& card) { return card.id == entry.first; });
  });
}

void Agent::tell_uplink(const CardsSnapshot& snapshot) {
  uplink_->set_alive(snapshot.known);
  std::vector<codec::ReportedCard> cards;
  std::vector<codec::ReportedLoad> load;
  for (const core::Card& card : snapshot.list.cards) {
    const auto info = std::find_if(snapshot.inventory.cards.begin(), snapshot.inventory.cards.end(),
                                   [&](const gpu::CardInfo& each) { return each.id == card.id; });
    const auto health = snapshot.health.find(card.id);
    cards.push_back(
        {.id = card.id,
         .index = card.index,
         .model = card.model,
         .brand = info == snapshot.inventory.cards.end() ? "" : info->brand,
         .bus_id = info == snapshot.inventory.cards.end() ? "" : info->bus_id,
         .memory_mib = card.memory_mib,
         .healthy = card.healthy,
         .unhealthy_reason = health == snapshot.health.end() ? "" : health->second.reason});
    const auto sample =
        std::find_if(snapshot.samples.begin(), snapshot.samples.end(),
                     [&](const gpu::CardSample& each) { return each.id == card.id; });
    if (sample == snapshot.samples.end()) continue;
    load.push_back({.card = card.index,
                    .busy_permille = sample->utilisation_permille,
                    .memory_mib = narrow(sample->memory_used_mib),
                    .power_milliwatt = narrow(sample->power_mw),
                    .celsius = sample->temperature_c});
  }
  uplink_->set_cards(std::move(cards));
  uplink_->set_load(load);
}

void Agent::take(const PodChanges& changes) {
  if (!uplink_) return;
  std::vector<codec::ReportedPod> now;
  if (!std::exchange(pods_told_, true)) {
    for (const PodDevices& pod : pods_->pods()) now.push_back(reported(pod));
    return uplink_->set_pods(std::move(now));
  }
  for (const PodDevices& pod : changes.changed) now.push_back(reported(pod));
  std::vector<std::string> gone;
  for (const PodName& pod : changes.gone) gone.push_back(name_of(pod));
  uplink_->change_pods(std::move(now), gone);
}

// ---- a driver that does not answer

bool Agent::hung() const {
  const net::Moment since = std::max(started_, sampler_->last());
  return loop_.now() - since > options_.hung_after;
}

void Agent::look() {
  timer_.start(kLookEvery, [this] { look(); });
  if (!trimmed_ && loop_.now() - started_ > kStarted) {
    trimmed_ = true;
    (void)drop_file_pages();
  }
  const bool unreadable = hung() || (!snapshot_->known && !snapshot_->trouble.empty() &&
                                     loop_.now() - started_ > options_.hung_after);
  if (!unreadable) return;
  if (uplink_) uplink_->set_alive(false);
  if (reporter_) reporter_->set_unreadable();
  if (hung() && !std::exchange(hung_told_, true)) {
    log_.error("the driver does not answer: its cards take no new pods");
  }
}

std::string Agent::trouble() const { return hung() ? "the driver does not answer" : ""; }

// ---- the status server

void Agent::serve(const net::ServerRequest& request,
                  const std::shared_ptr<net::Responder>& responder) {
  const std::string path = request.http.target.substr(0, request.http.target.find('?'));
  if (request.http.method != "GET" && request.http.method != "HEAD") {
    return responder->send(plain(405, "only GET is allowed here\n"));
  }
  if (path == net::kHealthzPath || path == net::kLivezPath) {
    const std::string wrong = trouble();
    return responder->send(wrong.empty() ? plain(200, "ok\n") : plain(503, wrong + "\n"));
  }
  if (path == net::kReadyzPath) {
    const bool ready = snapshot_->known;
    return responder->send(
        ready ? plain(200, "ok\n")
              : plain(503, snapshot_->trouble.empty() ? "starting\n" : snapshot_->trouble + "\n"));
  }
  if (path == net::kMetricsPath) return responder->send(plain(200, metrics()));
  if (path == net::kVersionPath)
    return responder->send(plain(200, std::string(base::kVersion) + "\n"));
  responder->send(plain(404, fmt::format("not found; there are {}\n", fmt::join(kPaths, " "))));
}

std::string Agent::metrics() const {
  static const std::vector<PodDevices> kNobody;
  const net::Moment last = std::max(started_, sampler_->last());
  std::map<std::string, double> idle;
  for (const auto& [card, busy] : last_busy_) {
    idle[card] = std::chrono::duration<double>(loop_.now() - busy).count();
  }
  const auto owner = [this](std::uint32_t pid) -> const ContainerName* {
    const auto found = cgroup_owner(pid);
    return found && node_pods_ ? node_pods_->container(found->container) : nullptr;
  };
  const auto plugin = plugin_ ? std::optional(plugin_->snapshot()) : std::nullopt;
  const Uplink::Snapshot uplink = uplink_ ? uplink_->snapshot() : Uplink::Snapshot{};
  return render_metrics(
      {.cards = *snapshot_,
       .pods = pods_ ? pods_->pods() : kNobody,
       .given = node_pods_ ? node_pods_->given(snapshot_->list.cards) : Given{},
       .usage = usage_of(snapshot_->samples, owner),
       .idle_seconds = std::move(idle),
       .sampled_seconds_ago = std::chrono::duration<double>(loop_.now() - last).count(),
       .reporter = reporter_ ? &reporter_->snapshot() : nullptr,
       .uplink = uplink_ ? &uplink : nullptr,
       .kubelet = pods_ ? &pods_->contact() : nullptr,
       .plugin = plugin ? &*plugin : nullptr});
}

}  // namespace stowage::agent
