#include <fmt/format.h>
#include <gtest/gtest.h>

#include "codec/kubernetes.h"

namespace stowage::codec {
namespace {

using core::AuxKind;
using core::AuxObject;
using core::LabelSelector;
using core::Requirement;
using Op = core::Requirement::Op;

constexpr auto kRwo = static_cast<core::AccessModes>(core::AccessMode::rwo);
constexpr auto kRox = static_cast<core::AccessModes>(core::AccessMode::rox);
constexpr auto kRwop = static_cast<core::AccessModes>(core::AccessMode::rwop);

AuxObject aux_object_of(AuxKind kind, std::string_view json) {
  Decoder decoder;
  const auto object = decoder.aux_object(kind, json);
  EXPECT_TRUE(object) << object.error().message << "\n" << json;
  if (!object) return {};
  EXPECT_EQ(static_cast<AuxKind>(object->aux_object.index()), kind);
  const auto name = decoder.aux_object_name(kind, json);
  EXPECT_TRUE(name);
  EXPECT_EQ(*name, object->name);
  return object->aux_object;
}

std::string error_of(AuxKind kind, std::string_view json) {
  Decoder decoder;
  const auto object = decoder.aux_object(kind, json);
  return object ? "no error" : object.error().message;
}

TEST(DecodeAuxObject, ReadsNamespaces) {
  EXPECT_EQ(aux_object_of(AuxKind::name_space,
                          R"({"status":{"phase":"Active"},"metadata":{"labels":{"team":"x"},
                         "name":"ml"}})"),
            AuxObject(core::Namespace{.name = "ml", .labels = {{"team", "x"}}}));
}

TEST(DecodeAuxObject, ReadsClaims) {
  const struct {
    const char* name;
    const char* json;
    core::Claim claim;
  } rows[] = {
      {"a new one",
       R"({"metadata":{"name":"c","namespace":"ml","uid":"u"},"status":{"phase":"Pending"},
           "spec":{"accessModes":["ReadWriteOnce","ReadOnlyMany"],"storageClassName":"fast",
           "volumeMode":"Filesystem","resources":{"limits":{"storage":"9Gi"},
           "requests":{"storage":"1Gi"}}}})",
       {.name = "ml/c",
        .uid = "u",
        .storage_class = "fast",
        .has_class = true,
        .bytes = std::int64_t{1} << 30U,
        .modes = kRwo | kRox}},
      {"one that is bound",
       R"({"metadata":{"name":"c","namespace":"ml","annotations":{
           "pv.kubernetes.io/bind-completed":"yes","volume.kubernetes.io/selected-node":"n1"}},
           "spec":{"volumeName":"v","volumeMode":"Block","accessModes":["ReadWriteOncePod"]}})",
       {.name = "ml/c",
        .volume = "v",
        .bound = true,
        .block = true,
        .selected_node = "n1",
        .modes = kRwop}},
      {"one whose binding is not complete",
       R"({"metadata":{"name":"c","namespace":"ml"},"spec":{"volumeName":"v"}})",
       {.name = "ml/c", .volume = "v"}},
      {"one that is complete but names no volume",
       R"({"metadata":{"name":"c","namespace":"ml","annotations":{
           "pv.kubernetes.io/bind-completed":"yes"}}})",
       {.name = "ml/c"}},
      {"an empty class is a class, and the old annotation counts before the field",
       R"({"metadata":{"name":"c","namespace":"ml","annotations":{
           "volume.beta.kubernetes.io/storage-class":"old"}},"spec":{"storageClassName":""}})",
       {.name = "ml/c", .storage_class = "old", .has_class = true}},
      {"the pod that controls it owns it, others do not",
       R"({"metadata":{"name":"c","namespace":"ml","deletionTimestamp":"2026-11-15T07:35:46Z",
           "ownerReferences":[{"uid":"a"},{"uid":"b","controller":true,"kind":"Pod"}]},
           "status":{"phase":"Lost"}})",
       {.name = "ml/c", .owner_uid = "b", .lost = true, .deleting = true}},
      {"it may select among volumes",
       R"({"metadata":{"name":"c","namespace":"ml"},"spec":{"storageClassName":"",
           "selector":{"matchLabels":{"tier":"gold"}}}})",
       {.name = "ml/c",
        .has_class = true,
        .selector = LabelSelector{.all = {{.key = "tier", .op = Op::in, .values = {"gold"}}}}}},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(aux_object_of(AuxKind::claim, row.json), AuxObject(row.claim)) << row.name;
  }
}

TEST(DecodeAuxObject, ReadsVolumes) {
  const struct {
    const char* name;
    const char* json;
    core::Volume volume;
  } rows[] = {
      {"a CSI volume with a node affinity",
       R"({"metadata":{"name":"v","labels":{"topology.kubernetes.io/zone":"a"}},
           "spec":{"capacity":{"storage":"10G"},"accessModes":["ReadWriteOnce"],
           "storageClassName":"fast","volumeMode":"Block",
           "csi":{"volumeHandle":"h-1","driver":"d.example.com"},
           "nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[
             {"key":"zone","operator":"In","values":["a"]}]}]}}},"status":{"phase":"Available"}})",
       {.name = "v",
        .storage_class = "fast",
        .block = true,
        .bytes = 10'000'000'000,
        .modes = kRwo,
        .labels = {{"topology.kubernetes.io/zone", "a"}},
        .affinity =
            std::vector<core::NodeTerm>{
                {.labels = {{.key = "zone", .op = Op::in, .values = {"a"}}}}},
        .driver = "d.example.com",
        .handle = "h-1"}},
      {"one that is bound",
       R"({"metadata":{"name":"v"},"spec":{"claimRef":{"namespace":"ml","name":"c","uid":"u"}},
           "status":{"phase":"Bound"}})",
       {.name = "v", .claim = "ml/c", .claim_uid = "u", .available = false}},
      {"one that is only pre-bound, and of which nobody says how it is",
       R"({"metadata":{"name":"v"},"spec":{"claimRef":{"namespace":"ml","name":"c"}}})",
       {.name = "v", .claim = "ml/c"}},
      {"one that is pending is not available yet",
       R"({"metadata":{"name":"v","deletionTimestamp":"x"},"status":{"phase":"Pending"}})",
       {.name = "v", .available = false, .deleting = true}},
      {"a disk of GCE is served by its CSI driver",
       R"({"metadata":{"name":"v"},"spec":{"gcePersistentDisk":{"pdName":"d"}}})",
       {.name = "v",
        .driver = "pd.csi.storage.gke.io",
        .handle = "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d"}},
      {"and so are volumes of AWS",
       R"({"metadata":{"name":"v"},"spec":{"awsElasticBlockStore":{"volumeID":
           "aws://us-east-1a/vol-1"}}})",
       {.name = "v", .driver = "ebs.csi.aws.com", .handle = "vol-1"}},
      {"and of Cinder",
       R"({"metadata":{"name":"v"},"spec":{"cinder":{"volumeID":"x"}}})",
       {.name = "v", .driver = "cinder.csi.openstack.org", .handle = "x"}},
      {"and of Azure",
       R"({"metadata":{"name":"v"},"spec":{"azureDisk":{"diskURI":"/s/d","diskName":"d"}}})",
       {.name = "v", .driver = "disk.csi.azure.com", .handle = "/s/d"}},
      {"a local volume has no driver, and the old annotation of the class counts",
       R"({"metadata":{"name":"v","annotations":{"volume.beta.kubernetes.io/storage-class":"o"}},
           "spec":{"local":{"path":"/x"},"storageClassName":"n"}})",
       {.name = "v", .storage_class = "o"}},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(aux_object_of(AuxKind::volume, row.json), AuxObject(row.volume)) << row.name;
  }
}

TEST(DecodeAuxObject, ReadsWhatElseIsSaidAboutStorage) {
  const struct {
    AuxKind kind;
    const char* json;
    AuxObject aux_object;
  } rows[] = {
      {AuxKind::storage_class,
       R"({"metadata":{"name":"fast"},"provisioner":"d","volumeBindingMode":"WaitForFirstConsumer",
           "allowedTopologies":[{"matchLabelExpressions":[{"key":"zone","values":["a","b"]}]}]})",
       core::StorageClass{.name = "fast",
                          .provisioner = "d",
                          .waits = true,
                          .topologies = {{.labels = {{.key = "zone", .values = {"a", "b"}}}}}}},
      {AuxKind::storage_class,
       R"({"metadata":{"name":"slow"},"provisioner":"d","volumeBindingMode":"Immediate"})",
       core::StorageClass{.name = "slow", .provisioner = "d"}},
      {AuxKind::storage_driver,
       R"({"metadata":{"name":"d"},"spec":{"storageCapacity":true,"attachRequired":false}})",
       core::StorageDriver{.name = "d", .tells_capacity = true}},
      {AuxKind::storage_driver, R"({"metadata":{"name":"d"},"spec":{}})",
       core::StorageDriver{.name = "d"}},
      {AuxKind::storage_capacity,
       R"({"metadata":{"name":"x","namespace":"kube-system"},"storageClassName":"fast",
           "capacity":"2Ki","maximumVolumeSize":1000,"nodeTopology":{"matchLabels":{"z":"a"}}})",
       core::StorageCapacity{
           .name = "kube-system/x",
           .storage_class = "fast",
           .nodes = LabelSelector{.all = {{.key = "z", .op = Op::in, .values = {"a"}}}},
           .bytes = 2048,
           .largest = 1000}},
      {AuxKind::storage_capacity, R"({"metadata":{"name":"x","namespace":"s"}})",
       core::StorageCapacity{.name = "s/x"}},
      {AuxKind::node_volume_limits,
       R"({"metadata":{"name":"n1"},"spec":{"drivers":[{"name":"a","allocatable":{"count":5}},
           {"allocatable":{"count":0},"name":"b"},{"name":"c","nodeID":"x"},
           {"name":"d","allocatable":{}}]}})",
       core::NodeVolumeLimits{.node = "n1", .most = {{"a", 5}, {"b", 0}}}},
      {AuxKind::attachment,
       R"({"metadata":{"name":"csi-1"},"spec":{"attacher":"d","nodeName":"n1",
           "source":{"persistentVolumeName":"v"}},"status":{"attached":true}})",
       core::Attachment{.name = "csi-1", .node = "n1", .driver = "d", .volume = "v"}},
  };
  for (const auto& row : rows)
    EXPECT_EQ(aux_object_of(row.kind, row.json), row.aux_object) << row.json;
}

TEST(DecodeAuxObject, ReadsBudgets) {
  const struct {
    const char* name;
    const char* json;
    core::Budget budget;
  } rows[] = {
      {"of some pods",
       R"({"metadata":{"name":"b","namespace":"ml"},"spec":{"minAvailable":1,
           "selector":{"matchLabels":{"app":"web"}}},"status":{"disruptionsAllowed":2,
           "disruptedPods":{"p1":"2026-11-15T07:35:46Z","p2":"x"}}})",
       {.name = "ml/b",
        .selector = {.all = {{.key = "app", .op = Op::in, .values = {"web"}}}},
        .allowed = 2,
        .disrupted = {"p1", "p2"}}},
      {"of all",
       R"({"metadata":{"name":"b","namespace":"ml"},"spec":{"selector":{}}})",
       {.name = "ml/b"}},
      {"of none",
       R"({"metadata":{"name":"b","namespace":"ml"},"spec":{}})",
       {.name = "ml/b", .selector = {.nothing = true}}},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(aux_object_of(AuxKind::budget, row.json), AuxObject(row.budget)) << row.name;
  }
}

TEST(DecodeAuxObject, ATextThatIsHalfUnderstoodIsNoThing) {
  const struct {
    AuxKind kind;
    const char* json;
    const char* message;
  } rows[] = {
      {AuxKind::claim, R"({"metadata":{"name":"c"},"spec":{"accessModes":["Shared"]}})",
       "spec.accessModes[0]: \"Shared\" is not an access mode"},
      {AuxKind::claim,
       R"({"metadata":{"name":"c"},"spec":{"selector":{"matchExpressions":[{"operator":"Lt"}]}}})",
       "label selector operator \"Lt\" is not supported"},
      {AuxKind::claim,
       R"({"metadata":{"name":"c"},"spec":{"resources":{"requests":{"storage":"1e30"}}}})",
       "spec.resources.requests.storage: 100000000000000000000000000000 or more"},
      {AuxKind::volume,
       R"({"metadata":{"name":"v"},"spec":{"nodeAffinity":{"required":{"nodeSelectorTerms":[
           {"matchExpressions":[{"key":"a","operator":"Near"}]}]}}}})",
       "node affinity operator \"Near\" is not supported"},
      {AuxKind::volume, R"({"metadata":{"name":"v"},"spec":{"capacity":{"storage":[]}}})",
       "spec.capacity.storage: expected a string"},
      {AuxKind::node_volume_limits,
       R"({"metadata":{"name":"n"},"spec":{"drivers":[{"allocatable":{"count":"5"}}]}})",
       "spec.drivers[0].allocatable.count: expected a whole number"},
      {AuxKind::name_space, R"({"metadata":{}})", "metadata.name: missing"},
      {AuxKind::budget, R"({})", "metadata.name: missing"},
      {AuxKind::attachment, R"({"metadata":{"name":"a"}} {})", "unexpected text after the object"},
      {AuxKind::storage_driver, "", "the text is empty"},
  };
  for (const auto& row : rows) {
    EXPECT_TRUE(error_of(row.kind, row.json).starts_with(row.message))
        << row.json << "\n"
        << error_of(row.kind, row.json);
  }
}

TEST(DecodeAuxObject, TheNameIsReadEvenWhereTheRestIsNot) {
  Decoder decoder;
  const auto name = decoder.aux_object_name(
      AuxKind::claim, R"({"spec":{"accessModes":7},"metadata":{"name":"c","namespace":"ml"}})");
  ASSERT_TRUE(name) << name.error().message;
  EXPECT_EQ(*name, "ml/c");
  EXPECT_FALSE(decoder.aux_object_name(AuxKind::claim, "{}"));
}

TEST(DecodeAuxObject, KeepsTheVersion) {
  Decoder decoder;
  const auto object = decoder.aux_object(
      AuxKind::volume, R"({"metadata":{"name":"v","resourceVersion":"17","uid":"u"}})");
  ASSERT_TRUE(object);
  EXPECT_EQ(object->resource_version, "17");
  EXPECT_EQ(object->name, "v");
}

}  // namespace
}  // namespace stowage::codec
