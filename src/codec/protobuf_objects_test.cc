#include "codec/protobuf_objects.h"

#include <gtest/gtest.h>

#include "codec/testing/protobuf_out.h"

namespace stowage::codec {
namespace {

using testing::bytes;
using testing::envelope;
using testing::integer;
using testing::watch_event;

std::string pod(const std::string& name, const std::string& version) {
  return bytes(1, bytes(1, name) + bytes(6, version)) + bytes(2, "");
}

TEST(ProtobufObjects, OpensTheEnvelope) {
  const std::string text = envelope("Pod", pod("a", "7"));
  const auto object = protobuf_object(text);
  ASSERT_TRUE(object) << object.error().message;
  EXPECT_EQ(object->kind, "Pod");
  EXPECT_EQ(object->message, pod("a", "7"));
  EXPECT_EQ(protobuf_version(object->message), "7");
}

TEST(ProtobufObjects, ReadsAPageOfAList) {
  const std::string meta = bytes(1, "") + bytes(2, "42") + bytes(3, "to ken") + integer(4, 1200);
  const std::string text =
      envelope("PodList", bytes(1, meta) + bytes(2, pod("a", "1")) + bytes(2, pod("b", "2")));
  const auto list = protobuf_list(text);
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_EQ(list->kind, "Pod");
  EXPECT_EQ(list->page.resource_version, "42");
  EXPECT_EQ(list->page.continue_token, "to ken");
  ASSERT_EQ(list->page.items.size(), 2U);
  EXPECT_EQ(list->page.items[1], pod("b", "2"));
}

TEST(ProtobufObjects, ReadsEventsOfAWatch) {
  const std::string text = watch_event("MODIFIED", envelope("Pod", pod("a", "8")));
  const auto event = protobuf_watch_event(text);
  ASSERT_TRUE(event) << event.error().message;
  EXPECT_EQ(event->kind, "Pod");
  EXPECT_EQ(event->event.type, WatchEvent::Type::modified);
  EXPECT_EQ(event->event.object, pod("a", "8"));
  EXPECT_EQ(event->event.resource_version, "");  // only for bookmarks
}

TEST(ProtobufObjects, ReadsBookmarks) {
  const std::string plain = watch_event("BOOKMARK", envelope("Pod", pod("", "9")));
  const auto bookmark = protobuf_watch_event(plain);
  ASSERT_TRUE(bookmark);
  EXPECT_EQ(bookmark->event.type, WatchEvent::Type::bookmark);
  EXPECT_EQ(bookmark->event.resource_version, "9");
  EXPECT_FALSE(bookmark->event.initial_events_end);
  const std::string mark = bytes(12, bytes(1, "k8s.io/initial-events-end") + bytes(2, "true"));
  const std::string last =
      watch_event("BOOKMARK", envelope("Pod", bytes(1, bytes(6, "10") + mark)));
  const auto end = protobuf_watch_event(last);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->event.resource_version, "10");
  EXPECT_TRUE(end->event.initial_events_end);
}

TEST(ProtobufObjects, SaysWhatIsWrong) {
  const auto object = [](const std::string& text) {
    const auto result = protobuf_object(text);
    return result ? "fine" : result.error().message;
  };
  EXPECT_EQ(object("{}"), "it does not begin with the prefix of Kubernetes protobuf");
  EXPECT_EQ(object(envelope("Pod", "") + "\x0a\x7f"), "malformed protobuf");
  EXPECT_EQ(object(envelope("Pod", "") + bytes(3, "gzip")), "the object inside is not protobuf");
  const auto list = [](const std::string& text) {
    const auto result = protobuf_list(text);
    return result ? "fine" : result.error().message;
  };
  EXPECT_EQ(list(envelope("Status", "")), "\"Status\" is not a list");
  EXPECT_EQ(list(envelope("PodList", "\x12\x05")), "malformed protobuf");
  EXPECT_EQ(list(envelope("PodList", bytes(1, "\x12\x05"))), "metadata: malformed protobuf");
  const auto event = [](const std::string& text) {
    const auto result = protobuf_watch_event(text);
    return result ? "fine" : result.error().message;
  };
  EXPECT_EQ(event(""), "type: \"\" is not a type of watch event");
  EXPECT_EQ(event(watch_event("PRUNED", envelope("Pod", ""))),
            "type: \"PRUNED\" is not a type of watch event");
  EXPECT_EQ(event(watch_event("ADDED", "x")),
            "it does not begin with the prefix of Kubernetes protobuf");
  EXPECT_EQ(event("\x0a"), "malformed protobuf");
}

}  // namespace
}  // namespace stowage::codec
