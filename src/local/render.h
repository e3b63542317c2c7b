// Answers of the API as bytes: objects, lists, tables, watch events and Status objects.
#pragma once

#include <string>

#include "local/call.h"
#include "local/store.h"
#include "net/http.h"

namespace stowage::local {

// The form in which a call wants objects.
struct Shape {
  Form form = Form::object;
  bool second_form = false;
  RowObject rows = RowObject::metadata;
};
[[nodiscard]] Shape shape_of(const Call& call);

[[nodiscard]] std::string render_error(const ApiError& error);
[[nodiscard]] std::string render_object(const StoredObject& object, const Shape& shape,
                                        WallTime now);
// `resume_at`: the token of the next page, or "".
[[nodiscard]] std::string render_list(Kind kind, const ListPage& page, std::string_view resume_at,
                                      const Shape& shape, WallTime now);
enum class Columns : std::uint8_t { with, without };  // only the first table of a watch has them
void append_watch_line(std::string& out, const WatchEvent& event, const Shape& shape,
                       Columns columns, WallTime now);
// `initial_end`: the bookmark that ends the initial events of a streamed list.
void append_bookmark(std::string& out, Kind kind, std::uint64_t version, const Shape& shape,
                     bool initial_end);
void append_watch_error(std::string& out, const ApiError& error);

[[nodiscard]] net::HttpResponse json_response(int status, std::string body);
[[nodiscard]] net::HttpResponse error_response(const ApiError& error);

}  // namespace stowage::local
