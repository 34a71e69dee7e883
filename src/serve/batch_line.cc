#include "batch_line.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "forge/core/quoted.h"
#include "forge/json/parse.h"
#include "random_id.h"
#include "request_body.h"

namespace forge::serve {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kCompletions = "/v1/completions";
constexpr std::string_view kChat = "/v1/chat/completions";

std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string new_line_id() { return "batch_req_" + random_id(); }

void read_url(const json::Fields& fields, BatchLine& line) {
  fields.only("method", "POST");
  const auto body = fields.required_object("body");
  if (!fields.has("url")) {
    line.kind = body.has("messages") ? RequestKind::chat : RequestKind::completions;
    return;
  }
  const auto kind = batch_kind_of(fields.text("url"));
  if (kind) {
    line.kind = *kind;
  } else {
    fields.fail("url", in_quotes(kCompletions) + " or " + in_quotes(kChat));
  }
}

/// As a text again, its members in their order.
std::string body_of(std::string_view line) { return dumped((*json::parse_ordered(line))["body"]); }

}  // namespace

std::optional<RequestKind> batch_kind_of(std::string_view url) {
  if (url == kCompletions) return RequestKind::completions;
  if (url == kChat) return RequestKind::chat;
  return std::nullopt;
}

tl::expected<BatchLine, BatchFault> parse_batch_line(std::string_view text) {
  BatchLine line;
  auto error = read_object("the line", text, [&line](const json::Fields& fields) {
    line.custom_id = fields.text("custom_id");
    if (line.custom_id.size() > kCustomIdBytesMax) {
      fields.refuse("custom_id", "has " + std::to_string(line.custom_id.size()) +
                                     " bytes; accepted are 1 .. " +
                                     std::to_string(kCustomIdBytesMax));
      line.custom_id.clear();
    }
    read_url(fields, line);
  });
  if (error) {
    auto id = line.custom_id.empty() ? std::nullopt : std::optional(std::move(line.custom_id));
    return tl::unexpected(BatchFault{std::move(id), *std::move(error)});
  }
  line.body = body_of(text);
  return line;
}

std::string response_line(std::string_view custom_id, std::string_view request_id,
                          const Reply& reply) {
  const Json head = {{"id", new_line_id()}, {"custom_id", custom_id}};
  const Json response = {{"status_code", reply.status}, {"request_id", request_id}};
  std::string line = dumped(head);
  line.back() = ',';
  line += "\"response\":" + dumped(response);
  line.back() = ',';
  return line + "\"body\":" + reply.body + "},\"error\":null}\n";
}

std::string fault_line(const BatchFault& fault, std::size_t line) {
  const Json custom_id = fault.custom_id ? Json(*fault.custom_id) : Json(nullptr);
  const Json param = fault.error.param ? Json(*fault.error.param) : Json(nullptr);
  const Json json = {{"id", new_line_id()},
                     {"custom_id", custom_id},
                     {"response", nullptr},
                     {"error",
                      {{"code", fault.error.code.value_or("invalid_line")},
                       {"message", fault.error.message},
                       {"param", param},
                       {"line", line}}}};
  return dumped(json) + "\n";
}

}  // namespace forge::serve
