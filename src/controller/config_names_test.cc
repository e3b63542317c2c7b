#include <functional>
#include <iterator>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "controller/config.h"
#include "controller/config_check.h"

namespace stowage::controller {
namespace {

TEST(Config, OldNamesAreReadWithAWarning) {
  struct Row {
    const char* old_text;
    const char* text;
    const char* warning;
    std::function<std::string(const Config&)> value;
  };
  const auto number = [](auto value) { return fmt::format("{}", value); };
  const std::string tls = "tls: {certFile: c, keyFile: k, clientCAFile: a, ";
  const std::string old_tls = "extenders: [{" + tls + "clientRequired: true}}]";
  const std::string new_tls = "extenders: [{" + tls + "clientCertRequired: true}}]";
  const Row rows[] = {
      {"extenders: [{bindLimitSeconds: 7}]", "extenders: [{bindTimeoutSeconds: 7}]",
       "extenders[0].bindLimitSeconds: deprecated; use extenders[0].bindTimeoutSeconds",
       [&](const Config& c) { return number(c.extenders[0].bind_limit.count()); }},
      {old_tls.c_str(), new_tls.c_str(),
       "extenders[0].tls.clientRequired: deprecated; use extenders[0].tls.clientCertRequired",
       [&](const Config& c) { return number(c.extenders[0].tls->client_required); }},
      {"leaderElection: {advertise: a.b}", "leaderElection: {advertiseAddress: a.b}",
       "leaderElection.advertise: deprecated; use leaderElection.advertiseAddress",
       [&](const Config& c) { return c.leader_election.advertise; }},
      {"agents: {accounts: [me]}", "agents: {allowedUsers: [me]}",
       "agents.accounts: deprecated; use agents.allowedUsers",
       [&](const Config& c) { return c.agents.accounts.front(); }},
      {"agents: {loadCounts: 7s}", "agents: {loadMaxAge: 7s}",
       "agents.loadCounts: deprecated; use agents.loadMaxAge",
       [&](const Config& c) { return number(c.agents.load_counts.count()); }},
      {"reservation: {patience: 7s}", "reservation: {pendingThreshold: 7s}",
       "reservation.patience: deprecated; use reservation.pendingThreshold",
       [&](const Config& c) { return number(c.engine.patience_ns); }},
      {"reservation: {limit: 7s}", "reservation: {timeout: 7s}",
       "reservation.limit: deprecated; use reservation.timeout",
       [&](const Config& c) { return number(c.engine.nomination_ns); }},
      {"api: {callsPerSecond: 7}", "api: {qps: 7}", "api.callsPerSecond: deprecated; use api.qps",
       [&](const Config& c) { return number(c.api.calls_per_second); }},
      {"api: {bindsInFlight: 7}", "api: {maxBindsInFlight: 7}",
       "api.bindsInFlight: deprecated; use api.maxBindsInFlight",
       [&](const Config& c) { return number(c.api.binds_in_flight); }},
      {"events: {perSecond: 7}", "events: {qps: 7}", "events.perSecond: deprecated; use events.qps",
       [&](const Config& c) { return number(c.events.per_second); }},
  };
  std::size_t deprecated = 0;
  for (const auto& key : config_keys()) deprecated += key.now.empty() ? 0U : 1U;
  EXPECT_EQ(deprecated, std::size(rows)) << "a row for each";
  for (const Row& row : rows) {
    const auto old = parse_config(row.old_text, "c.yaml");
    const auto now = parse_config(row.text, "c.yaml");
    ASSERT_TRUE(old && now) << row.old_text;
    EXPECT_EQ(row.value(*old), row.value(*now));
    EXPECT_NE(row.value(*old), row.value(*parse_config("extenders: [{" + tls + "}}]", "c.yaml")));
    EXPECT_TRUE(now->warnings.empty()) << row.text;
    ASSERT_EQ(old->warnings.size(), 1U) << row.old_text;
    EXPECT_EQ(old->warnings[0], fmt::format("c.yaml:1: {}", row.warning));
    EXPECT_EQ(warnings_of(*old).front(), old->warnings[0]) << "said at the start";
  }
}

// "a.b: x, y or z": each of the words is valid, and no other.
TEST(Config, TheListedWordsOfAKeyAreThoseThatItAccepts) {
  std::size_t keys = 0;
  for (const auto& key : config_keys()) {
    if (key.type.find(" or ") == std::string::npos) continue;
    ++keys;
    std::string words = key.type;
    words.replace(words.find(" or "), 4, ", ");
    words += ", nonsense";
    while (!words.empty()) {
      const std::string word = words.substr(0, words.find(", "));
      words.erase(0, word.size() + 2);
      std::string text = key.path + ": " + word;
      for (std::size_t at = text.find('.'); at != std::string::npos; at = text.find('.')) {
        const std::string inner = text.substr(at + 1);
        const std::string outer = text.substr(0, at);
        text = outer.ends_with("[]") ? outer.substr(0, outer.size() - 2) + ": [{" + inner + "}]"
                                     : outer + ": {" + inner + "}";
      }
      if (text.starts_with("profiles")) text.insert(text.find('{') + 1, "name: stowage, ");
      const auto config = parse_config(text, "c.yaml");
      EXPECT_EQ(config.has_value(), word != "nonsense") << text;
    }
  }
  EXPECT_EQ(keys, 6U);
}

}  // namespace
}  // namespace stowage::controller
