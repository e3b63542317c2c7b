#include "controller/leadership.h"

#include <map>

#include <gtest/gtest.h>

#include "net/http.h"

namespace stowage::controller {
namespace {

using namespace std::chrono_literals;

kube::Environment environment(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const std::string& name) -> std::optional<std::string> {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST(Leadership, ALeaderStopsBeforeAnotherMayBegin) {
  struct Row {
    std::chrono::seconds lease;
    net::Duration renew;
    net::Duration retry;
  };
  for (const Row& row : {Row{15s, 10s, 2s}, Row{2s, 1500ms, 500ms}, Row{1s, 500ms, 100ms}}) {
    Config::LeaderElection config;
    config.lease_duration = row.lease;
    config.renew_deadline = row.renew;
    config.retry_period = row.retry;
    const kube::ElectorOptions options = elector_options(config, "me", {});
    EXPECT_LT(options.renew_deadline, options.duration - options.margin);
    EXPECT_GT(options.margin, 0ms);
    EXPECT_LT(options.call_deadline, options.renew_deadline);
    EXPECT_LE(options.look, 500ms) << "so that a clean handover takes less than two seconds";
    EXPECT_GE(options.look, 50ms) << "and the API server has its peace";
  }
}

TEST(Leadership, TheNamespaceOfTheLeaseIsThatOfThePodUnlessItIsSet) {
  EXPECT_EQ(own_namespace("", environment({})), "kube-system");
  EXPECT_EQ(own_namespace("", environment({{"POD_NAMESPACE", "gpu"}})), "gpu");
  EXPECT_EQ(own_namespace("mine", environment({{"POD_NAMESPACE", "gpu"}})), "mine");
}

TEST(Leadership, OthersAreToldAHostThatTheyCanReach) {
  struct Row {
    const char* advertise;
    const char* listens_on;
    const char* pod_ip;
    const char* expected;
  };
  const net::Url server{.host = "127.0.0.1", .port = 6443};
  for (const Row& row :
       {Row{"me.example", "0.0.0.0", "10.1.2.3", "me.example"},
        Row{"", "0.0.0.0", "10.1.2.3", "10.1.2.3"}, Row{"", "::", "fd00::7", "fd00::7"},
        Row{"", "10.9.9.9", "10.1.2.3", "10.9.9.9"}, Row{"", "127.0.0.1", "10.1.2.3", "127.0.0.1"},
        Row{"", "0.0.0.0", "", "127.0.0.1"}}) {
    const kube::Environment given = environment({{"POD_IP", row.pod_ip}});
    EXPECT_EQ(advertised_host({.advertise = row.advertise,
                               .listens_on = row.listens_on,
                               .api_server = server,
                               .environment = given}),
              row.expected)
        << row.listens_on;
  }
}

TEST(Leadership, WhereTheLeaderIsComesFromItsNote) {
  const codec::LeaderNote note{.extenders = {{"stowage", "http://10.0.0.7:10361"}}};
  codec::Lease lease{.holder = "b", .annotations = {{codec::kLeaderAnnotation, leader_note(note)}}};
  EXPECT_EQ(leader_address(lease, "a").note, note);
  EXPECT_EQ(leader_address(lease, "a").why, "");
  EXPECT_EQ(leader_address(lease, "b").why, "it is about to lead; try again");
  EXPECT_TRUE(leader_address(lease, "b").note.extenders.empty()) << "never to ourselves";
  lease.annotations[codec::kLeaderAnnotation] = "hello";
  EXPECT_NE(leader_address(lease, "a").why.find("cannot be read"), std::string::npos);
  lease.annotations.clear();
  EXPECT_EQ(leader_address(lease, "a").why, "the leader b does not publish its address");
  lease.holder.clear();
  EXPECT_EQ(leader_address(lease, "a").why, "no replica leads at the moment");
}

}  // namespace
}  // namespace stowage::controller
