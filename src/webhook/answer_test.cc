#include "webhook/answer.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/base64.h"
#include "base/testing/json_check.h"
#include "dialect/node_resources.h"
#include "dialect/table.h"

namespace stowage::webhook {
namespace {

std::string review(const std::string& pod) {
  return fmt::format(
      R"({{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{{"uid":"r-1",)"
      R"("kind":{{"group":"","version":"v1","kind":"Pod"}},"resource":{{"group":"","version":"v1",)"
      R"("resource":"pods"}},"namespace":"ml","operation":"CREATE","object":{},"oldObject":null,)"
      R"("dryRun":false,"options":{{"kind":"CreateOptions"}}}}}})",
      pod);
}

std::string in_spec(const std::string& spec) {
  return R"({"kind":"Pod","metadata":{"name":"train"},"spec":{)" + spec + "}}";
}
std::string containers(const std::string& list) {
  return in_spec(R"("containers":[)" + list + "]");
}

Options options() { return {.dialects = dialect::published_dialects(), .void_unrequested = false}; }
Options with_void() { return {.dialects = dialect::published_dialects()}; }

std::string field(const std::string& json, const std::string& key) {
  const std::string start = "\"" + key + "\":\"";
  const std::size_t at = json.find(start);
  if (at == std::string::npos) return {};
  return json.substr(at + start.size(), json.find('"', at + start.size()) - at - start.size());
}

struct Asked {
  Verdict verdict = Verdict::unreadable;
  std::string patch;  // decoded
  std::string body;
};
Asked ask(const std::string& body, const Options& with) {
  PodReviewReader reader;
  Answer answer = webhook::answer(reader, with, body);
  Asked asked{.verdict = answer.verdict, .body = answer.body};
  if (answer.code != 200) return asked;
  EXPECT_TRUE(base::JsonCheck::valid(answer.body)) << answer.body;
  EXPECT_EQ(field(answer.body, "uid"), "r-1");
  asked.patch = base::base64_decode(field(answer.body, "patch")).value_or("no base64");
  if (!asked.patch.empty()) {
    EXPECT_EQ(field(answer.body, "patchType"), "JSONPatch");
    EXPECT_TRUE(base::JsonCheck::valid(asked.patch)) << asked.patch;
  }
  return asked;
}

struct Row {
  const char* name;
  std::string pod;
  std::string patch;
};

void check(const std::vector<Row>& rows, const Options& with) {
  for (const Row& row : rows) {
    const Asked asked = ask(review(row.pod), with);
    EXPECT_EQ(asked.patch, row.patch) << row.name << ": " << asked.body;
    EXPECT_EQ(asked.verdict, row.patch.empty() ? Verdict::allowed : Verdict::patched) << row.name;
  }
}

constexpr const char* kShare = R"("resources":{"limits":{"stowage.dev/gpu-core":"50"},)"
                               R"("requests":{"stowage.dev/gpu-core":"50"}})";
constexpr const char* kDone =
    R"("resources":{"limits":{"stowage.dev/gpu-core":"50","stowage.dev/attachment":"1"},)"
    R"("requests":{"stowage.dev/gpu-core":"50","stowage.dev/attachment":"1"}})";

TEST(Webhook, AddsTheCarrierToContainersWithCards) {
  const auto op = [](const std::string& list, const std::string& amount) {
    return fmt::format(
        R"({{"op":"add","path":"/spec/{}/resources/limits/stowage.dev~1{}","value":"{}"}},)"
        R"({{"op":"add","path":"/spec/{}/resources/requests/stowage.dev~1{}","value":"{}"}})",
        list, amount.substr(0, amount.find('=')), amount.substr(amount.find('=') + 1), list,
        amount.substr(0, amount.find('=')), amount.substr(amount.find('=') + 1));
  };
  const std::string init = fmt::format(R"({{"name":"i",{}}})", kShare);
  const std::string sidecar = fmt::format(R"({{"name":"s","restartPolicy":"Always",{}}})", kShare);
  check({{"without cards", containers(R"({"name":"c"})"), ""},
         {"a share", containers(fmt::format(R"({{"name":"c",{}}})", kShare)),
          "[" + op("containers/0", "attachment=1") + "]"},
         {"it is there", containers(fmt::format(R"({{"name":"c",{}}})", kDone)), ""},
         {"the second of two",
          containers(fmt::format(R"({{"name":"a","resources":{{}}}},{{"name":"c",{}}})", kShare)),
          "[" + op("containers/1", "attachment=1") + "]"},
         {"limits alone, as in a handmade review",
          containers(R"({"name":"c","resources":{"limits":{"elasticgpu.io/gpu-memory":"256"}}})"),
          R"([{"op":"add","path":"/spec/containers/0/resources/limits/stowage.dev~1attachment",)"
          R"("value":"1"},{"op":"add","path":"/spec/containers/0/resources/requests",)"
          R"("value":{"stowage.dev/attachment":"1"}}])"},
         {"an amount of zero",
          containers(R"({"name":"c","resources":{"limits":{"nano-gpu/gpu-percent":"0"}}})"), ""},
         {"another plugin's card",
          containers(R"({"name":"c","resources":{"limits":{"nvidia.com/gpu":"1"}}})"), ""},
         {"init containers are told apart by their numbers, and sidecars stay",
          in_spec(fmt::format(R"("initContainers":[{0},{{"name":"x"}},{1},{0}],"containers":[])",
                              init, sidecar)),
          "[" + op("initContainers/0", "init-attachment=1") + "," +
              op("initContainers/2", "attachment=1") + "," +
              op("initContainers/3", "init-attachment=2") + "]"}},
        options());
}

TEST(Webhook, CorrectsCarriersThatTheAuthorWrote) {
  check({{"a wrong number",
          containers(R"({"name":"c","resources":{"limits":{"stowage.dev/gpu":"1",)"
                     R"("stowage.dev/attachment":"7"},"requests":{"stowage.dev/gpu":"1",)"
                     R"("stowage.dev/attachment":"1"}}})"),
          R"([{"op":"add","path":"/spec/containers/0/resources/limits/stowage.dev~1attachment",)"
          R"("value":"1"}])"},
         {"without cards",
          containers(R"({"name":"c","resources":{"limits":{"stowage.dev/init-attachment":"1"}}})"),
          R"([{"op":"remove",)"
          R"("path":"/spec/containers/0/resources/limits/stowage.dev~1init-attachment"}])"}},
        options());
}

TEST(Webhook, OnlyTheChosenDialectsGetCarriers) {
  const std::string pod =
      containers(R"({"name":"c","resources":{"limits":{"nano-gpu/gpu-percent":"5"}}})");
  Options few = options();
  few.dialects = {"native"};
  EXPECT_EQ(ask(review(pod), few).patch, "");
  EXPECT_NE(ask(review(pod), options()).patch, "");
}

TEST(Webhook, ContainersWithoutCardsGetNone) {
  const std::string added =
      R"({"op":"add","path":"/spec/containers/0/env","value":[{"name":"NVIDIA_VISIBLE_DEVICES",)"
      R"("value":"void"}]})";
  const auto replaced = [](int at) {
    return fmt::format(R"({{"op":"replace","path":"/spec/containers/0/env/{}","value":)"
                       R"({{"name":"NVIDIA_VISIBLE_DEVICES","value":"void"}}}})",
                       at);
  };
  const auto with_env = [](const std::string& env) {
    return containers(R"({"name":"c","env":)" + env + "}");
  };
  const std::string done = R"([{"name":"NVIDIA_VISIBLE_DEVICES","value":"void"}])";
  check({{"no environment", containers(R"({"name":"c"})"), "[" + added + "]"},
         {"null is none", containers(R"({"name":"c","env":null})"), "[" + added + "]"},
         {"another variable", with_env(R"([{"name":"A","value":"1"}])"),
          R"([{"op":"add","path":"/spec/containers/0/env/-","value":)"
          R"({"name":"NVIDIA_VISIBLE_DEVICES","value":"void"}}])"},
         {"the author wants all",
          with_env(R"([{"name":"A"},{"name":"NVIDIA_VISIBLE_DEVICES","value":"all"}])"),
          "[" + replaced(1) + "]"},
         {"twice, the last one counts",
          with_env(R"([{"name":"NVIDIA_VISIBLE_DEVICES","value":"void"},)"
                   R"({"name":"NVIDIA_VISIBLE_DEVICES","value":"all"}])"),
          "[" + replaced(1) + "]"},
         {"by reference",
          with_env(R"([{"name":"NVIDIA_VISIBLE_DEVICES","valueFrom":{"configMapKeyRef":{}}}])"),
          "[" + replaced(0) + "]"},
         {"void already", with_env(done), ""},
         {"another plugin's card",
          containers(R"({"name":"c","resources":{"limits":{"nvidia.com/gpu":"1"}}})"), ""},
         {"another plugin's part of a card",
          containers(R"({"name":"c","resources":{"limits":{"nvidia.com/mig-1g.5gb":"1"}}})"), ""},
         {"a device by claim",
          containers(R"({"name":"c","resources":{"claims":[{"name":"gpu"}]}})"), ""},
         {"Windows", in_spec(R"("os":{"name":"windows"},"containers":[{"name":"c"}])"), ""}},
        with_void());
}

TEST(Webhook, APodWithOurResourcesDoesNotHelpItselfToCards) {
  const std::string env =
      R"("env":[{"name":"NVIDIA_VISIBLE_DEVICES","value":"all"},{"name":"A","value":"1"},)"
      R"({"name":"CUDA_MPS_PIPE_DIRECTORY","value":"/x"}])";
  const std::string pod =
      containers(fmt::format(R"({{"name":"c",{0},{1}}},{{"name":"side",{0}}})", env, kDone));
  const Asked asked = ask(review(pod), with_void());
  EXPECT_EQ(asked.patch, R"([{"op":"remove","path":"/spec/containers/0/env/2"},)"
                         R"({"op":"remove","path":"/spec/containers/0/env/0"},)"
                         R"({"op":"replace","path":"/spec/containers/1/env/0","value":)"
                         R"({"name":"NVIDIA_VISIBLE_DEVICES","value":"void"}},)"
                         R"({"op":"remove","path":"/spec/containers/1/env/2"}])");
  EXPECT_NE(asked.body.find("Stowage decides which cards it sees"), std::string::npos);
  const std::string plain = containers(fmt::format(R"({{"name":"c",{}}})", env));
  EXPECT_EQ(ask(review(plain), options()).patch, "") << "CUDA_MPS_* of other pods is theirs";
}

TEST(Webhook, RefusesNamesThatAreProbablyMisspelled) {
  const struct {
    std::string pod;
    std::string words;
  } rows[] = {
      {containers(R"({"name":"c","resources":{"limits":{"stowage.dev/gpu-cores":"50"}}})"),
       "pod ml/train container \\\"c\\\": there is no resource stowage.dev/gpu-cores; did you mean "
       "stowage.dev/gpu-core?"},
      {in_spec(R"("initContainers":[{"name":"i","resources":{"requests":{"stowage.dev/x":"1"}}}])"),
       "there is no resource stowage.dev/x"},
      {R"({"metadata":{"generateName":"a-","annotations":{"stowage.dev/gpu-modle":"A100"}}})",
       "did you mean stowage.dev/gpu-model?"},
  };
  for (const auto& row : rows) {
    const Asked asked = ask(review(row.pod), with_void());
    EXPECT_EQ(asked.verdict, Verdict::refused) << row.pod;
    EXPECT_NE(asked.body.find(R"("allowed":false)"), std::string::npos) << asked.body;
    EXPECT_NE(asked.body.find(row.words), std::string::npos) << asked.body;
  }
}

TEST(Webhook, WarnsOfInitContainersWithCards) {
  const std::string pod =
      in_spec(fmt::format(R"("initContainers":[{{"name":"fetch",{}}}])", kShare));
  const Asked asked = ask(review(pod), options());
  EXPECT_NE(asked.body.find(R"("warnings":["container \"fetch\": an init container with a GPU)"),
            std::string::npos)
      << asked.body;
}

TEST(Webhook, AMirrorPodIsLeftAsItIs) {
  const std::string pod =
      R"({"metadata":{"name":"x","annotations":{"kubernetes.io/config.mirror":"1",)"
      R"("stowage.dev/oops":"1"}},"spec":{"containers":[{"name":"c"}]}})";
  EXPECT_EQ(ask(review(pod), with_void()).verdict, Verdict::allowed);
}

TEST(Webhook, ADefaultSchedulerIsForPodsWithCards) {
  Options with = options();
  with.default_scheduler = "stowage";
  const std::string card =
      R"("containers":[{"name":"c","resources":{"limits":{"nvidia.com/gpu":"1"}}}])";
  const std::string patch = R"([{"op":"add","path":"/spec/schedulerName","value":"stowage"}])";
  check({{"none named", in_spec(card), patch},
         {"the API server's default", in_spec(R"("schedulerName":"default-scheduler",)" + card),
          patch},
         {"another one", in_spec(R"("schedulerName":"mine",)" + card), ""},
         {"it is set", in_spec(R"("schedulerName":"stowage",)" + card), ""},
         {"on a node already", in_spec(R"("nodeName":"n1",)" + card), ""},
         {"no cards", containers(R"({"name":"c"})"), ""}},
        with);
}

TEST(Webhook, OtherRequestsPass) {
  std::string update = review(containers(R"({"name":"c"})"));
  update.replace(update.find("CREATE"), 6, "UPDATE");
  std::string other = review(R"({"spec":[]})");
  other.replace(other.find(R"("resource":"pods")"), 17, R"("resource":"jobs")");
  for (const std::string& body : {update, other}) {
    EXPECT_EQ(ask(body, with_void()).verdict, Verdict::allowed);
    EXPECT_EQ(ask(body, with_void()).patch, "");
  }
}

TEST(Webhook, WhatCannotBeReadIsAClearError) {
  std::string deep = "{\"request\":";
  for (int i = 0; i < 1'000'000; ++i) deep += "[";
  const struct {
    std::string body;
    std::string words;
  } rows[] = {
      {"", "cannot be read"},
      {"null", "cannot be read"},
      {"{}", "expected an AdmissionReview of admission.k8s.io/v1"},
      {R"({"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview"})",
       "expected an AdmissionReview"},
      {R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"})", "request.uid"},
      {R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u",)"
       R"("operation":"CREATE","resource":{"resource":"pods"}}})",
       "request.object: missing"},
      {review("[]"), "request.object"},
      {review(containers(std::string(3'000'000, ' ') + R"({"name":"c"})")) +
           std::string(200'000, ' '),
       "at most 3145728 are read"},
      {deep, "cannot be read"},
  };
  for (const auto& row : rows) {
    PodReviewReader reader;
    const Answer answer = webhook::answer(reader, with_void(), row.body);
    EXPECT_EQ(answer.verdict, Verdict::unreadable) << row.words;
    EXPECT_EQ(answer.code, 400) << row.words;
    EXPECT_NE(answer.body.find(row.words), std::string::npos) << answer.body.substr(0, 300);
  }
}

// The API server can read such a pod: an error would let it pass without a review.
TEST(Webhook, APodThatCannotBeReadIsRefused) {
  const struct {
    std::string body;
    std::string words;
  } rows[] = {
      {review(R"({"spec":{"containers":[{"env":{}}]}})"), "spec.containers[0].env"},
      {review(R"({"spec":{"containers":[null]}})"), "spec.containers[0]"},
      {review(R"({"spec":{"containers":[{"resources":{"limits":{"cpu":"x"}}}]}})"), "limits.cpu"},
  };
  for (const auto& row : rows) {
    PodReviewReader reader;
    const Answer answer = webhook::answer(reader, with_void(), row.body);
    EXPECT_EQ(answer.verdict, Verdict::refused) << row.words;
    EXPECT_EQ(answer.code, 200) << row.words;
    EXPECT_NE(answer.body.find(R"("allowed":false)"), std::string::npos) << answer.body;
    EXPECT_NE(answer.body.find(row.words), std::string::npos) << answer.body;
  }
}

// Within the bytes of a body there may be very many containers and variables.
TEST(Webhook, ListsAreBounded) {
  const auto many = [](const std::string& one, std::size_t count) {
    std::string list = one;
    for (std::size_t i = 1; i < count; ++i) list += "," + one;
    return list;
  };
  EXPECT_EQ(ask(review(containers(many("{}", kContainersMax))), with_void()).verdict,
            Verdict::patched);
  EXPECT_EQ(ask(review(containers(many("{}", kContainersMax + 1))), with_void()).verdict,
            Verdict::refused);
  const auto variables = [&](std::size_t count) {
    return containers(R"({"env":[)" + many(R"({"name":"A"})", count) + "]}");
  };
  EXPECT_EQ(ask(review(variables(kVariablesMax)), with_void()).verdict, Verdict::patched);
  EXPECT_EQ(ask(review(variables(kVariablesMax + 1)), with_void()).verdict, Verdict::refused);
  const std::string annotations = [&] {
    std::string list;
    for (int i = 0; i < 50'000; ++i) {
      list += fmt::format(R"({}"stowage.dev/{}":"")", i == 0 ? "" : ",", i);
    }
    return list;
  }();
  const Asked asked =
      ask(review(R"({"metadata":{"annotations":{)" + annotations + "}}}"), with_void());
  EXPECT_EQ(asked.verdict, Verdict::refused);
  EXPECT_LT(asked.body.size(), 2'000U);
}

// Runs in the root of the repository. Pods with resources that nobody matches would start without
// their carriers.
TEST(Webhook, TheConfigurationMatchesEveryResource) {
  std::ifstream file("deploy/webhook.yaml");
  std::stringstream read;
  read << file.rdbuf();
  const std::string text = read.str();
  std::vector<std::string> prefixes;
  const std::string start = "name.startsWith('";
  for (std::size_t at = text.find(start); at != std::string::npos; at = text.find(start, at)) {
    at += start.size();
    prefixes.push_back(text.substr(at, text.find('\'', at) - at));
  }
  ASSERT_EQ(prefixes.size() % 3, 0U) << "three conditions, each with all of them";
  for (const dialect::Dialect& each : dialect::dialects()) {
    for (const dialect::CardAmount& amount : each.publishes) {
      EXPECT_EQ(std::count_if(
                    prefixes.begin(), prefixes.end(),
                    [&](const std::string& prefix) { return amount.resource.starts_with(prefix); }),
                3)
          << amount.resource;
    }
  }
}

TEST(Webhook, PathsNameASchedulerOrNone) {
  EXPECT_TRUE(is_webhook_path("/mutate"));
  EXPECT_TRUE(is_webhook_path("/mutate/x"));
  EXPECT_FALSE(is_webhook_path("/mutated"));
  EXPECT_EQ(scheduler_of("/mutate").value(), "");
  EXPECT_EQ(scheduler_of("/mutate/scheduler/team-a.x").value(), "team-a.x");
  for (const char* path : {"/mutate/", "/mutate/scheduler/", "/mutate/scheduler/a/b",
                           "/mutate/scheduler/A", "/mutate/other"}) {
    EXPECT_FALSE(scheduler_of(path)) << path;
  }
}

}  // namespace
}  // namespace stowage::webhook
