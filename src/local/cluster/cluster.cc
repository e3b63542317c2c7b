#include "local/cluster/cluster.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "local/cluster/kubeconfig_file.h"

namespace stowage::local {

std::function<WallTime()> steady_wall_clock() {
  using std::chrono::microseconds;
  const auto wall = std::chrono::time_point_cast<microseconds>(std::chrono::system_clock::now());
  const auto steady = std::chrono::steady_clock::now();
  return [wall, steady] {
    const auto passed = std::chrono::steady_clock::now() - steady;
    return wall + std::chrono::duration_cast<microseconds>(passed);
  };
}

namespace {

// A client of an earlier cluster must not mistake this one for it: uids differ, and the versions of
// the earlier cluster are too old here.
StoreOptions store_options(std::uint64_t seed) {
  StoreOptions options;
  options.now = steady_wall_clock();
  const auto now = static_cast<std::uint64_t>(options.now().time_since_epoch().count());
  options.seed = seed == 0 ? now : seed;
  options.first_version = now;  // far fewer than a million writes a second
  return options;
}

// This cluster is new and has no leader. With this lease, a controller need not wait as it must if
// the lease is missing.
json::object free_lease() {
  return {{"metadata", {{"name", "stowage"}}},
          {"spec",
           {{"holderIdentity", ""},
            {"leaseDurationSeconds", 1},
            {"renewTime", "1970-01-01T00:00:00.000000Z"},
            {"leaseTransitions", 0}}}};
}

}  // namespace

Cluster::Cluster(net::EventLoop& loop, ClusterOptions options)
    : options_(std::move(options)),
      api_(store_options(options_.seed)),
      queue_([this] { return api_.store().now(); }),
      timer_(loop),
      server_(loop, api_, {.port = options_.port}) {
  queue_.on_sooner([this] { arm(); });
}

Cluster::~Cluster() {
  if (wrote_kubeconfig_) remove_kubeconfig(options_.kubeconfig);
}

Result<std::unique_ptr<Cluster>> Cluster::start(net::EventLoop& loop, ClusterOptions options) {
  STOWAGE_TRY_VOID(count_nodes(options.nodes));
  std::unique_ptr<Cluster> cluster(new Cluster(loop, std::move(options)));
  STOWAGE_TRY_VOID(cluster->make_all());
  return cluster;
}

Status Cluster::make_all() {
  STOWAGE_TRY_VOID(server_.listen());
  for (json::object& node : make_nodes(options_.nodes, queue_.now())) {
    const auto made = api_.create(Kind::node, "", std::move(node));
    if (!made) return fail("cannot make a node: " + made.error().message);
  }
  const auto lease = api_.create(Kind::lease, "kube-system", free_lease());
  if (!lease) return fail("cannot make the lease: " + lease.error().message);
  kubelets_ = std::make_unique<LocalKubelets>(api_, queue_, options_.kubelets);
  controllers_ = std::make_unique<Controllers>(api_, queue_, options_.lifecycle);
  if (!options_.kubeconfig.empty()) {
    STOWAGE_TRY_VOID(write_kubeconfig(options_.kubeconfig, url()));
    wrote_kubeconfig_ = true;
  }
  return {};
}

void Cluster::arm() {
  const auto next = queue_.next();
  if (!next) return;
  const auto delay = std::max<net::Duration>(*next - queue_.now(), net::Duration::zero());
  timer_.start(delay, [this] { run(); });
}

void Cluster::run() {
  queue_.run();
  arm();
}

}  // namespace stowage::local
