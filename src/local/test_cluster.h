// For tests: an API with a manual clock, and short helpers to create objects.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "local/api.h"
#include "local/json.h"

namespace stowage::local {

// 2026-01-02T03:04:05Z
constexpr WallTime kTestTime{std::chrono::sys_days{std::chrono::year{2026} / 1 / 2} +
                             std::chrono::hours{3} + std::chrono::minutes{4} +
                             std::chrono::seconds{5}};

inline json::object parsed(std::string_view text) {
  auto value = parse_json(text);
  STOWAGE_CHECK(value.has_value() && value->is_object());
  return std::move(value->get_object());
}

struct TestCluster {
  WallTime now = kTestTime;
  Api api;

  explicit TestCluster(StoreOptions options = {}) : api(with_clock(std::move(options))) {}
  TestCluster(const TestCluster&) = delete;
  TestCluster& operator=(const TestCluster&) = delete;

  Store& store() { return api.store(); }

  ApiResult<ObjectPtr> make(Kind kind, std::string_view text, std::string_view ns = "default") {
    return api.create(kind, resource_of(kind).namespaced ? ns : std::string_view{}, parsed(text));
  }
  ObjectPtr pod(std::string_view name, std::string_view more_spec = {}) {
    std::string text = R"({"metadata":{"name":")" + std::string(name) + R"("},"spec":{)";
    text += more_spec;
    if (!more_spec.empty()) text += ",";
    text += R"("containers":[{"name":"c","image":"pause:1"}]}})";
    auto made = make(Kind::pod, text);
    STOWAGE_CHECK(made.has_value());
    return *made;
  }
  ObjectPtr get(Kind kind, std::string_view name) {
    const bool namespaced = resource_of(kind).namespaced;
    return store().get(kind, {namespaced ? "default" : "", std::string(name)});
  }

 private:
  StoreOptions with_clock(StoreOptions options) {
    options.now = [this] { return now; };
    return options;
  }
};

}  // namespace stowage::local
