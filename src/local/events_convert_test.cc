#include "local/events_convert.h"

#include <gtest/gtest.h>

#include "local/test_cluster.h"

namespace stowage::local {
namespace {

constexpr const char* kNew = R"({"apiVersion":"events.k8s.io/v1","kind":"Event",
    "metadata":{"name":"p.1"},"eventTime":"2026-01-02T03:04:05.000000Z","reason":"Scheduled",
    "type":"Normal","action":"Binding","reportingController":"stowage","reportingInstance":"s-0",
    "regarding":{"kind":"Pod","name":"p"},"note":"assigned","series":{"count":2}})";
constexpr const char* kCore = R"({"apiVersion":"v1","kind":"Event",
    "metadata":{"name":"p.1"},"eventTime":"2026-01-02T03:04:05.000000Z","reason":"Scheduled",
    "type":"Normal","action":"Binding","reportingComponent":"stowage","reportingInstance":"s-0",
    "involvedObject":{"kind":"Pod","name":"p"},"message":"assigned","series":{"count":2}})";

TEST(Events, AreTheSameInBothForms) {
  json::object event = parsed(kNew);
  event_to_core(event);
  EXPECT_EQ(event, parsed(kCore));
  event_from_core(event);
  EXPECT_EQ(event, parsed(kNew));
}

TEST(Events, OlderOnesAreShownWithDeprecatedFields) {
  json::object event = parsed(R"({"apiVersion":"v1","count":3,"source":{"component":"kubelet"},
      "firstTimestamp":"2026-01-02T03:04:05Z"})");
  event_from_core(event);
  EXPECT_EQ(event, parsed(R"({"apiVersion":"events.k8s.io/v1","deprecatedCount":3,
      "deprecatedSource":{"component":"kubelet"},
      "deprecatedFirstTimestamp":"2026-01-02T03:04:05Z"})"));
}

TEST(Events, NewOnesMustSayWhoAndWhenAndWhat) {
  Problems none;
  validate_new_event(parsed(kCore), none);
  EXPECT_TRUE(none.empty());
  for (const char* key :
       {"eventTime", "reportingComponent", "reportingInstance", "action", "reason", "type"}) {
    json::object event = parsed(kCore);
    event.erase(key);
    Problems problems;
    validate_new_event(event, problems);
    EXPECT_FALSE(problems.empty()) << key;
  }
  json::object once = parsed(kCore);
  once["series"] = json::object{{"count", 1}};
  Problems problems;
  validate_new_event(once, problems);
  EXPECT_FALSE(problems.empty());
}

}  // namespace
}  // namespace stowage::local
