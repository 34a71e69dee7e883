#include "stream_message.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "forge/core/quoted.h"
#include "forge/json/parse.h"
#include "framing.h"
#include "request_body.h"
#include "route_table.h"

namespace forge::serve {
namespace {

bool may_be_streamed(const Route& route) { return route.generates && route.body == BodyKind::json; }

std::string streamed_routes() {
  std::string names;
  for (const Route& route : routes()) {
    if (may_be_streamed(route)) names += (names.empty() ? "" : ", ") + in_quotes(route.path);
  }
  return names;
}

const Route* streamed_route(const json::Fields& fields) {
  const std::string path = fields.text("route");
  const Route* const route = find_route(path);
  if (route != nullptr && may_be_streamed(*route)) return route;
  fields.fail("route", streamed_routes());
  return nullptr;
}

/// "" if it may not be one.
std::string stream_id(const json::Fields& fields, std::string_view name) {
  std::string id = fields.text(name);
  if (is_request_id(id)) return id;
  fields.fail(name, "a text of 1 .. 128 visible characters of ASCII");
  return "";
}

StreamMessage read_stream_message(const json::Fields& fields) {
  if (fields.has("key")) return StreamKey{fields.text("key")};
  if (fields.has("cancel")) return StreamCancel{stream_id(fields, "cancel")};
  StreamRequest request{.id = stream_id(fields, "id"), .route = streamed_route(fields)};
  fields.required_object("body");
  return request;
}

/// `{"id":"a",`
std::string beginning_of(std::string_view id) {
  return R"({"id":)" + nlohmann::json(id).dump() + ",";
}

}  // namespace

tl::expected<StreamMessage, StreamFault> parse_stream_message(std::string_view text) {
  StreamMessage message;
  auto error = read_object("the message", text, [&message](const json::Fields& fields) {
    message = read_stream_message(fields);
  });
  auto* const request = std::get_if<StreamRequest>(&message);
  if (error) {
    auto id = request != nullptr && !request->id.empty() ? std::optional(std::move(request->id))
                                                         : std::nullopt;
    return tl::unexpected(StreamFault{std::move(id), *std::move(error)});
  }
  // As a text again, its members in their order.
  if (request != nullptr) request->body = (*json::parse_ordered(text))["body"].dump();
  return message;
}

std::string chunk_message(std::string_view id, std::string_view chunk) {
  return beginning_of(id) + R"("chunk":)" + std::string(chunk) + "}";
}

std::string done_message(std::string_view id) { return beginning_of(id) + R"("done":true})"; }

std::string cancelled_message(std::string_view id) {
  return beginning_of(id) + R"("cancelled":true})";
}

std::string reply_message(const std::optional<std::string>& id, const Reply& reply) {
  std::string text = id ? beginning_of(*id) : R"({"id":null,)";
  if (reply.status == 200) return text + R"("answer":)" + reply.body + "}";
  text += R"("status":)" + std::to_string(reply.status) + ",";
  for (const auto& [field, value] : reply.headers) {
    if (field == http::field::retry_after) text += R"("retry_after":)" + value + ",";
  }
  return text + reply.body.substr(1);  // {"error":{...}} without its brace
}

}  // namespace forge::serve
