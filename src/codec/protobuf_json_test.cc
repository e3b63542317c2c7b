#include "codec/protobuf_json.h"

#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/json_writer.h"
#include "base/rng.h"
#include "base/testing/json_check.h"
#include "codec/kubernetes.h"
#include "codec/protobuf_objects.h"
#include "codec/testing/protobuf_out.h"

namespace stowage::codec {
namespace {

using Kind = ProtobufMember::Kind;
using Shape = ProtobufMember::Shape;
using testing::bytes;
using testing::integer;

const ProtobufMessage& message(std::string_view kind) { return *protobuf_message(kind); }

// The JSON text, or the error.
std::string json(std::string_view kind, const std::string& content) {
  ProtobufJson transcoder;
  const auto text = transcoder.text(message(kind), content);
  return text ? std::string(*text) : "error: " + text.error().message;
}
std::string spec(const std::string& content) { return json("Pod", bytes(2, content)); }

TEST(ProtobufJson, WritesWhatJsonWouldHave) {
  EXPECT_EQ(json("Pod", ""), "{}");
  EXPECT_EQ(json("Pod", bytes(1, bytes(1, "a") + bytes(3, "") + bytes(6, "12"))),
            R"({"metadata":{"name":"a","resourceVersion":"12"}})");
  EXPECT_EQ(spec(integer(25, 0) + bytes(10, "n")), R"({"spec":{"priority":0,"nodeName":"n"}})");
  EXPECT_EQ(spec(integer(25, static_cast<std::uint64_t>(-7))), R"({"spec":{"priority":-7}})");
  EXPECT_EQ(json("Node", bytes(2, integer(4, 1))), R"({"spec":{"unschedulable":true}})");
}

TEST(ProtobufJson, WritesMapsAndAmounts) {
  EXPECT_EQ(spec(bytes(7, bytes(1, "a") + bytes(2, "b")) + bytes(7, bytes(1, "c"))),
            R"({"spec":{"nodeSelector":{"a":"b","c":""}}})");
  EXPECT_EQ(spec(bytes(32, bytes(1, "cpu") + bytes(2, bytes(1, "250m"))) + bytes(32, "")),
            R"({"spec":{"overhead":{"cpu":"250m","":"0"}}})");
}

TEST(ProtobufJson, InlinesTheSourceOfAVolume) {
  const std::string source = bytes(10, bytes(1, "data") + integer(2, 1));
  EXPECT_EQ(
      spec(bytes(1, bytes(1, "v") + bytes(2, source)) + bytes(1, bytes(2, ""))),
      R"({"spec":{"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"data"}},{}]}})");
}

TEST(ProtobufJson, WritesTimes) {
  const auto created = [](const std::string& time) {
    return json("Pod", bytes(1, bytes(8, time)));
  };
  const auto at = [](const char* text) {
    return fmt::format(R"({{"metadata":{{"creationTimestamp":"{}"}}}})", text);
  };
  EXPECT_EQ(created(""), R"({"metadata":{}})");  // not set
  EXPECT_EQ(created(integer(1, 0)), at("1970-01-01T00:00:00Z"));
  EXPECT_EQ(created(integer(1, 1767323045) + integer(2, 999'999'999)), at("2026-01-02T03:04:05Z"));
  EXPECT_EQ(created(integer(1, static_cast<std::uint64_t>(-1))), at("1969-12-31T23:59:59Z"));
  EXPECT_EQ(created(integer(1, 1ULL << 62U)), at("9999-12-31T23:59:59Z"));
  EXPECT_EQ(created(integer(1, 1ULL << 63U)), at("0001-01-01T00:00:00Z"));
}

TEST(ProtobufJson, EscapesTexts) {
  const auto name = [](const std::string& text) { return json("Pod", bytes(1, bytes(1, text))); };
  const auto is = [](const char* text) {
    return fmt::format(R"({{"metadata":{{"name":"{}"}}}})", text);
  };
  EXPECT_EQ(name("a\"b\\c\nd"), is(R"(a\"b\\c\nd)"));
  EXPECT_EQ(name(std::string("\0\x1f", 2)), is(R"(\u0000\u001f)"));
  EXPECT_EQ(name("wörd, more than eight bytes"), is("wörd, more than eight bytes"));
  EXPECT_EQ(name("bad \xff\xfe bytes"), is("bad \xEF\xBF\xBD\xEF\xBF\xBD bytes"));
  EXPECT_EQ(name("\xc3"), is("\xEF\xBF\xBD"));
}

TEST(ProtobufJson, PassesOverWhatItDoesNotKnow) {
  const std::string fixed64 = testing::varint(61U << 3U | 1U) + std::string(8, 'x');
  const std::string fixed32 = testing::varint(62U << 3U | 5U) + std::string(4, 'x');
  EXPECT_EQ(json("Pod", bytes(900, "whatever") + fixed64 + fixed32 + integer(63, 5) +
                            bytes(1, bytes(17, "managed") + bytes(1, "a"))),
            R"({"metadata":{"name":"a"}})");
}

TEST(ProtobufJson, GathersElementsThatStandApart) {
  EXPECT_EQ(spec(bytes(2, bytes(1, "a")) + bytes(10, "n") + bytes(2, bytes(1, "b")) +
                 bytes(7, bytes(1, "x")) + bytes(2, bytes(1, "c")) + bytes(7, bytes(1, "y"))),
            R"({"spec":{"containers":[{"name":"a"},{"name":"b"},{"name":"c"}],"nodeName":"n",)"
            R"("nodeSelector":{"x":"","y":""}}})");
  // The last one of a repeated field counts.
  EXPECT_EQ(spec(bytes(10, "n") + bytes(10, "m")), R"({"spec":{"nodeName":"m"}})");
}

TEST(ProtobufJson, ErrorsNameThePlace) {
  const std::string truncated =
      "\x0a\x05"
      "ab";
  EXPECT_EQ(json("Pod", truncated), "error: malformed protobuf");
  EXPECT_EQ(json("Pod", bytes(1, truncated)), "error: metadata: malformed protobuf");
  EXPECT_EQ(spec(bytes(2, "") + bytes(2, integer(1, 3))),
            "error: spec.containers[1].name: expected a string");
  EXPECT_EQ(spec(bytes(25, "x")), "error: spec.priority: expected a number");
  EXPECT_EQ(spec(integer(18, 1)), "error: spec.affinity: expected a message");
  EXPECT_EQ(spec(integer(7, 1)), "error: spec.nodeSelector: expected a message");
  EXPECT_EQ(spec(bytes(7, bytes(1, "k") + integer(2, 1))),
            "error: spec.nodeSelector.k: expected a string");
  EXPECT_EQ(spec(bytes(32, bytes(1, "cpu") + bytes(2, truncated))),
            "error: spec.overhead.cpu: malformed protobuf");
  EXPECT_EQ(json("Node", bytes(2, bytes(4, "x"))),
            "error: spec.unschedulable: expected true or false");
  EXPECT_EQ(json("Pod", std::string("\x0b", 1)), "error: malformed protobuf");      // a group
  EXPECT_EQ(json("Pod", std::string("\x02\x00", 2)), "error: malformed protobuf");  // number 0
  EXPECT_EQ(json("Pod", std::string(11, '\xff')), "error: malformed protobuf");
}

TEST(ProtobufJson, IsBounded) {
  const std::string huge(std::size_t{17} << 20U, ' ');
  EXPECT_TRUE(json("Pod", huge).starts_with("error: the object has 17825792 bytes"));
  // Control characters grow sixfold.
  const std::string grows(std::size_t{4} << 20U, '\x01');
  EXPECT_EQ(json("Pod", bytes(1, bytes(1, grows))), "error: metadata: the object is too large");
  const std::string two = bytes(14, "") + bytes(13, "");
  std::string many;
  for (int i = 0; i < (1 << 20) + 1; ++i) many += two;
  EXPECT_EQ(json("Pod", bytes(1, many)), "error: metadata: the message has too many fields");
}

TEST(ProtobufJson, ReadsStatuses) {
  const std::string details = bytes(1, "a") + bytes(3, "pods") +
                              bytes(4, bytes(1, "r") + bytes(2, "m") + bytes(3, "f")) +
                              integer(5, 3);
  const std::string text =
      json("Status", bytes(1, bytes(3, "token")) + bytes(2, "Failure") + bytes(3, "too old") +
                         bytes(4, "Expired") + bytes(5, details) + integer(6, 410));
  Decoder decoder;
  const auto status = decoder.status(text);
  ASSERT_TRUE(status) << text;
  const StatusObject wanted{.code = 410,
                            .status = "Failure",
                            .reason = "Expired",
                            .message = "too old",
                            .retry_after_seconds = 3,
                            .kind = "pods",
                            .name = "a",
                            .causes = {{.reason = "r", .message = "m", .field = "f"}},
                            .continue_token = "token"};
  EXPECT_EQ(*status, wanted);
  EXPECT_EQ(protobuf_message("Secret"), nullptr);
}

void check_depth(const ProtobufMessage& table, int depth) {
  ASSERT_LT(depth, 12) << "a table contains itself";
  for (const ProtobufMember& member : table.members) {
    EXPECT_EQ(base::json_escaped(member.name), member.name);
    const bool nested = member.kind == Kind::message || member.kind == Kind::inlined;
    ASSERT_EQ(member.message != nullptr, nested) << member.name;
    if (nested) check_depth(*member.message, depth + 1);
  }
}

TEST(ProtobufJson, TablesAreFinite) {
  for (const char* kind : {"Pod", "Node", "Status"}) check_depth(message(kind), 0);
}

// A random object of a table, as JSON and as protobuf.
class Drawn {
 public:
  explicit Drawn(std::uint64_t seed) : rng_(seed) {}

  struct Both {
    std::string json;  // of an object: without its braces
    std::string protobuf;
  };

  Both object(const ProtobufMessage& table) {
    Both both;
    for (const ProtobufMember& member : shuffled(table)) {
      if (rng_.below(5) == 0) both.protobuf += bytes(59, "unknown");
      if (rng_.below(3) == 0) {
        // As the API server's encoder does: an absent string is present and empty.
        const bool empty = member.kind == Kind::text && member.shape == Shape::single;
        if (empty && rng_.below(2) == 0) both.protobuf += bytes(member.number, "");
        continue;
      }
      const Both one = member_of(member);
      both.json += (both.json.empty() || one.json.empty() ? "" : ",") + one.json;
      both.protobuf += one.protobuf;
    }
    return both;
  }

 private:
  std::vector<ProtobufMember> shuffled(const ProtobufMessage& table) {
    std::vector<ProtobufMember> members(table.members.begin(), table.members.end());
    for (std::size_t i = members.size(); i > 1; --i) {
      std::swap(members[i - 1], members[rng_.below(i)]);
    }
    return members;
  }

  Both member_of(const ProtobufMember& member) {
    if (member.kind == Kind::inlined) {
      Both inner = object(*member.message);
      inner.protobuf = bytes(member.number, inner.protobuf);
      return inner;
    }
    const std::string key = fmt::format("\"{}\":", member.name);
    Both both;
    if (member.shape == Shape::single) {
      const Both one = value(member, false);
      return {key + one.json, one.protobuf};
    }
    const bool list = member.shape == Shape::list;
    const std::uint64_t count = 1 + rng_.below(3);
    for (std::uint64_t i = 0; i < count; ++i) {
      if (i > 0) both.json += ',';
      if (list) {
        const Both one = value(member, true);
        both.json += one.json;
        both.protobuf += one.protobuf;
      } else {
        ProtobufMember entry = member;
        entry.number = 2;
        const Both one = value(entry, true);
        const std::string name = word();
        both.json += fmt::format("\"{}\":{}", base::json_escaped(name), one.json);
        both.protobuf += bytes(member.number, bytes(1, name) + one.protobuf);
      }
    }
    both.json = key + (list ? "[" : "{") + both.json + (list ? "]" : "}");
    return both;
  }

  // Words with a meaning in some field.
  std::string word() {
    static constexpr std::array kWords{"In",
                                       "NotIn",
                                       "Exists",
                                       "DoesNotExist",
                                       "Gt",
                                       "Equal",
                                       "Always",
                                       "PodScheduled",
                                       "True",
                                       "False",
                                       "Never",
                                       "NoSchedule",
                                       "Ignore",
                                       "Honor",
                                       "metadata.name",
                                       "cpu",
                                       "memory",
                                       "nvidia.com/gpu",
                                       "UDP",
                                       "Running",
                                       "ScheduleAnyway",
                                       "Infeasible",
                                       "a",
                                       "b",
                                       "PodResizePending",
                                       "a \"quoted\" wörd\n\tand more",
                                       "\x01\x02",
                                       "main",
                                       "rack",
                                       "default"};
    return kWords.at(rng_.below(kWords.size()));
  }
  std::string amount() {
    static constexpr std::array kAmounts{"0", "1", "250m", "4", "16Gi", "1500M", "8"};
    return kAmounts.at(rng_.below(kAmounts.size()));
  }

  Both value(const ProtobufMember& member, bool may_be_empty) {
    switch (member.kind) {
      case Kind::text: {
        const std::string text = may_be_empty && rng_.below(8) == 0 ? "" : word();
        return {fmt::format("\"{}\"", base::json_escaped(text)), bytes(member.number, text)};
      }
      case Kind::number: {
        const auto number = static_cast<std::int64_t>(rng_.below(200)) - 20;
        return {fmt::format("{}", number),
                integer(member.number, static_cast<std::uint64_t>(number))};
      }
      case Kind::boolean: {
        const bool truth = rng_.below(2) == 0;
        return {truth ? "true" : "false", integer(member.number, truth ? 1 : 0)};
      }
      case Kind::quantity: {
        const std::string text = amount();
        return {fmt::format("\"{}\"", text), bytes(member.number, bytes(1, text))};
      }
      case Kind::time: {
        const std::uint64_t second = rng_.below(60);
        return {fmt::format("\"2026-01-02T03:04:{:02}Z\"", second),
                bytes(member.number, integer(1, 1767323040 + second))};
      }
      default: {
        const Both inner = object(*member.message);
        return {"{" + inner.json + "}", bytes(member.number, inner.protobuf)};
      }
    }
  }

  base::Rng rng_;
};

RC_GTEST_PROP(ProtobufJson, PodsAreTheSameEitherWay, (std::uint64_t seed)) {
  const Drawn::Both drawn = Drawn(seed).object(message("Pod"));
  Decoder decoder;
  const auto wanted = decoder.pod("{" + drawn.json + "}");
  RC_ASSERT(wanted.has_value());
  const std::string text = json("Pod", drawn.protobuf);
  const auto pod = decoder.pod(text);
  if (!pod || *pod != *wanted) RC_LOG() << drawn.json << "\n" << text;
  RC_ASSERT(pod.has_value());
  RC_ASSERT(*pod == *wanted);
}

RC_GTEST_PROP(ProtobufJson, NodesAreTheSameEitherWay, (std::uint64_t seed)) {
  const Drawn::Both drawn = Drawn(seed).object(message("Node"));
  Decoder decoder;
  const auto wanted = decoder.node("{" + drawn.json + "}");
  const auto node = decoder.node(json("Node", drawn.protobuf));
  RC_ASSERT(wanted.has_value() && node.has_value());
  RC_ASSERT(*node == *wanted);
}

RC_GTEST_PROP(ProtobufJson, BrokenMessagesAreErrorsOrJson,
              (std::uint64_t seed, std::uint32_t at, std::uint8_t byte)) {
  std::string content = Drawn(seed).object(message("Pod")).protobuf;
  if (content.empty()) return;
  content[at % content.size()] = static_cast<char>(byte);
  ProtobufJson transcoder;
  const auto text = transcoder.text(message("Pod"), content);
  if (text) RC_ASSERT(base::JsonCheck::valid(*text));
}

std::string file(const std::string& name) {
  // Tests run in the root of the source tree.
  std::ifstream in("src/codec/testdata/" + name, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_FALSE(text.empty()) << name;
  return text;
}

// The same lists in both forms, captured from Kubernetes 1.34.
struct Captured {
  ListPage json;
  ProtobufPage protobuf;
};
void check_pages(const Captured& lists, std::string_view kind) {
  EXPECT_EQ(lists.protobuf.kind, kind);
  EXPECT_FALSE(lists.json.resource_version.empty());
  EXPECT_EQ(lists.protobuf.page.resource_version, lists.json.resource_version);
  ASSERT_EQ(lists.protobuf.page.items.size(), lists.json.items.size());
}

TEST(ProtobufJson, PodsOfTheServerAreTheSameEitherWay) {
  Decoder decoder;
  const std::string text = file("server_pods.json");
  const std::string content = file("server_pods.pb");
  const Captured lists{.json = decoder.list(text).value(),
                       .protobuf = protobuf_list(content).value()};
  check_pages(lists, "Pod");
  ASSERT_EQ(lists.json.items.size(), 2U);  // one with all rules, one that is running
  for (std::size_t i = 0; i < 2; ++i) {
    const auto wanted = decoder.pod(lists.json.items[i]);
    ASSERT_TRUE(wanted) << wanted.error().message;
    const std::string transcoded = json("Pod", std::string(lists.protobuf.page.items[i]));
    const auto pod = decoder.pod(transcoded);
    ASSERT_TRUE(pod) << transcoded;
    EXPECT_EQ(*pod, *wanted) << transcoded;
  }
}

TEST(ProtobufJson, NodesOfTheServerAreTheSameEitherWay) {
  Decoder decoder;
  const std::string text = file("server_nodes.json");
  const std::string content = file("server_nodes.pb");
  const Captured lists{.json = decoder.list(text).value(),
                       .protobuf = protobuf_list(content).value()};
  check_pages(lists, "Node");
  ASSERT_EQ(lists.json.items.size(), 1U);
  const auto wanted = decoder.node(lists.json.items[0]);
  ASSERT_TRUE(wanted) << wanted.error().message;
  EXPECT_EQ(wanted->taints.size(), 2U);
  const std::string transcoded = json("Node", std::string(lists.protobuf.page.items[0]));
  const auto node = decoder.node(transcoded);
  ASSERT_TRUE(node) << transcoded;
  EXPECT_EQ(*node, *wanted) << transcoded;
}

}  // namespace
}  // namespace stowage::codec
