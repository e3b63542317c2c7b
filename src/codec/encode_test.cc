#include "codec/encode.h"

#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/json_writer.h"
#include "codec/json_in.h"
#include "codec/kubernetes.h"
#include "dialect/json.h"

namespace stowage::codec {
namespace {

constexpr std::size_t kMaxBytes = 1 << 20U;

TEST(Encode, WritesABinding) {
  const BindingRequest ask{.ns = "ml",
                           .name = "train",
                           .uid = "u-1",
                           .node = "n1",
                           .annotations = {{"stowage.dev/gpus", R"({"version":1})"}}};
  EXPECT_EQ(binding(ask),
            R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"train","namespace":"ml",)"
            R"("uid":"u-1","annotations":{"stowage.dev/gpus":"{\"version\":1}"}},)"
            R"("target":{"apiVersion":"v1","kind":"Node","name":"n1"}})");
  EXPECT_EQ(binding({.ns = "ml", .name = "train", .node = "n1"}),
            R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"train","namespace":"ml"},)"
            R"("target":{"apiVersion":"v1","kind":"Node","name":"n1"}})");
}

TEST(Encode, WritesAnEvent) {
  const EventRecord record{.name = event_name("train", 0x1234abcd),
                           .type = EventRecord::Type::warning,
                           .reason = "FailedScheduling",
                           .action = "Scheduling",
                           .note = "0/3 nodes are available",
                           .controller = "stowage",
                           .instance = "stowage-0",
                           .unix_micros = 1794729803000123,
                           .ns = "ml",
                           .object = "train",
                           .uid = "u-1",
                           .resource_version = "7"};
  EXPECT_EQ(event(record),
            R"({"apiVersion":"events.k8s.io/v1","kind":"Event",)"
            R"("metadata":{"name":"train.1234abcd","namespace":"ml"},)"
            R"("eventTime":"2026-11-15T08:03:23.000123Z","type":"Warning",)"
            R"("reason":"FailedScheduling","action":"Scheduling",)"
            R"("note":"0/3 nodes are available","reportingController":"stowage",)"
            R"("reportingInstance":"stowage-0","regarding":{"apiVersion":"v1","kind":"Pod",)"
            R"("namespace":"ml","name":"train","uid":"u-1","resourceVersion":"7"}})");
  const std::string about_node = event({.kind = "Node", .object = "n1"});
  EXPECT_NE(about_node.find(R"("namespace":"default")"), std::string::npos);
  EXPECT_NE(about_node.find(R"("kind":"Node","name":"n1"}})"), std::string::npos);
}

TEST(Encode, CutsTextsToWhatTheApiTakes) {
  std::string note;
  for (int i = 0; i < 600; ++i) note += "\xC3\xA4";  // 1200 bytes, two per character
  const std::string json = event({.note = note, .instance = std::string(200, 'i')});
  JsonText text;
  auto fields = text.open(json, kMaxBytes);
  ASSERT_TRUE(fields);
  std::string kept;
  std::string instance;
  const auto read_all = each_field(*fields, [&](std::string_view key, JsonValue& value) -> Status {
    if (key == "note") return read(value, kept);
    if (key == "reportingInstance") return read(value, instance);
    return {};
  });
  ASSERT_TRUE(read_all) << read_all.error().message;
  EXPECT_EQ(kept.size(), 1023U);  // 1020 bytes of whole characters and three dots
  EXPECT_TRUE(kept.ends_with("\xC3\xA4..."));
  EXPECT_EQ(instance.size(), 128U);
  EXPECT_LE(event_name(std::string(300, 'p'), -1).size(), 253U);
}

TEST(Encode, WritesPatches) {
  EXPECT_EQ(event_series_patch(3, 1794729803000123),
            R"({"series":{"count":3,"lastObservedTime":"2026-11-15T08:03:23.000123Z"}})");
  EXPECT_EQ(
      unschedulable_patch({.uid = "u-1", .message = "no \"room\"", .unix_seconds = 1794729803}),
      R"({"metadata":{"uid":"u-1"},"status":{"conditions":[{"type":"PodScheduled",)"
      R"("status":"False","reason":"Unschedulable","message":"no \"room\"",)"
      R"("lastTransitionTime":"2026-11-15T08:03:23Z"}]}})");
}

TEST(Encode, WritesTimes) {
  EXPECT_EQ(time_text(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(time_text(-1), "1969-12-31T23:59:59Z");
  EXPECT_EQ(time_text(std::numeric_limits<std::int64_t>::max()), "9999-12-31T23:59:59Z");
  EXPECT_EQ(time_text(std::numeric_limits<std::int64_t>::min()), "0001-01-01T00:00:00Z");
}

// The pod gets the annotations of the binding exactly as they were sent.
RC_GTEST_PROP(Encode, AnnotationsOfABindingComeBackAsTheyWere,
              (const std::map<std::string, std::string>& texts)) {
  dialect::Annotations annotations;
  const auto ascii = [](std::string text) {
    for (char& c : text) c = static_cast<char>(static_cast<unsigned char>(c) & 0x7FU);
    return text;
  };
  for (const auto& [key, value] : texts) annotations[ascii(key)] = ascii(value);
  Decoder decoder;
  const auto back = decoder.pod(binding({.name = "p", .annotations = annotations}));
  RC_ASSERT(back);
  RC_ASSERT(back->annotations == annotations);
}

// For arbitrary bytes, the fast parser reads our output, and the small reader of the dialects
// agrees with it.
RC_GTEST_PROP(Encode, TheParserReadsEveryTextThatWeWrite, (const std::string& text)) {
  base::JsonWriter writer(base::JsonWriter::Style::compact);
  writer.begin_object().key("text").value(text).end_object();
  const std::string json = writer.take();
  JsonText in;
  auto fields = in.open(json, kMaxBytes);
  RC_ASSERT(fields);
  const auto more = fields->next();
  RC_ASSERT(more && *more);
  const auto fast = fields->value().text();
  RC_ASSERT(fast);
  const auto small = dialect::parse_json(json);
  RC_ASSERT(small);
  RC_ASSERT(small->find("text")->text == *fast);
}

// On texts that are JSON objects, or nearly so, the two readers agree about the value.
RC_GTEST_PROP(Encode, TheTwoReadersAgree, ()) {
  const auto inner = *rc::gen::container<std::string>(
      rc::gen::elementOf(std::string("0123456789-+.eE\"\\u/bfnrtaldsu{}[]:, ")));
  const std::string json = "{\"a\":\"" + inner + "\"}";
  JsonText in;
  auto fields = in.open(json, kMaxBytes);
  const auto small = dialect::parse_json(json);
  if (!small || !fields) {
    // The fast parser checks only the parts that are read, so it may accept more, never less.
    RC_ASSERT(!small);
    return;
  }
  const dialect::Json* value = small->find("a");
  std::string last;
  const auto good = each_field(*fields, [&](std::string_view key, JsonValue& field) -> Status {
    return key == "a" && field.kind() == JsonValue::Kind::string ? read(field, last) : Status();
  });
  RC_ASSERT(good);
  if (value != nullptr && value->kind == dialect::Json::Kind::string) {
    RC_ASSERT(value->text == last);
  }
}

}  // namespace
}  // namespace stowage::codec
