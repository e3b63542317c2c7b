#include "plugin/device_plugin.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/rng.h"

namespace stowage::plugin {
namespace {

constexpr std::string_view kCdiAnnotationPrefix = "cdi.k8s.io/stowage_";
constexpr std::chrono::milliseconds kReplyMargin{500};

// Different for each start of the process, so that names are never used twice, even if the state
// was lost.
std::string start_id_of(std::uint64_t seed) {
  return fmt::format("{:012x}", base::Rng(seed).next() >> 16U);
}

std::string to_outcome(PreStart::Outcome outcome) {
  switch (outcome) {
    case PreStart::Outcome::prepared: return "prepared";
    case PreStart::Outcome::refused: return "refused";
    case PreStart::Outcome::timed_out: return "timed_out";
  }
  return {};
}

double seconds_since(const net::EventLoop& loop, net::Moment began) {
  return std::chrono::duration<double>(loop.now() - began).count();
}

}  // namespace

// ---- life

Result<std::unique_ptr<DevicePlugin>> DevicePlugin::create(net::EventLoop& loop,
                                                           DevicePluginOptions options,
                                                           NodeView& view, base::Log& log,
                                                           std::function<void()> changed) {
  STOWAGE_TRY(records, RecordStore::open(options.state_folder));
  if (records.unreadable_lines() > 0) {
    log.warn("lines of the records of containers cannot be read",
             {{"folder", options.state_folder},
              {"lines", fmt::format("{}", records.unreadable_lines())}});
  }
  return std::unique_ptr<DevicePlugin>(new DevicePlugin(
      loop, std::move(options), view, std::move(records), log, std::move(changed)));
}

DevicePlugin::DevicePlugin(net::EventLoop& loop, DevicePluginOptions options, NodeView& view,
                           RecordStore records, base::Log& log, std::function<void()> changed)
    : loop_(loop),
      options_(std::move(options)),
      view_(view),
      log_(log),
      changed_(std::move(changed)),
      start_id_(start_id_of(options_.seed)),
      records_(std::move(records)),
      checkpoint_(options_.kubelet_folder),
      injection_(options_.injection),
      deps_{.loop = loop,
            .view = view,
            .checkpoint = checkpoint_,
            .records = records_,
            .injection = injection_,
            .log = log,
            .node = options_.node,
            .mps_root = options_.mps_root,
            .unix_seconds = options_.unix_seconds,
            .isolations = {}},
      socket_(loop, options_.kubelet_folder,
              [this](RegistrationState::Socket socket) {
                for (const auto& endpoint : endpoints_) endpoint->on_socket(socket);
              }),
      sweep_timer_(loop) {
  for (const std::string_view name : kResources) {
    const std::string resource(name);
    endpoints_.push_back(std::make_unique<Endpoint>(
        loop,
        EndpointOptions{.folder = options_.kubelet_folder,
                        .resource = resource,
                        .start_id = start_id_,
                        .ids = device_ids(resource, options_.devices),
                        .registration = options_.registration},
        Endpoint::Deps{.allocate =
                           [this, resource](const grpc::ServerRequest& request,
                                            const std::shared_ptr<grpc::Responder>& responder) {
                             allocate(resource, request, *responder);
                           },
                       .pre_start =
                           [this, resource](const grpc::ServerRequest& request,
                                            const std::shared_ptr<grpc::Responder>& responder) {
                             pre_start(resource, request, responder);
                           },
                       .changed =
                           [this] {
                             if (changed_) changed_();
                           }},
        log));
  }
}

DevicePlugin::~DevicePlugin() = default;

void DevicePlugin::start() {
  remove_old_sockets(options_.kubelet_folder, start_id_);
  socket_.start();
  sweep_timer_.start(options_.sweep_every, [this] { sweep(); });
}

void DevicePlugin::look_soon() {
  for (const auto& [number, call] : calls_) call.work->look_soon();
}

bool DevicePlugin::registered() const { return trouble().empty(); }

std::string DevicePlugin::trouble() const {
  for (const auto& endpoint : endpoints_) {
    if (!endpoint->registered()) return endpoint->resource() + ": " + endpoint->why();
  }
  return records_.trouble();
}

DevicePlugin::Snapshot DevicePlugin::snapshot() const {
  Snapshot snapshot = counts_;
  for (const auto& endpoint : endpoints_) {
    snapshot.resources.push_back({.name = endpoint->resource(),
                                  .registered = endpoint->registered(),
                                  .why = endpoint->why(),
                                  .attempts = endpoint->attempts()});
  }
  snapshot.pre_starts_waiting = calls_.size();
  snapshot.records = records_.all().size();
  snapshot.trouble = trouble();
  snapshot.isolations = deps_.isolations;
  return snapshot;
}

// ---- Allocate

Status DevicePlugin::check_ids(const std::string& resource, const Ids& ids) const {
  for (const std::string& id : ids) {
    if (!is_device_id(resource, options_.devices, id)) {
      return fail(fmt::format("{} has no device {}", resource, id));
    }
  }
  return {};
}

Result<Allocation> DevicePlugin::allocate_one(const std::string& resource, Ids ids) {
  STOWAGE_TRY_VOID(check_ids(resource, ids));
  std::string name;
  do {
    name = fmt::format("{}-{}", start_id_, ++last_name_);
  } while (records_.find(name) != nullptr || injection_.folder().read(name));
  Record record{.name = name,
                .resource = resource,
                .ids = std::move(ids),
                .allocated_unix = options_.unix_seconds(),
                .given = {}};
  STOWAGE_TRY_VOID(records_.allocate(std::move(record)));
  const std::string qualified = qualified_name(name);
  return Allocation{.cdi_devices = {qualified},
                    .annotations = {{std::string(kCdiAnnotationPrefix) + name, qualified}}};
}

Result<std::string> DevicePlugin::allocate(const std::string& resource,
                                           const std::string& message) {
  STOWAGE_TRY(containers, read_allocate_request(message));
  std::vector<Allocation> allocations;
  for (Ids& ids : containers) {
    STOWAGE_TRY(allocation, allocate_one(resource, std::move(ids)));
    allocations.push_back(std::move(allocation));
  }
  counts_.allocated += allocations.size();
  return allocate_response(allocations);
}

void DevicePlugin::allocate(const std::string& resource, const grpc::ServerRequest& request,
                            grpc::Responder& responder) {
  const net::Moment began = loop_.now();
  auto response = allocate(resource, request.message);
  counts_.allocate_seconds_max =
      std::max(counts_.allocate_seconds_max, seconds_since(loop_, began));
  if (response) {
    responder.send(*std::move(response));
  } else {
    ++counts_.allocations_failed;
    log_.error("devices cannot be allocated",
               {{"resource", resource}, {"why", response.error().message}});
    responder.end({.code = grpc::Code::internal, .message = response.error().message});
  }
  note_records();
}

// registered() depends on whether records can be written.
void DevicePlugin::note_records() {
  const bool good = records_.trouble().empty();
  if (std::exchange(records_good_, good) != good && changed_) changed_();
}

// ---- PreStartContainer

void DevicePlugin::pre_start(const std::string& resource, const grpc::ServerRequest& request,
                             const std::shared_ptr<grpc::Responder>& responder) {
  auto ids = read_pre_start_request(request.message);
  if (!ids) {
    ++counts_.pre_starts["invalid"];
    return responder->end({.code = grpc::Code::invalid_argument, .message = ids.error().message});
  }
  const std::uint64_t number = ++last_call_;
  PreStartOptions options = options_.pre_start;
  if (request.due) {
    const net::Duration left = *request.due - loop_.now() - kReplyMargin;
    options.patience = std::clamp(left, net::Duration{1}, options.patience);
  }
  Call& call = calls_[number];
  call.began = loop_.now();
  call.responder = responder;
  call.work = std::make_unique<PreStart>(
      deps_, options, PreStart::Ask{.resource = resource, .ids = *std::move(ids)},
      [this, number](const PreStart::End& end) { pre_start_done(number, end); });
  responder->on_closed([this, number] {
    if (calls_.erase(number) > 0) ++counts_.pre_starts["cancelled"];
  });
  call.work->start();
}

void DevicePlugin::pre_start_done(std::uint64_t number, const PreStart::End& end) {
  const auto found = calls_.find(number);
  if (found == calls_.end()) return;
  const auto call = calls_.extract(found);
  const double seconds = seconds_since(loop_, call.mapped().began);
  const auto bucket = std::lower_bound(kPreStartBounds.begin(), kPreStartBounds.end(), seconds);
  ++counts_.pre_start_counts[static_cast<std::size_t>(bucket - kPreStartBounds.begin())];
  counts_.pre_start_seconds += seconds;
  ++counts_.pre_starts[to_outcome(end.outcome)];
  if (end.outcome == PreStart::Outcome::prepared) return call.mapped().responder->send({});
  log_.warn("container does not get its cards", {{"why", end.why}});
  const bool late = end.outcome == PreStart::Outcome::timed_out;
  call.mapped().responder->end(
      {.code = late ? grpc::Code::deadline_exceeded : grpc::Code::failed_precondition,
       .message = end.why});
}

// ---- the sweep

void DevicePlugin::sweep() {
  sweep_timer_.start(options_.sweep_every, [this] { sweep(); });
  records_.recover();
  note_records();
  if (!view_.pods_trouble().empty()) return;  // it is not known which pods are gone
  if (!view_.lists_holders()) return sweep(nullptr);
  view_.list_holders(
      [this, alive = std::weak_ptr<bool>(alive_)](const Result<std::vector<Holder>>& holders) {
        if (!alive.expired() && holders) sweep(&*holders);
      });
}

bool DevicePlugin::in_use(const Record& record, const Checkpoint& checkpoint,
                          const std::vector<Holder>* holders) const {
  if (!record.given) {
    return options_.unix_seconds() - record.allocated_unix < options_.unused_after.count();
  }
  const GivenCards& given = *record.given;
  if (checkpoint.pods.count(given.pod_uid) > 0 || view_.pod(given.pod_uid) != nullptr) return true;
  return holders != nullptr &&
         std::any_of(holders->begin(), holders->end(), [&](const Holder& holder) {
           return holder.ns == given.ns && holder.pod == given.pod &&
                  holder.container == given.container && holder.ids == record.ids;
         });
}

// Without the checkpoint nothing is removed.
void DevicePlugin::sweep(const std::vector<Holder>* holders) {
  const auto checkpoint = checkpoint_.read();
  const std::string why = checkpoint ? std::string() : checkpoint.error().message;
  if (std::exchange(sweep_trouble_, why) != why && !why.empty()) {
    log_.warn("specifications of ended containers are not removed", {{"why", why}});
  }
  if (!checkpoint) return;
  std::set<std::string, std::less<>> named;
  for (const CheckpointEntry& entry : (*checkpoint)->entries) {
    for (const std::string& device : entry.cdi_devices) named.emplace(own_name(device));
  }
  std::vector<std::string> gone;
  for (const auto& [name, record] : records_.all()) {
    if (named.count(name) == 0 && !in_use(record, **checkpoint, holders)) gone.push_back(name);
  }
  for (const std::string& name : gone) {
    Status done = injection_.folder().remove(name);
    if (done) done = records_.drop(name);
    if (!done) return log_.warn("sweep", {{"why", done.error().message}});
    ++counts_.swept;
  }
  // Left by a crash between the two steps, or by a lost state.
  for (const std::string& name : injection_.folder().devices()) {
    if (named.count(name) > 0 || records_.find(name) != nullptr) continue;
    if (const Status done = injection_.folder().remove(name); !done) {
      return log_.warn("sweep", {{"why", done.error().message}});
    }
  }
}

}  // namespace stowage::plugin
