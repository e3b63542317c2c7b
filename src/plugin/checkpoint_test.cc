#include "plugin/checkpoint.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/base64.h"
#include "net/testing/temporary_folder.h"
#include "plugin/checkpoint_file.h"
#include "plugin/testing/kubelet_messages.h"

namespace stowage::plugin {
namespace {

using testing::checkpoint_text;
using testing::IdsFormat;
using testing::StoredEntry;

const std::set<std::string> kWanted{"stowage.dev/attachment", "stowage.dev/init-attachment"};

std::string answer(const std::string& device) {
  const std::string all = allocate_response({{.cdi_devices = {device}, .annotations = {}}});
  return testing::text_at(all, 1);
}

StoredEntry entry(const std::string& uid, Ids ids) {
  return {.pod_uid = uid,
          .container = "main",
          .resource = "stowage.dev/attachment",
          .ids = std::move(ids),
          .response = answer("stowage.dev/gpu=" + uid)};
}

std::string error_of(const std::string& json) {
  const auto read = read_checkpoint(json, kWanted);
  return read ? "none" : read.error().message;
}

std::string with_entries(const std::string& entries) {
  return R"({"Data":{"PodDeviceEntries":)" + entries + R"(,"RegisteredDevices":{}},"Checksum":1})";
}

TEST(Checkpoint, EntriesOfOurResourcesAreReadInBothFormats) {
  StoredEntry other = entry("u3", {"GPU-1"});
  other.resource = "nvidia.com/gpu";
  other.response = "no message";
  for (const IdsFormat format : {IdsFormat::by_numa_node, IdsFormat::list}) {
    const auto read = read_checkpoint(
        checkpoint_text({entry("u1", {"b", "a"}), other, entry("u2", {"c"})}, format), kWanted);
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_EQ(read->entries.size(), 2U);
    EXPECT_EQ(read->entries[0], (CheckpointEntry{.pod_uid = "u1",
                                                 .container = "main",
                                                 .resource = "stowage.dev/attachment",
                                                 .ids = {"a", "b"},
                                                 .cdi_devices = {"stowage.dev/gpu=u1"}}));
    EXPECT_EQ(read->entries[1].pod_uid, "u2");
    EXPECT_EQ(read->pods, (std::set<std::string>{"u1", "u2", "u3"}));
  }
}

// As a kubelet of 1.34 writes it: devices by NUMA node, and null where nothing is.
TEST(Checkpoint, AFileOfAKubeletIsRead) {
  const std::string response = base::base64_encode(answer("stowage.dev/gpu=0a1b2c3d4e5f-7"));
  const auto read = read_checkpoint(
      with_entries(
          R"([{"PodUID":"6f4d","ContainerName":"main","ResourceName":)"
          R"("stowage.dev/attachment","DeviceIDs":{"-1":["attachment-0004"]},)"
          R"("AllocResp":")" +
          response + R"("},{"PodUID":"7a","ContainerName":"c","ResourceName":)" +
          R"("nvidia.com/gpu","DeviceIDs":{"0":["GPU-1"],"1":["GPU-2"]},"AllocResp":null}])"),
      kWanted);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->entries.size(), 1U);
  EXPECT_EQ(read->entries[0].cdi_devices,
            (std::vector<std::string>{"stowage.dev/gpu=0a1b2c3d4e5f-7"}));
  EXPECT_TRUE(read_checkpoint(checkpoint_text({}), kWanted)->entries.empty());
}

TEST(Checkpoint, ADeviceNearTwoNumaNodesCountsOnce) {
  const auto read = read_checkpoint(
      with_entries(R"([{"PodUID":"u","ContainerName":"c","ResourceName":"stowage.dev/attachment",)"
                   R"("DeviceIDs":{"0":["a"],"1":["a","b"]},"AllocResp":""}])"),
      kWanted);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->entries[0].ids, (Ids{"a", "b"}));
  EXPECT_TRUE(read->entries[0].cdi_devices.empty());
}

TEST(Checkpoint, OtherFormatsAreErrorsNotEmpty) {
  EXPECT_EQ(error_of("{}"), "it has neither Data.PodDeviceEntries nor Data.RegisteredDevices");
  EXPECT_EQ(error_of(R"({"data":{"entries":[]}})"),
            "it has neither Data.PodDeviceEntries nor Data.RegisteredDevices");
  EXPECT_EQ(error_of(R"({"Data":[]})"), "Data: expected an object");
  EXPECT_EQ(error_of(with_entries(R"([{"PodUID":1}])")),
            "Data.PodDeviceEntries[0].PodUID: expected a string");
  EXPECT_EQ(error_of(with_entries(R"([{"DeviceIDs":"a"}])")),
            "Data.PodDeviceEntries[0].DeviceIDs: expected an object");
  EXPECT_NE(error_of(checkpoint_text({entry("u", {"a"})}).substr(0, 100)), "none");
  EXPECT_NE(error_of(""), "none");
  EXPECT_NE(error_of("not JSON"), "none");
}

TEST(Checkpoint, AWrongEntryOfOursIsNamed) {
  StoredEntry wrong = entry("u", {"a"});
  wrong.response = "\x2a\xff";
  EXPECT_EQ(error_of(checkpoint_text({wrong})),
            "the entry of container \"main\" of pod u: AllocResp: malformed protobuf");
  wrong = entry("u", {"a"});
  wrong.container = "";
  EXPECT_EQ(error_of(checkpoint_text({wrong})),
            "the entry of container \"\" of pod u: it names no container");
  EXPECT_EQ(error_of(with_entries(R"([{"PodUID":"u","ContainerName":"c","ResourceName":)"
                                  R"("stowage.dev/attachment","AllocResp":"$"}])")),
            "the entry of container \"c\" of pod u: AllocResp is not base64");
}

TEST(Checkpoint, SizesAreLimited) {
  EXPECT_NE(error_of(with_entries(R"([{"PodUID":")" + std::string(600, 'u') + R"("}])"))
                .find("is too long"),
            std::string::npos);
  std::string many;
  for (std::size_t i = 0; i <= kCheckpointEntriesMax; ++i) many += i == 0 ? "{}" : ",{}";
  EXPECT_NE(error_of(with_entries("[" + many + "]")).find("one entry too many"), std::string::npos);
}

TEST(CheckpointFile, IsReadAgainWhenItChanges) {
  const net::testing::TemporaryFolder folder;
  CheckpointFile file(folder.path("."));
  const std::string path = folder.path("kubelet_internal_checkpoint");
  const auto write = [&](const std::string& text) {
    std::ofstream(path + ".new") << text;
    std::filesystem::rename(path + ".new", path);
  };
  ASSERT_FALSE(file.read());
  EXPECT_NE(file.read().error().message.find("does not exist"), std::string::npos);
  write(checkpoint_text({entry("u1", {"a"})}));
  ASSERT_TRUE(file.read());
  EXPECT_EQ((*file.read())->entries.size(), 1U);
  write(checkpoint_text({entry("u1", {"a"}), entry("u2", {"b"})}));
  EXPECT_EQ((*file.read())->entries.size(), 2U);
  write("{");
  EXPECT_NE(file.read().error().message.find("cannot be understood"), std::string::npos);
  write(checkpoint_text({}));
  EXPECT_EQ((*file.read())->entries.size(), 0U);
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  EXPECT_FALSE(file.read());
}

}  // namespace
}  // namespace stowage::plugin
