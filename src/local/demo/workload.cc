#include "local/demo/workload.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace stowage::local {
namespace {

using Limits = std::vector<std::pair<std::string, std::int64_t>>;

struct Size {
  std::int64_t cards = 0;            // of all nodes
  std::int64_t cards_on_a_node = 0;  // on the largest node
  std::int64_t memory_mib = 0;       // of the smallest card
};

Size size_of(const std::vector<NodeGroup>& groups) {
  Size size;
  for (const NodeGroup& group : groups) {
    if (group.gpus == 0) continue;
    size.cards += std::int64_t{group.count} * group.gpus;
    size.cards_on_a_node = std::max<std::int64_t>(size.cards_on_a_node, group.gpus);
    const std::int64_t memory = group.model.memory_mib;
    size.memory_mib = size.memory_mib == 0 ? memory : std::min(size.memory_mib, memory);
  }
  return size;
}

json::object pod_spec(const Limits& limits, const std::string& scheduler) {
  json::object amounts{{"cpu", "1"}, {"memory", "2Gi"}};
  for (const auto& [name, amount] : limits) amounts[name] = std::to_string(amount);
  json::object container{{"name", "main"}, {"image", "demo"}, {"resources", {{"limits", amounts}}}};
  json::object spec;
  spec["schedulerName"] = scheduler;
  spec["containers"] = json::array{std::move(container)};
  return spec;
}

class Builder {
 public:
  explicit Builder(const Size& size) : size_(size) {
    work_.objects.push_back(
        {"/api/v1/namespaces",
         {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", kDemoNamespace}}}}});
  }

  // `of_128` pods per 128 cards, scaled to this cluster and limited so that some capacity stays
  // free, if each pod takes that many thousandths of a card.
  [[nodiscard]] std::int64_t share(std::int64_t of_128, std::int64_t milli) {
    const std::int64_t room = size_.cards * kFilledMilli - used_milli_;
    const std::int64_t wanted = std::max<std::int64_t>(of_128 * size_.cards / 128, 1);
    const std::int64_t count = std::clamp<std::int64_t>(room / milli, 0, wanted);
    used_milli_ += count * milli;
    return count;
  }

  void pods(const std::string& name, const std::string& what, std::int64_t count,
            const Limits& limits, const std::string& scheduler = "stowage") {
    if (count == 0) return;
    for (std::int64_t i = 1; i <= count; ++i) {
      work_.objects.push_back(
          {pods_path(), pod(fmt::format("{}-{:02}", name, i), limits, scheduler)});
    }
    work_.parts.push_back({what, count});
    work_.pods += count;
  }

  void deployment(const std::string& name, const std::string& what, std::int64_t replicas,
                  const Limits& limits) {
    if (replicas == 0) return;
    const json::object labels{{"app", name}};
    work_.objects.push_back(
        {fmt::format("/apis/apps/v1/namespaces/{}/deployments", kDemoNamespace),
         {{"apiVersion", "apps/v1"},
          {"kind", "Deployment"},
          {"metadata", {{"name", name}}},
          {"spec",
           {{"replicas", replicas},
            {"selector", {{"matchLabels", labels}}},
            {"template",
             {{"metadata", {{"labels", labels}}}, {"spec", pod_spec(limits, "stowage")}}}}}}});
    work_.parts.push_back({what, replicas});
    work_.pods += replicas;
  }

  void job(const std::string& name, const std::string& what, std::int64_t count,
           const Limits& limits) {
    json::object spec = pod_spec(limits, "default-scheduler");
    spec["restartPolicy"] = "Never";
    work_.objects.push_back(
        {fmt::format("/apis/batch/v1/namespaces/{}/jobs", kDemoNamespace),
         {{"apiVersion", "batch/v1"},
          {"kind", "Job"},
          {"metadata", {{"name", name}}},
          {"spec",
           {{"completions", count}, {"parallelism", count}, {"template", {{"spec", spec}}}}}}});
    work_.parts.push_back({what, count});
    work_.pods += count;
  }

  void impossible(const std::string& name, const std::string& wish, const Limits& limits) {
    work_.objects.push_back({pods_path(), pod(name, limits, "stowage")});
    work_.impossible = name;
    work_.impossible_wish = wish;
  }

  [[nodiscard]] DemoWorkload take() { return std::move(work_); }

 private:
  static std::string pods_path() {
    return fmt::format("/api/v1/namespaces/{}/pods", kDemoNamespace);
  }
  static json::object pod(const std::string& name, const Limits& limits,
                          const std::string& scheduler) {
    return {{"apiVersion", "v1"},
            {"kind", "Pod"},
            {"metadata", {{"name", name}}},
            {"spec", pod_spec(limits, scheduler)}};
  }

  static constexpr std::int64_t kFilledMilli = 900;  // of each card

  Size size_;
  std::int64_t used_milli_ = 0;
  DemoWorkload work_;
};

void add_shares(Builder& builder, std::int64_t mib) {
  const std::int64_t fifth = mib / 5;
  builder.pods("notebook", fmt::format("a quarter of a card and {} MiB of its memory", fifth),
               builder.share(40, 250),
               {{"stowage.dev/gpu-core", 25}, {"stowage.dev/gpu-memory", fifth}});
  builder.deployment("inference",
                     fmt::format("half a card and {} MiB: replicas of a Deployment", fifth * 2),
                     builder.share(24, 500),
                     {{"stowage.dev/gpu-core", 50}, {"stowage.dev/gpu-memory", fifth * 2}});
  const std::int64_t gib = std::max<std::int64_t>(mib / 8 / 1024, 1);
  builder.pods("embed", fmt::format("{} GiB of a card's memory (alnair/vgpu-memory)", gib),
               builder.share(16, 130), {{"alnair/vgpu-memory", gib}}, "alnair-cost-saving");
  builder.pods("vcuda", "30 % of a card, a quarter of its memory (tencent.com/vcuda-core)",
               builder.share(9, 340),
               {{"tencent.com/vcuda-core", 30}, {"tencent.com/vcuda-memory", mib / 4 / 256}},
               "gpu-scheduler");
  builder.pods("elastic", "half a card, a quarter of its memory (elasticgpu.io/gpu-core)",
               builder.share(8, 500),
               {{"elasticgpu.io/gpu-core", 50}, {"elasticgpu.io/gpu-memory", mib / 4}});
}

void add_whole_cards(Builder& builder, std::int64_t most) {
  for (const auto& [cards, count] : {std::pair{8, 2}, std::pair{4, 5}, std::pair{2, 8}}) {
    if (cards > most) continue;
    builder.pods(fmt::format("train-x{}", cards), fmt::format("{} cards of one node", cards),
                 builder.share(count, std::int64_t{1000} * cards), {{"nvidia.com/gpu", cards}});
  }
  builder.pods("train", "1 card (nvidia.com/gpu), for the default-scheduler",
               builder.share(20, 1000), {{"nvidia.com/gpu", 1}}, "default-scheduler");
}

}  // namespace

DemoWorkload make_demo_workload(const std::vector<NodeGroup>& nodes) {
  const Size size = size_of(nodes);
  Builder builder(size);
  if (size.cards > 0) {
    add_shares(builder, size.memory_mib);
    add_whole_cards(builder, size.cards_on_a_node);
  }
  builder.job("etl", "no card: pods of a Job, for the default-scheduler", 6, {});
  const std::int64_t wish = size.cards_on_a_node * 2;
  builder.impossible("colossus",
                     fmt::format("{} cards of one node; the largest node has {}",
                                 std::max<std::int64_t>(wish, 1), size.cards_on_a_node),
                     {{"nvidia.com/gpu", std::max<std::int64_t>(wish, 1)}});
  return builder.take();
}

}  // namespace stowage::local
