#include "local/table.h"

#include <gtest/gtest.h>

#include "local/test_cluster.h"

namespace stowage::local {
namespace {

constexpr WallTime kLater = kTestTime + std::chrono::seconds{90};

std::string row(Kind kind, const json::object& object) {
  return json::serialize(cells_of(kind, object, kLater));
}

struct Row {
  const char* pod;     // spec and status
  const char* wanted;  // READY, STATUS, RESTARTS
};

TEST(Table, APodsStatusSaysWhatPeopleExpect) {
  const Row rows[] = {
      {R"("status":{"phase":"Pending"})", "0/1 Pending 0"},
      {R"("status":{"phase":"Running","containerStatuses":[{"ready":true,"restartCount":2,)"
       R"("state":{"running":{}}}]})",
       "1/1 Running 2"},
      {R"("status":{"phase":"Succeeded","containerStatuses":[{"state":{"terminated":{)"
       R"("exitCode":0,"reason":"Completed"}}}]})",
       "0/1 Completed 0"},
      {R"("status":{"phase":"Failed","containerStatuses":[{"state":{"terminated":{)"
       R"("exitCode":3}}}]})",
       "0/1 ExitCode:3 0"},
      {R"("status":{"phase":"Pending","containerStatuses":[{"state":{"waiting":{)"
       R"("reason":"ContainerCreating"}}}]})",
       "0/1 ContainerCreating 0"},
      {R"("status":{"phase":"Failed","reason":"Evicted"})", "0/1 Evicted 0"},
      {R"("status":{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False",)"
       R"("reason":"SchedulingGated"}]})",
       "0/1 SchedulingGated 0"},
      {R"("status":{"phase":"Pending","initContainerStatuses":[{"name":"i","state":{"running":{)"
       R"(}}}]})",
       "0/1 Init:0/0 0"},
      {R"("status":{})", "0/1  0"},
  };
  for (const Row& one : rows) {
    const json::object pod = parsed(R"({"metadata":{"name":"p","creationTimestamp":
        "2026-01-02T03:04:05Z"},"spec":{"containers":[{"name":"c"}]},)" +
                                    std::string(one.pod) + "}");
    const json::array cells = pod_cells(pod, kLater);
    ASSERT_EQ(cells.size(), columns_of(Kind::pod).size());
    const std::string got = std::string(text_of(cells[1])) + " " + std::string(text_of(cells[2])) +
                            " " + std::string(text_of(cells[3]));
    EXPECT_EQ(got, one.wanted) << one.pod;
    EXPECT_EQ(text_of(cells[4]), "90s");
  }
}

TEST(Table, APodThatIsBeingDeletedIsTerminating) {
  const json::object pod = parsed(R"({"metadata":{"name":"p","deletionTimestamp":
      "2026-01-02T03:04:05Z"},"spec":{"nodeName":"n1"},"status":{"phase":"Running",
           "podIP":"10.0.0.1"}})");
  EXPECT_EQ(row(Kind::pod, pod),
            R"(["p","0/0","Terminating","0","<unknown>","10.0.0.1","n1","<none>","<none>"])");
}

TEST(Table, RowsOfOtherKinds) {
  struct Case {
    Kind kind;
    const char* object;
    const char* wanted;
  };
  const Case cases[] = {
      {Kind::node,
       R"({"metadata":{"name":"n","labels":{"node-role.kubernetes.io/worker":""}},"spec":{)"
       R"("unschedulable":true},
           "status":{"conditions":[{"type":"Ready","status":"True"}],
           "nodeInfo":{"kubeletVersion":"v1"},
           "addresses":[{"type":"InternalIP","address":"10.0.0.9"}]}})",
       R"(["n","Ready,SchedulingDisabled","worker","<unknown>","v1","10.0.0.9","<none>",)"
       R"("<unknown>","<unknown>","<unknown>"])"},
      {Kind::node, R"({"metadata":{"name":"n"}})",
       R"(["n","Unknown","<none>","<unknown>","","<none>","<none>","<unknown>","<unknown>",)"
       R"("<unknown>"])"},
      {Kind::deployment,
       R"({"metadata":{"name":"d"},"spec":{"replicas":3,"selector":{"matchLabels":{"a":"b"}},
           "template":{"spec":{"containers":[{"name":"x","image":"i"},{"name":"y","image":"j"}]}}},
           "status":{"readyReplicas":2,"updatedReplicas":3,"availableReplicas":1}})",
       R"(["d","2/3",3,1,"<unknown>","x,y","i,j","a=b"])"},
      {Kind::job, R"({"metadata":{"name":"j"},"spec":{"completions":4},"status":{"succeeded":1,
           "startTime":"2026-01-02T03:04:05Z"}})",
       R"(["j","Running","1/4","90s","<unknown>","","","<none>"])"},
      {Kind::event,
       R"({"metadata":{"name":"e"},"type":"Warning","reason":"Failed","message":"no room\n",
           "involvedObject":{"kind":"Pod","name":"p"},"eventTime":"2026-01-02T03:04:05.000000Z",
           "reportingComponent":"stowage"})",
       R"(["90s","Warning","Failed","pod/p","","stowage","no room","90s",1,"e"])"},
      {Kind::priority_class,
       R"({"metadata":{"name":"p"},"value":7,"globalDefault":true,"preemptionPolicy":"Never"})",
       R"(["p",7,true,"<unknown>","Never"])"},
      {Kind::pod_disruption_budget, R"({"metadata":{"name":"b"},"spec":{"minAvailable":1}})",
       R"(["b","1","N/A",0,"<unknown>"])"},
      {Kind::csi_driver,
       R"({"metadata":{"name":"d"},"spec":{"attachRequired":true,"storageCapacity":true,
           "volumeLifecycleModes":["Persistent","Ephemeral"]}})",
       R"(["d",true,false,true,"Persistent,Ephemeral","<unknown>"])"},
      {Kind::csi_storage_capacity,
       R"({"metadata":{"name":"c"},"storageClassName":"fast","capacity":"1Gi"})",
       R"(["c","fast","1Gi","<unknown>"])"},
      {Kind::volume_attachment,
       R"({"metadata":{"name":"a"},"spec":{"attacher":"d","nodeName":"n",
           "source":{"persistentVolumeName":"v"}},"status":{"attached":true}})",
       R"(["a","d","v","n",true,"<unknown>"])"},
      {Kind::lease, R"({"metadata":{"name":"l"},"spec":{"holderIdentity":"me"}})",
       R"(["l","me","<unknown>"])"},
  };
  for (const Case& one : cases) EXPECT_EQ(row(one.kind, parsed(one.object)), one.wanted);
}

TEST(Table, EveryKindHasOneCellPerColumnAlsoForAnEmptyObject) {
  for (const Resource& resource : all_resources()) {
    EXPECT_EQ(cells_of(resource.kind_id, {}, kLater).size(), columns_of(resource.kind_id).size())
        << resource.kind;
  }
}

}  // namespace
}  // namespace stowage::local
