#include "plugin/device_plugin.h"

#include <csignal>
#include <sys/resource.h>

#include "mps/card_state.h"
#include "plugin/testing/plugin_fixture.h"

namespace stowage::plugin {
namespace {

class DevicePluginTest : public testing::PluginFixture {};

constexpr const char* kInit = "stowage.dev/init-attachment";

TEST_F(DevicePluginTest, AContainerGetsTheCardsThatWereDecided) {
  start_both();
  EXPECT_EQ(kubelet_.devices("stowage.dev/attachment").size(), 16U);
  EXPECT_EQ(kubelet_.devices(kInit).front(), "init-attachment-0001");
  node_.bind("p", {{"main", {"GPU-5", "GPU-2"}}});
  ASSERT_EQ(allocate(container("p")), "");
  EXPECT_EQ(specs(), 0U);  // no card before the pod is known
  const auto started = start_container(container("p"));
  EXPECT_EQ(started.error, "");
  EXPECT_EQ(cards_of(started), "GPU-5,GPU-2");
  const auto snapshot = plugin_->snapshot();
  EXPECT_EQ(snapshot.allocated, 1U);
  EXPECT_EQ(snapshot.pre_starts.at("prepared"), 1U);
  EXPECT_EQ(snapshot.records, 1U);
  EXPECT_EQ(snapshot.trouble, "");
}

// Nothing but the pod's own decision says which card it gets.
TEST_F(DevicePluginTest, EqualPodsInAnyOrderGetTheirOwnCards) {
  start_both();
  for (int i = 0; i < 8; ++i) {
    node_.bind("p" + std::to_string(i), {{"main", {"GPU-" + std::to_string(7 - i)}}});
  }
  for (const int i : {3, 1, 7, 0, 6, 2, 5, 4}) {
    ASSERT_EQ(allocate(container("p" + std::to_string(i))), "");
  }
  for (const int i : {4, 0, 7, 2, 5, 1, 6, 3}) {
    EXPECT_EQ(run(container("p" + std::to_string(i))), "GPU-" + std::to_string(7 - i));
  }
}

TEST_F(DevicePluginTest, InitContainersSidecarsAndOthersOfAPodGetTheirOwn) {
  start_both();
  node_.bind("p", {{"first", {"GPU-0"}},
                   {"second", {"GPU-1"}},
                   {"sidecar", {"GPU-2"}},
                   {"a", {"GPU-3"}},
                   {"b", {"GPU-4", "GPU-5"}}});
  const auto first = container("p", "first", kInit);
  const auto second = container("p", "second", kInit);
  ASSERT_EQ(allocate(first, 1), "");
  ASSERT_EQ(allocate(second, 2), "");  // one device is that of the first
  ASSERT_EQ(allocate(container("p", "sidecar")), "");
  ASSERT_EQ(allocate(container("p", "a")), "");
  ASSERT_EQ(allocate(container("p", "b")), "");
  EXPECT_EQ(run(first), "GPU-0");
  EXPECT_EQ(run(second), "GPU-1");
  EXPECT_EQ(run(container("p", "sidecar")), "GPU-2");
  EXPECT_EQ(run(container("p", "a")), "GPU-3");
  EXPECT_EQ(run(container("p", "b")), "GPU-4,GPU-5");
}

// Without a resource of its own, an init container's devices go to a later container: one set of
// devices, two names.
TEST_F(DevicePluginTest, EqualDevicesOfTwoContainersOfAPodAreToldApart) {
  start_both();
  node_.bind("p", {{"init", {"GPU-1"}}, {"main", {"GPU-6"}}});
  auto init = container("p", "init");
  init.init = true;
  ASSERT_EQ(allocate(init), "");
  ASSERT_EQ(allocate(container("p")), "");
  ASSERT_EQ(kubelet_.ids_of(init), kubelet_.ids_of(container("p")));
  EXPECT_EQ(run(init), "GPU-1");
  EXPECT_EQ(run(container("p")), "GPU-6");
  EXPECT_EQ(run(init), "GPU-1");
}

TEST_F(DevicePluginTest, TwoResourcesInOneContainerGiveTheSameCards) {
  start_both();
  node_.bind("p", {{"main", {"GPU-3"}}});
  ASSERT_EQ(allocate(container("p")), "");
  ASSERT_EQ(allocate(container("p", "main", kInit)), "");
  EXPECT_EQ(run(container("p", "main", kInit)), "GPU-3");
  EXPECT_EQ(run(container("p")), "GPU-3");
}

TEST_F(DevicePluginTest, ManyContainersStartAtOnce) {
  options_.devices = 128;
  options_.pre_start.patience = std::chrono::seconds{20};
  start_both();
  std::size_t allocated = 0;
  std::size_t right = 0;
  for (int i = 0; i < 100; ++i) {
    const std::string name = "p" + std::to_string(i);
    node_.bind(name, {{"main", {"GPU-" + std::to_string(i % 8)}}});
    ASSERT_EQ(allocate(container(name)), "");
    ++allocated;
  }
  const int lists_before = node_.lists_;
  for (int i = 0; i < 100; ++i) {
    kubelet_.pre_start(container("p" + std::to_string(i)), [&, i](const Started& started) {
      if (cards_of(started) == "GPU-" + std::to_string(i % 8)) ++right;
    });
  }
  EXPECT_TRUE(until([&] { return right == allocated; }));
  EXPECT_LE(node_.lists_ - lists_before, 100);
}

// ---- limits

TEST_F(DevicePluginTest, AShareIsLimitedByMps) {
  options_.mps_root = folder_.path("mps");
  start_both();
  node_.bind("p", {{"main", {"GPU-3"}}});
  ASSERT_EQ(allocate(container("p")), "");
  EXPECT_NE(run(container("p")).find("card GPU-3 has no MPS daemon"), std::string::npos);
  EXPECT_EQ(specs(), 0U) << "it would run without a limit";

  std::filesystem::create_directories(folder_.path("mps") + "/GPU-3");
  std::ofstream(folder_.path("mps") + "/GPU-3/state") << mps::to_json(
      {.running = true, .exclusive = false, .error = "", .written_unix = now_unix_});
  const Started started = start_container(container("p"));
  EXPECT_EQ(started.error, "");
  const std::string spec = spec_of(started);
  for (const char* part : {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50", "MEM_LIMIT=0=1000M",
                           "CUDA_MPS_PIPE_DIRECTORY=/run/stowage/mps", "/mps/GPU-3/pipe"}) {
    EXPECT_NE(spec.find(part), std::string::npos) << part << " in " << spec;
  }
  EXPECT_EQ(plugin_->snapshot().isolations,
            (std::map<Isolation, std::uint64_t>{{Isolation::mps_open, 1}}));

  plugin_.reset();
  start_plugin();
  ASSERT_TRUE(until([&] { return registered(); }));
  node_.pods_.clear();
  EXPECT_EQ(spec_of(start_container(container("p"))), spec) << "limits outlive the agent";
}

TEST_F(DevicePluginTest, WithoutMpsSharesAreNotLimitedAndThatIsSaid) {
  start_both();
  node_.bind("p", {{"main", {"GPU-3"}}});
  ASSERT_EQ(allocate(container("p")), "");
  EXPECT_EQ(run(container("p")), "GPU-3");
  EXPECT_NE(logged_.find("isolation=none"), std::string::npos);
}

// No pods come to a node that is not registered, so nothing but the plugin itself can find out that
// the disk has room again.
TEST_F(DevicePluginTest, ANodeWhoseDiskWasFullComesBackByItself) {
  options_.sweep_every = std::chrono::milliseconds{20};
  start_both();
  node_.bind("p", {{"main", {"GPU-3"}}});
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const rlimit full{.rlim_cur = 4, .rlim_max = old.rlim_max};
  kubelet_.allocate(container("p"), 1, [](const std::string& /*error*/) {});
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
  const bool closed = until([&] { return !plugin_->registered(); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  std::signal(SIGXFSZ, before);
  EXPECT_TRUE(closed);
  const int told = changes_;
  EXPECT_TRUE(until([&] { return plugin_->registered(); })) << plugin_->trouble();
  EXPECT_GT(changes_, told);
}

// ---- what must not give a card

TEST_F(DevicePluginTest, WithoutADecisionTheContainerDoesNotStart) {
  start_both();
  dialect::PodObject pod;
  pod.ns = "ml";
  pod.name = "p";
  pod.uid = "uid-p";
  pod.node = "n1";
  node_.add(pod);
  ASSERT_EQ(allocate(container("p")), "");
  const auto started = start_container(container("p"));
  EXPECT_EQ(started.error,
            "FAILED_PRECONDITION: Stowage chose no cards for pod ml/p: it has no annotation "
            "stowage.dev/gpus. Its scheduler must be a profile of Stowage, or one that asks "
            "Stowage's extender");
  EXPECT_EQ(specs(), 0U);
  EXPECT_EQ(plugin_->snapshot().pre_starts.at("refused"), 1U);
}

TEST_F(DevicePluginTest, AnEditedDecisionGivesNothingAndChangesNothing) {
  start_both();
  node_.bind("p", {{"main", {"GPU-1"}}});
  node_.bind("q", {{"main", {"GPU-2"}}});
  const std::string key(dialect::kGpusAnnotation);
  const std::string edited = testing::gpus_text("n1", {{"main", {"GPU-7"}}});
  ASSERT_EQ(allocate(container("p")), "");
  ASSERT_EQ(allocate(container("q")), "");
  EXPECT_EQ(run(container("p")), "GPU-1");
  node_.pods_.at("uid-p").annotations[key] = edited;
  node_.pods_.at("uid-q").annotations[key] = edited;
  EXPECT_EQ(run(container("p")), "GPU-1");  // the first word counts
  EXPECT_NE(run(container("q")).find("it was edited or copied"), std::string::npos);
  // With another pod's annotation and signature.
  node_.pods_.at("uid-q").annotations =
      testing::bound_pod(*node_.keys_.keys(), "r", "n1", {{"main", {"GPU-7"}}}).annotations;
  EXPECT_NE(run(container("q")).find("it was edited or copied"), std::string::npos);
  node_.pods_.at("uid-q").annotations.erase(std::string(dialect::kSignatureAnnotation));
  EXPECT_NE(run(container("q")).find("has no signature"), std::string::npos);
  node_.bind("q", {{"main", {"GPU-2"}}});
  EXPECT_EQ(run(container("q")), "GPU-2");
}

TEST_F(DevicePluginTest, CardsThatAreNotHereOrUnhealthyAreNotGiven) {
  start_both();
  node_.bind("p", {{"main", {"GPU-0", "GPU-99"}}});
  node_.bind("q", {{"main", {"GPU-1"}}});
  ASSERT_EQ(allocate(container("p")), "");
  ASSERT_EQ(allocate(container("q")), "");
  EXPECT_EQ(run(container("p")), "FAILED_PRECONDITION: node n1 has no card GPU-99 any more");
  node_.cards_.cards[1].healthy = false;
  EXPECT_EQ(run(container("q")), "FAILED_PRECONDITION: card GPU-1 of node n1 is unhealthy");
  node_.cards_.cards[1].healthy = true;
  EXPECT_EQ(run(container("q")), "GPU-1");
  node_.cards_.cards[1].healthy = false;
  EXPECT_EQ(run(container("q")), "FAILED_PRECONDITION: card GPU-1 of node n1 is unhealthy");
}

TEST_F(DevicePluginTest, AContainerForWhichNothingWasDecidedGetsNothing) {
  start_both();
  node_.bind("p", {{"other", {"GPU-0"}}});
  ASSERT_EQ(allocate(container("p")), "");
  EXPECT_EQ(run(container("p")),
            "FAILED_PRECONDITION: no cards were chosen for container main of pod ml/p: it must not "
            "request stowage.dev/attachment");
}

TEST_F(DevicePluginTest, AKeyThatIsNotKnownYetIsAwaited) {
  start_both();
  const auto others = kube::testing::keys_from_seed("another seed");
  node_.add(testing::bound_pod(*others, "p", "n1", {{"main", {"GPU-0"}}}));
  ASSERT_EQ(allocate(container("p")), "");
  const auto started = start_container(container("p"));
  EXPECT_EQ(started.error.find("DEADLINE_EXCEEDED"), 0U) << started.error;
  EXPECT_NE(started.error.find("signed with a key that is not in the ConfigMap"),
            std::string::npos);
}

// ---- what is about to come

TEST_F(DevicePluginTest, APodThatIsAboutToBeSeenIsAwaited) {
  start_both();
  ASSERT_EQ(allocate(container("p")), "");
  net::Timer later(loop_);
  later.start(std::chrono::milliseconds{100}, [&] {
    node_.bind("p", {{"main", {"GPU-3"}}});
    plugin_->look_soon();
  });
  EXPECT_EQ(run(container("p")), "GPU-3");
}

TEST_F(DevicePluginTest, APodThatTheWatchLacksIsReadByItsName) {
  start_both();
  ASSERT_EQ(allocate(container("p")), "");
  const auto pod = testing::bound_pod(*node_.keys_.keys(), "p", "n1", {{"main", {"GPU-3"}}});
  node_.behind_cache_.emplace(pod.uid, pod);
  EXPECT_EQ(run(container("p")), "GPU-3");
  EXPECT_EQ(node_.fetches_, 1);
}

// The pod of that name was deleted and created again: the uid differs.
TEST_F(DevicePluginTest, APodOfTheSameNameIsAnotherPod) {
  start_both();
  ASSERT_EQ(allocate(container("p")), "");
  const auto pod =
      testing::bound_pod(*node_.keys_.keys(), "p", "n1", {{"main", {"GPU-3"}}}, "uid-other");
  node_.behind_cache_.emplace(pod.uid, pod);
  node_.add(pod);
  EXPECT_NE(run(container("p")).find("pod uid-p is not known from the API server"),
            std::string::npos);
  EXPECT_EQ(specs(), 0U);
}

TEST_F(DevicePluginTest, WithoutPodresourcesTheCheckpointCounts) {
  start_both();
  node_.unlisted_ = true;
  node_.bind("p", {{"main", {"GPU-3"}}});
  ASSERT_EQ(allocate(container("p")), "");
  EXPECT_EQ(run(container("p")), "GPU-3");
  node_.unlisted_ = false;
  node_.hangs_ = true;
  EXPECT_EQ(run(container("p")), "GPU-3");
}

TEST_F(DevicePluginTest, IfTheKubeletContradictsItselfNothingIsGiven) {
  start_both();
  node_.bind("p", {{"main", {"GPU-3"}}});
  ASSERT_EQ(allocate(container("p")), "");
  node_.holders_ = kubelet_.holders();
  node_.holders_->front().pod = "q";
  EXPECT_NE(run(container("p")).find("but its checkpoint has container main of pod uid-p"),
            std::string::npos);
  EXPECT_EQ(specs(), 0U);
  node_.holders_.reset();
  EXPECT_EQ(run(container("p")), "GPU-3");
}

TEST_F(DevicePluginTest, ADamagedCheckpointIsAwaitedAndNamed) {
  start_both();
  node_.bind("p", {{"main", {"GPU-3"}}});
  ASSERT_EQ(allocate(container("p")), "");
  kubelet_.write("{\"Data\":{\"PodDeviceEntries\":[{\"PodUID\":");
  EXPECT_NE(run(container("p")).find("kubelet_internal_checkpoint cannot be understood"),
            std::string::npos);
  net::Timer later(loop_);
  later.start(std::chrono::milliseconds{50}, [&] { kubelet_.write_checkpoint(); });
  EXPECT_EQ(run(container("p")), "GPU-3");
}

// ---- requests that a kubelet does not send

TEST_F(DevicePluginTest, WrongRequestsAreRefused) {
  start_both();
  auto wrong = container("p");
  kubelet_.write(testing::checkpoint_text({{.pod_uid = "uid-p",
                                            .container = "main",
                                            .resource = "stowage.dev/attachment",
                                            .ids = {"attachment-0001"},
                                            .response = ""}}));
  grpc::Client client(loop_, {.socket = folder_.path("plugins") + "/" + kubelet_.endpoints()[0]});
  const auto ask = [&](const char* method, std::string request) {
    std::optional<std::string> answer;
    const auto call = client.call(method, std::move(request), {}, [&](const auto& reply) {
      answer = reply ? "answered" : grpc::to_text(reply.error());
    });
    EXPECT_TRUE(until([&] { return answer.has_value(); }));
    return answer.value_or("");
  };
  EXPECT_EQ(ask(kAllocateMethod, testing::allocate_request({{"GPU-1"}})),
            "INTERNAL: stowage.dev/attachment has no device GPU-1");
  EXPECT_EQ(ask(kAllocateMethod, testing::allocate_request({{"attachment-0017"}})),
            "INTERNAL: stowage.dev/attachment has no device attachment-0017");
  EXPECT_EQ(ask(kAllocateMethod, "\x0a\xff"), "INTERNAL: malformed protobuf");
  EXPECT_EQ(ask(kPreStartMethod, ""), "INVALID_ARGUMENT: there are no devices");
  EXPECT_EQ(ask(kPreStartMethod, testing::ids_message({"attachment-0001"})),
            "FAILED_PRECONDITION: container main of pod uid-p was not allocated by this plugin; "
            "delete the pod, so that it is created again");
  EXPECT_EQ(plugin_->snapshot().records, 0U);
}

}  // namespace
}  // namespace stowage::plugin
