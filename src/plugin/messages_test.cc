#include "plugin/messages.h"

#include <gtest/gtest.h>

#include "plugin/testing/kubelet_messages.h"

namespace stowage::plugin {
namespace {

using testing::all_bytes;
using testing::allocate_request;
using testing::ids_message;
using testing::text_at;

std::string error_of(const auto& result) { return result ? "none" : result.error().message; }

TEST(PluginMessages, ARegistrationHasVersionEndpointResourceAndOptions) {
  const std::string message =
      register_request({.endpoint = "a.sock", .resource = "stowage.dev/attachment"});
  EXPECT_EQ(text_at(message, 1), "v1beta1");
  EXPECT_EQ(text_at(message, 2), "a.sock");
  EXPECT_EQ(text_at(message, 3), "stowage.dev/attachment");
  EXPECT_EQ(text_at(message, 4), plugin_options());
  EXPECT_EQ(plugin_options(), std::string("\x08\x01", 2));  // pre_start_required
}

TEST(PluginMessages, DevicesAreHealthyAndWithoutTopology) {
  const std::vector<std::string> devices = all_bytes(device_list({"a-1", "a-2"}), 1);
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(text_at(devices[1], 1), "a-2");
  EXPECT_EQ(text_at(devices[1], 2), "Healthy");
  EXPECT_TRUE(all_bytes(devices[1], 3).empty());
  EXPECT_EQ(device_list({}), "");
}

TEST(PluginMessages, RequestsAreReadSorted) {
  const auto containers = read_allocate_request(allocate_request({{"b", "a"}, {"c"}}));
  ASSERT_TRUE(containers);
  EXPECT_EQ(*containers, (std::vector<Ids>{{"a", "b"}, {"c"}}));
  EXPECT_EQ(read_allocate_request("").value().size(), 0U);
  EXPECT_EQ(read_pre_start_request(ids_message({"b", "a"})).value(), (Ids{"a", "b"}));
}

TEST(PluginMessages, WrongRequestsAreErrors) {
  EXPECT_EQ(error_of(read_pre_start_request("")), "there are no devices");
  EXPECT_EQ(error_of(read_pre_start_request(ids_message({"a", "b", "a"}))),
            "device a appears twice");
  EXPECT_EQ(error_of(read_pre_start_request(ids_message({"a b"}))),
            "the id of a device is invalid");
  EXPECT_EQ(error_of(read_pre_start_request(ids_message({std::string(64, 'a')}))),
            "the id of a device is invalid");
  EXPECT_EQ(error_of(read_pre_start_request("\x0a\x05"
                                            "a")),
            "malformed protobuf");
  EXPECT_EQ(error_of(read_allocate_request(allocate_request({{"a"}, {}}))), "there are no devices");
  EXPECT_EQ(error_of(read_allocate_request(
                allocate_request(std::vector<Ids>(kRequestContainersMax + 1, Ids{"a"})))),
            "there are too many containers");
  Ids many;
  for (std::size_t i = 0; i <= kRequestIdsMax; ++i) many.push_back(std::to_string(i));
  EXPECT_EQ(error_of(read_pre_start_request(ids_message(many))), "there are too many devices");
}

TEST(PluginMessages, AnAllocationIsReadBack) {
  const Allocation allocation{.cdi_devices = {"stowage.dev/gpu=a-1"},
                              .annotations = {{"cdi.k8s.io/stowage_a-1", "stowage.dev/gpu=a-1"}}};
  const std::vector<std::string> containers =
      all_bytes(allocate_response({allocation, allocation}), 1);
  ASSERT_EQ(containers.size(), 2U);
  EXPECT_EQ(read_container_response(containers[1]).value(), allocation);
  EXPECT_EQ(read_container_response("").value(), Allocation{});
  // Environment, mounts and devices of another plugin are skipped.
  codec::ProtobufWriter other;
  other.bytes(1, "x").bytes(2, "y").bytes(3, "z").bytes(9, "future").integer(10, 3);
  EXPECT_EQ(read_container_response(other.take()).value(), Allocation{});
}

TEST(PluginMessages, AResponseThatIsTooLargeIsAnError) {
  codec::ProtobufWriter many;
  for (int i = 0; i < 65; ++i) many.bytes(5, codec::ProtobufWriter().bytes(1, "a/b=c").take());
  EXPECT_EQ(error_of(read_container_response(many.take())),
            "there are too many CDI devices and annotations");
  codec::ProtobufWriter large;
  large.bytes(5, codec::ProtobufWriter().bytes(1, std::string(5000, 'a')).take());
  EXPECT_EQ(error_of(read_container_response(large.take())),
            "the name of a CDI device is too long");
  EXPECT_EQ(error_of(read_container_response("\x2a")), "malformed protobuf");
}

}  // namespace
}  // namespace stowage::plugin
