#include "codec/picker.h"

#include <gtest/gtest.h>

#include "base/testing/json_check.h"

namespace stowage::codec {
namespace {

TEST(PickerQuestion, HasThePodAndTheCandidatesInTheirOrder) {
  dialect::PodObject object{.ns = "ml", .name = "train", .uid = "u"};
  object.annotations = {{"runtime", "3h"}, {"long", std::string(257, 'x')}};
  core::PodSpec pod{.uid = "u", .name = "ml/train", .priority = 5};
  core::ContainerSpec plain{.name = "side", .phase = core::Phase::sidecar};
  plain.resources.cpu_milli = 100;
  core::ContainerSpec share{.name = "main"};
  share.resources.memory_bytes = 7;
  share.gpu.count = 1;
  share.gpu.milli = 500;
  share.gpu.memory_mib = core::kWholeMemory;
  pod.containers = {plain, share};
  pod.constraints.labels = {{"team", "\"a\""}};
  const core::AskPicker ask{.uid = "u",
                            .generation = 3,
                            .candidates = {{.node = "n1",
                                            .cost = 18'446'744'073'709'551'615U,
                                            .cpu_free_milli = 1,
                                            .memory_free_bytes = 2,
                                            .cards = 8,
                                            .cards_idle = 3,
                                            .milli_free = 3500,
                                            .card_memory_free = 4,
                                            .pods = 6},
                                           {.node = "n2"}}};
  const std::string text = picker_question({.object = object, .pod = pod, .ask = ask});
  EXPECT_TRUE(base::JsonCheck::valid(text));
  EXPECT_EQ(
      text,
      R"({"apiVersion":"picker.stowage.dev/v1","pod":{"namespace":"ml","name":"train","uid":"u",)"
      R"("priority":5,"labels":{"team":"\"a\""},"annotations":{"runtime":"3h"},)"
      R"("request":{"cpuMilli":100,"memoryBytes":7,"containers":[{"name":"main","phase":"app",)"
      R"("cards":1,"whole":false,"gpuMilli":500}]}},"candidates":[{"node":"n1","rank":0,)"
      R"("cost":18446744073709551615,"free":{"cpuMilli":1,"memoryBytes":2,"cards":8,)"
      R"("cardsIdle":3,"gpuMilli":3500,"gpuMemoryMiB":4},"pods":6},{"node":"n2","rank":1,)"
      R"("cost":0,"free":{"cpuMilli":0,"memoryBytes":0,"cards":0,"cardsIdle":0,"gpuMilli":0,)"
      R"("gpuMemoryMiB":0},"pods":0}]})");
}

TEST(PickerAnswer, IsANodeOrNoOpinion) {
  EXPECT_EQ(*picker_answer(R"({"node":"n1"})"), "n1");
  EXPECT_EQ(*picker_answer(R"({"score":1.5,"node":""})"), "");
}

TEST(PickerAnswer, AnythingElseIsAnError) {
  for (const char* text : {"", "n1", "{}", "[]", R"({"node":3})", R"({"node":null})",
                           R"({"node":["n1"]})", R"({"node":"n1"} x)", R"({"node":"n1")", "\xff"}) {
    EXPECT_FALSE(picker_answer(text)) << text;
  }
}

}  // namespace
}  // namespace stowage::codec
