#include "kube/credentials.h"

#include <gtest/gtest.h>

#include "kube/exec_credential.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/temp_folder.h"

namespace stowage::kube {
namespace {

using std::chrono::milliseconds;
using testing::run_until;
using testing::TempFolder;

constexpr const char* kExecVersion = "client.authentication.k8s.io/v1";

const WallTime kNow = WallTime{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}};

class CredentialsTest : public ::testing::Test {
 protected:
  CredentialSource& source(Credentials credentials, CredentialOptions options = {}) {
    config_.credentials = std::move(credentials);
    config_.server_url = "https://a:1";
    options.wall_clock = [this] { return now_; };
    options.failure_pause = milliseconds{1};
    source_.emplace(loop_, config_, std::move(options));
    return *source_;
  }

  // The outcome of fetch().
  std::string fetch() {
    std::optional<Status> result;
    source_->fetch([&](Status status) { result = std::move(status); });
    EXPECT_FALSE(result.has_value()) << "called back too early";
    EXPECT_TRUE(run_until(loop_, [&] { return result.has_value(); }));
    return result && *result ? "ok" : result->error().message;
  }

  ExecPlugin plugin(const std::string& script) const {
    return {.api_version = kExecVersion, .command = folder_.write_script("plugin", script)};
  }

  static std::string print(const std::string& status) {
    return "printf '%s' '{\"kind\":\"ExecCredential\",\"apiVersion\":\"" +
           std::string(kExecVersion) + "\",\"status\":" + status + "}'\n";
  }

  TempFolder folder_;
  net::EventLoop loop_;
  ClientConfig config_;
  WallTime now_ = kNow;
  std::optional<CredentialSource> source_;
};

TEST_F(CredentialsTest, WhatIsFixedIsThereAtOnceAndCannotBeRenewed) {
  EXPECT_EQ(source(BearerToken{"t"}).current()->authorization, "Bearer t");
  EXPECT_FALSE(source_->rejected(source_->current()->generation));
  EXPECT_EQ(source(BasicLogin{"me", "pw"}).current()->authorization, "Basic bWU6cHc=");
  EXPECT_EQ(source(std::monostate{}).current()->authorization, "");
}

TEST_F(CredentialsTest, ATokenFileIsReadAgainWhenItsTimeHasCome) {
  const std::string path = folder_.write("token", "one\n");
  source(BearerTokenFile{path}, {.reread_every = milliseconds{20}});
  EXPECT_EQ(source_->current()->authorization, "Bearer one");
  folder_.write("token", "two\n");
  EXPECT_TRUE(run_until(loop_, [&] { return source_->current()->authorization == "Bearer two"; }));
  folder_.write("token", "");  // half written: the old one stays in use
  testing::run_for(loop_, milliseconds{50});
  EXPECT_EQ(source_->current()->authorization, "Bearer two");
  EXPECT_GT(source_->counters().failures, 0U);
}

TEST_F(CredentialsTest, ARefusedTokenIsReadAgainAtOnce) {
  const std::string path = folder_.write("token", "one");
  source(BearerTokenFile{path});
  const std::uint64_t first = source_->current()->generation;
  EXPECT_FALSE(source_->rejected(first)) << "the file says the same";
  folder_.write("token", "two");
  EXPECT_TRUE(source_->rejected(first));
  EXPECT_EQ(source_->current()->authorization, "Bearer two");
  EXPECT_TRUE(source_->rejected(first)) << "somebody else has renewed it already";
}

TEST_F(CredentialsTest, AMissingTokenFileIsAnErrorThatNamesIt) {
  source(BearerTokenFile{"/no/such"});
  EXPECT_EQ(source_->current(), nullptr);
  EXPECT_EQ(fetch(), "cannot read /no/such: No such file or directory");
}

TEST_F(CredentialsTest, APluginIsRunOnceForAllWhoWait) {
  source(plugin("echo run >> " + folder_.path("runs") + "\n" +
                "printf '%s' \"$KUBERNETES_EXEC_INFO\" > " + folder_.path("info") + "\n" +
                print(R"({"token":"abc"})")));
  EXPECT_EQ(source_->current(), nullptr);
  int ready = 0;
  for (int i = 0; i < 3; ++i)
    source_->fetch([&](const Status& status) { ready += status ? 1 : 0; });
  ASSERT_TRUE(run_until(loop_, [&] { return ready == 3; }));
  ASSERT_NE(source_->current(), nullptr);
  EXPECT_EQ(source_->current()->authorization, "Bearer abc");
  EXPECT_EQ(source_->counters().refreshes, 1U);
  std::ifstream info(folder_.path("info"));
  const std::string text((std::istreambuf_iterator<char>(info)), std::istreambuf_iterator<char>());
  EXPECT_EQ(text, R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",)"
                  R"("spec":{"interactive":false}})");
}

TEST_F(CredentialsTest, APluginIsToldOfTheClusterIfItWantsTo) {
  const ExecPlugin exec{.api_version = kExecVersion, .command = "x", .provide_cluster_info = true};
  config_.server_url = "https://a:1";
  config_.ca_pem = "foo";
  config_.tls_server_name = "api";
  EXPECT_EQ(exec_info(exec, config_),
            R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",)"
            R"("spec":{"interactive":false,"cluster":{"server":"https://a:1",)"
            R"("tls-server-name":"api","certificate-authority-data":"Zm9v"}}})");
}

TEST_F(CredentialsTest, APluginIsRunAgainAfterItsTimeAndAfterARefusal) {
  source(plugin(print(R"({"token":"abc","expirationTimestamp":"2026-01-01T01:00:00Z"})")));
  ASSERT_EQ(fetch(), "ok");
  ASSERT_NE(source_->current(), nullptr);
  EXPECT_TRUE(source_->rejected(source_->current()->generation));
  EXPECT_EQ(source_->current(), nullptr);
  ASSERT_EQ(fetch(), "ok");
  ASSERT_NE(source_->current(), nullptr);
  EXPECT_EQ(source_->counters().refreshes, 2U);
  now_ = kNow + std::chrono::hours{2};
  EXPECT_EQ(source_->current(), nullptr);
  EXPECT_EQ(fetch(),
            "the credential plugin returned a credential that expires at 2026-01-01T01:00:00Z: "
            "renew the login or set the clock");
}

TEST_F(CredentialsTest, APluginMayBringACertificate) {
  source(plugin(print(R"({"clientCertificateData":"CERT\\nX","clientKeyData":"KEY"})")));
  ASSERT_EQ(fetch(), "ok");
  EXPECT_EQ(source_->current()->authorization, "");
  EXPECT_EQ(source_->current()->key_pem, "KEY");
}

TEST_F(CredentialsTest, APluginThatFailsSaysWhy) {
  struct Row {
    const char* name;
    std::string script;
    const char* error;
  };
  const std::vector<Row> rows = {
      {"exit code", "echo 'please log in' >&2; exit 2\n", "ended with exit code 2: please log in"},
      {"no JSON", "echo hello\n", "printed no usable ExecCredential: "},
      {"another kind", "echo '{\"kind\":\"Pod\"}'\n", "kind is \"Pod\""},
      {"another version", "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"v2\"}'\n",
       "apiVersion is \"v2\", the kubeconfig asks for \"client.authentication.k8s.io/v1\""},
      {"nothing in it", print("{}"), "it has neither a token nor a client certificate"},
      {"half a certificate", print(R"({"clientKeyData":"KEY"})"), "must come together"},
      {"a forged header", print(R"({"token":"a\\r\\nX: y"})"),
       "characters that are not allowed in a token"},
      {"no time", print(R"({"token":"a","expirationTimestamp":"soon"})"), "\"soon\" is not a time"},
      {"too slow", "sleep 100\n", "did not end within 1 s"},
  };
  for (const Row& row : rows) {
    ExecPlugin exec = plugin(row.script);
    exec.install_hint = "see the manual";
    source(exec, {.exec_time_limit = std::chrono::seconds{row.name == rows.back().name ? 1 : 60}});
    const std::string error = fetch();
    EXPECT_NE(error.find(row.error), std::string::npos) << row.name << ": " << error;
    EXPECT_NE(error.find("see the manual"), std::string::npos) << row.name;
    EXPECT_EQ(source_->current(), nullptr) << row.name;
    EXPECT_EQ(source_->counters().failures, 1U) << row.name;
  }
}

TEST_F(CredentialsTest, DestroyedWhileThePluginRunsItKillsIt) {
  source(plugin("sleep 1000\n"));
  bool called = false;
  source_->fetch([&](const Status&) { called = true; });
  testing::run_for(loop_, milliseconds{30});
  source_.reset();
  testing::run_for(loop_, milliseconds{1});
  EXPECT_FALSE(called);
}

}  // namespace
}  // namespace stowage::kube
