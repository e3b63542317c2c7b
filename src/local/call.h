// A parsed request to the API: the object or collection, the verb, and the form of the answer.
// Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "local/api.h"
#include "local/api_error.h"
#include "local/resources.h"
#include "local/table.h"
#include "net/http.h"

namespace stowage::local {

enum class Form : std::uint8_t { object, table, metadata };

struct Call {
  std::string_view method;
  const Resource* resource = nullptr;
  bool second_form = false;  // asked for as events.k8s.io
  std::string ns;            // "" in requests to all namespaces
  std::string name;          // "" in requests to a collection
  std::string subresource;
  net::Target target;
  Form form = Form::object;
  std::string_view content_type;  // without parameters
  std::string_view body;

  [[nodiscard]] ObjectName object() const { return {ns, name}; }
  [[nodiscard]] bool watches() const;
};

// "/api/v1/..." and "/apis/<group>/<version>/...". The views point into `request`.
[[nodiscard]] ApiResult<Call> parse_call(const net::HttpRequest& request);

// Query parameters.
[[nodiscard]] ApiResult<WriteOptions> write_options(const Call& call);
[[nodiscard]] ApiResult<Filter> filter_of(const Call& call);
[[nodiscard]] ApiResult<std::uint64_t> number_param(const Call& call, std::string_view name);
[[nodiscard]] RowObject row_object(const Call& call);

// The body as an object, from JSON or protobuf. An empty body is an error, or an empty object if
// `optional`.
enum class Body : std::uint8_t { required, optional };
[[nodiscard]] ApiResult<json::object> read_body(const Call& call, const Schema& schema, Body need);
[[nodiscard]] ApiResult<DeleteOptions> delete_options(const Call& call, const Schema& schema);
// Reads a DeleteOptions object.
void read_delete_options(const json::object& options, DeleteOptions& into);

[[nodiscard]] ApiError unknown_resource();
[[nodiscard]] ApiError method_not_allowed();

}  // namespace stowage::local
