#include "local/demo/demo.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "local/controllers/workload.h"

namespace stowage::local {
namespace {

constexpr std::size_t kInFlight = 32;
constexpr net::Duration kEvery = std::chrono::milliseconds{150};
constexpr net::Duration kDeadline = std::chrono::seconds{20};
constexpr std::int64_t kBarWidth = 32;

std::vector<json::object> items_of(const json::object& list) {
  std::vector<json::object> items;
  for (const json::object* item : objects_at(list, "items")) items.push_back(*item);
  return items;
}

// Why the pod is not placed, from its condition; "" before there is one.
std::string refusal_of(const json::object& pod) {
  const json::object* condition = find_condition(pod, "PodScheduled");
  if (condition == nullptr || text_at(*condition, "status") != "False") return "";
  return std::string(text_at(*condition, "message"));
}

// Breaks a long sentence at blanks.
std::string wrapped(std::string_view text, std::size_t width, std::string_view indent) {
  std::string result;
  std::size_t column = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (column > 0 && column + 1 + word.size() > width) {
      result += '\n';
      column = 0;
    }
    result += column == 0 ? indent : " ";
    result += word;
    column += word.size() + (column == 0 ? indent.size() : 1);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

}  // namespace

std::string progress_line(std::int64_t placed, std::int64_t all, const MapStyle& style) {
  const std::int64_t full =
      all == 0 ? kBarWidth : std::clamp<std::int64_t>(placed * kBarWidth / all, 0, kBarWidth);
  std::string bar;
  for (std::int64_t i = 0; i < kBarWidth; ++i) {
    bar += style.unicode ? (i < full ? "█" : "░") : (i < full ? "#" : ".");
  }
  return fmt::format("  placed {:>4}/{}  {}", placed, all, bar);
}

Demo::Demo(kube::ApiClient& client, DemoWorkload workload, DemoOptions options)
    : client_(client),
      workload_(std::move(workload)),
      options_(std::move(options)),
      timer_(client.loop()),
      begin_(std::chrono::steady_clock::now()) {}

void Demo::start(Done done) {
  done_ = std::move(done);
  begin_ = std::chrono::steady_clock::now();
  std::string text = fmt::format("Submitting {} pods, and one that cannot fit:\n", workload_.pods);
  for (const DemoPart& part : workload_.parts) {
    text += fmt::format("  {:>4} x  {}\n", part.pods, part.what);
  }
  text += fmt::format("  {:>4} x  {}\n", 1, workload_.impossible_wish);
  options_.out(text);
  // The namespace comes first; everything else needs it.
  next_ = 1;
  call({.method = "POST",
        .target = workload_.objects.front().path,
        .body = json::serialize(workload_.objects.front().body)},
       "create the namespace", [this](const json::object&) {
         create_next();
         look();
       });
}

void Demo::create_next() {
  while (!finished_ && in_flight_ < kInFlight && next_ < workload_.objects.size()) submit(next_++);
}

void Demo::submit(std::size_t index) {
  const DemoObject& object = workload_.objects[index];
  ++in_flight_;
  call({.method = "POST", .target = object.path, .body = json::serialize(object.body)},
       fmt::format("create {}", text_at(object.body, "metadata.name")),
       [this](const json::object&) {
         --in_flight_;
         create_next();
       });
}

void Demo::look() {
  timer_.start(kEvery, [this] {
    call({.target = fmt::format("/api/v1/namespaces/{}/pods", kDemoNamespace)}, "list the pods",
         [this](const json::object& list) { count(list); });
  });
}

void Demo::count(const json::object& list) {
  std::vector<json::object> pods = items_of(list);
  std::int64_t placed = 0;
  std::string refusal;
  std::string trouble;
  for (const json::object& pod : pods) {
    const bool impossible = text_at(pod, "metadata.name") == workload_.impossible;
    const bool bound = !text_at(pod, "spec.nodeName").empty();
    if (impossible) refusal = bound ? "" : refusal_of(pod);
    placed += bound && !impossible ? 1 : 0;
    if (impossible && bound) trouble = "the pod that cannot fit was placed";
    if (text_at(pod, "status.phase") == "Failed") {
      trouble = fmt::format("pod {} failed on {}: {}", text_at(pod, "metadata.name"),
                            text_at(pod, "spec.nodeName"), text_at(pod, "status.message"));
    }
  }
  draw(placed);
  if (!trouble.empty()) return finish({false, trouble});
  if (placed >= workload_.pods && !refusal.empty()) return show(std::move(pods));
  if (std::chrono::steady_clock::now() - begin_ > options_.time_limit) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(options_.time_limit);
    return finish(
        {false,
         placed < workload_.pods
             ? fmt::format("only {} of {} pods were placed within {} seconds", placed,
                           workload_.pods, seconds.count())
             : fmt::format("no reason was reported within {} seconds why pod {} does not fit",
                           seconds.count(), workload_.impossible)});
  }
  look();
}

void Demo::draw(std::int64_t placed) {
  if (placed == drawn_) return;
  drawn_ = placed;
  const std::string line = progress_line(placed, workload_.pods, options_.style);
  options_.out(options_.terminal ? "\r" + line : line + "\n");
}

void Demo::show(std::vector<json::object> pods) {
  const auto took = std::chrono::steady_clock::now() - begin_;
  call({.target = "/api/v1/nodes"}, "list the nodes",
       [this, took, pods = std::move(pods)](const json::object& list) {
         const double seconds = std::chrono::duration<double>(took).count();
         std::string text = options_.terminal ? "\n\n" : "\n";
         text += fmt::format("All {} pods are placed, after {:.1f} s. Per card, in percent:\n",
                             workload_.pods, seconds);
         text += render_card_map(fill_cards(items_of(list), pods), options_.style);
         const auto pod = std::find_if(pods.begin(), pods.end(), [&](const json::object& one) {
           return text_at(one, "metadata.name") == workload_.impossible;
         });
         text += fmt::format("\nPod {} waits, and its PodScheduled condition says why:\n",
                             workload_.impossible);
         text += wrapped(refusal_of(*pod), 92, "  ") + "\n";
         options_.out(text);
         finish({true, ""});
       });
}

void Demo::call(kube::ApiCall call, const std::string& what, Then then) {
  client_.call(
      std::move(call), kDeadline,
      [this, what, next = std::move(then)](const kube::CallResult& reply) {
        if (finished_) return;
        if (!reply) {
          return finish({false, fmt::format("cannot {}: {}", what, reply.error().message)});
        }
        if (reply->status >= 300) return finish({false, kube::explain(what, *reply)});
        const auto body = parse_json(reply->body);
        if (!body || !body->is_object()) {
          return finish({false, fmt::format("cannot {}: the answer is not an object", what)});
        }
        next(body->get_object());
      });
}

void Demo::finish(const Outcome& outcome) {
  if (std::exchange(finished_, true)) return;
  timer_.cancel();
  if (!outcome.ok && options_.terminal) options_.out("\n");
  done_(outcome);
}

}  // namespace stowage::local
