// Answers requests to the API, except watches. No sockets: a request in, a response out.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "local/api.h"
#include "local/call.h"
#include "local/discovery.h"
#include "net/http.h"

namespace stowage::local {

class Rest {
 public:
  Rest(Api& api, ServerVersion version) : api_(api), version_(std::move(version)) {}

  // Requires: the request is not a watch (watches() is false for the call).
  [[nodiscard]] net::HttpResponse answer(const net::HttpRequest& request);
  [[nodiscard]] net::HttpResponse answer(const Call& call);

 private:
  using Answer = ApiResult<net::HttpResponse>;

  Answer document(const net::HttpRequest& request, std::string_view path);
  Answer route(const Call& call);
  Answer route_subresource(const Call& call);

  Answer get(const Call& call);
  Answer list(const Call& call);
  Answer create(const Call& call);
  Answer replace(const Call& call, Part part);
  Answer patch(const Call& call, Part part);
  Answer remove(const Call& call);
  Answer remove_all(const Call& call);

  Answer bind(const Call& call);
  Answer evict(const Call& call);
  Answer get_scale(const Call& call);
  Answer replace_scale(const Call& call);
  Answer patch_scale(const Call& call);
  Answer access_review(const net::HttpRequest& request);
  Answer token_review(const net::HttpRequest& request);

  Answer written(const Call& call, const ApiResult<ObjectPtr>& object, int status,
                 const std::vector<std::string>& warnings);

  Api& api_;
  ServerVersion version_;
  std::map<std::string, std::string, std::less<>> openapi_;  // documents, made on first use
};

// The token of the page after `page`, and its inverse.
[[nodiscard]] std::string continue_token(const ListPage& page);
[[nodiscard]] ApiResult<void> read_continue_token(std::string_view token, ListQuery& query);

}  // namespace stowage::local
