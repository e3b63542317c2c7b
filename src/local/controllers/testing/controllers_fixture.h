// A cluster without sockets for tests: API, work queue and a manual clock. A call that the API
// refuses ends the test program.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "local/api.h"
#include "local/controllers/work_queue.h"

namespace stowage::local::testing {

class ControllersFixture {
 public:
  ControllersFixture() : api({.now = [this] { return now_; }}), queue([this] { return now_; }) {}

  [[nodiscard]] WallTime now() const { return now_; }

  // Runs all work that is due within this time, in order, and leaves the clock at its end.
  void run(std::chrono::microseconds time) {
    const WallTime end = now_ + time;
    while (true) {
      api.store().deliver();
      const auto next = queue.next();
      if (!next || *next > end) break;
      now_ = std::max(now_, *next);
      queue.run();
    }
    now_ = end;
  }

  ObjectPtr create(Kind kind, std::string_view text, std::string_view ns = "default") {
    const auto object = parse_json(text);
    STOWAGE_CHECK(object.has_value());
    auto made = api.create(kind, resource_of(kind).namespaced ? ns : "", object->as_object());
    STOWAGE_CHECK(made.has_value());
    return *std::move(made);
  }
  void node(std::string_view name, std::string_view allocatable = R"({"cpu":"8","pods":"110"})") {
    create(Kind::node, R"({"metadata":{"name":")" + std::string(name) +
                           R"("},"status":{"allocatable":)" + std::string(allocatable) + "}}");
  }
  void bind(std::string_view pod, std::string_view node) {
    const auto bound = api.bind({{"default", std::string(pod)}, std::string(node), {}, {}});
    STOWAGE_CHECK(bound.has_value());
  }
  void patch(Kind kind, const std::string& name, std::string_view text, Part part = Part::main) {
    const auto change = parse_json(text);
    STOWAGE_CHECK(change.has_value());
    const ObjectName full{resource_of(kind).namespaced ? "default" : "", name};
    const auto done = api.patch(kind, full, part, PatchType::merge, *change);
    STOWAGE_CHECK(done.has_value());
  }
  [[nodiscard]] json::object tree(Kind kind, const std::string& name) {
    const ObjectPtr object =
        api.store().get(kind, {resource_of(kind).namespaced ? "default" : "", name});
    return object == nullptr ? json::object() : object->tree();
  }
  [[nodiscard]] std::string text(Kind kind, const std::string& name, std::string_view path) {
    const json::object object = tree(kind, name);
    return std::string(text_at(object, path));
  }
  [[nodiscard]] std::int64_t number(Kind kind, const std::string& name, std::string_view path) {
    return int_at(tree(kind, name), path).value_or(0);
  }
  // "True NewReplicaSetAvailable", or "" without such a condition.
  [[nodiscard]] std::string condition(Kind kind, const std::string& name, std::string_view type) {
    const json::object object = tree(kind, name);
    const json::array* conditions = array_at(object, "status.conditions");
    if (conditions == nullptr) return "";
    for (const json::value& one : *conditions) {
      if (text_at(one.as_object(), "type") != type) continue;
      return std::string(text_at(one.as_object(), "status")) + " " +
             std::string(text_at(one.as_object(), "reason"));
    }
    return "";
  }
  [[nodiscard]] std::vector<ObjectPtr> all(Kind kind) {
    std::vector<ObjectPtr> found;
    api.store().visit(kind, "", [&](const ObjectPtr& object) { found.push_back(object); });
    return found;
  }
  // Pods that are not being deleted.
  [[nodiscard]] std::vector<ObjectPtr> pods() {
    std::vector<ObjectPtr> found;
    for (const ObjectPtr& pod : all(Kind::pod)) {
      if (!pod->deleting) found.push_back(pod);
    }
    return found;
  }

 private:
  WallTime now_{std::chrono::seconds{1'800'000'000}};

 public:
  Api api;
  WorkQueue queue;
};

}  // namespace stowage::local::testing
