// The field `messages`: a conversation, in the form that chat templates expect.
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "field_readers.h"
#include "forge/chat/chat_format.h"
#include "forge/json/parse.h"
#include "tool_fields.h"

namespace forge::serve {
namespace {

using json::Fields;
using Json = nlohmann::ordered_json;

constexpr const char* kContents = "a text, or a list of parts {\"type\": \"text\", \"text\": ...}";

/// The parts of a list, a line each, as vLLM and llama.cpp join them for templates.
std::optional<std::string> joined_parts(const Fields& message) {
  std::string text;
  bool first = true;
  for (const Fields& part : message.list("content")) {
    part.one_of("type", {"text"});
    if (part.failed()) break;  // what else a part of another type has is beside the point
    text += (std::exchange(first, false) ? "" : "\n") + part.text("text", "");
    part.finish();
  }
  return text;
}

/// None where there is none, which is a fault unless `may_lack`.
std::optional<std::string> content_of(const Fields& message, bool may_lack) {
  const nlohmann::json* const value = message.find("content");
  if (value == nullptr && may_lack) return std::nullopt;
  if (value != nullptr && value->is_string()) return value->get<std::string>();
  if (value != nullptr && value->is_array()) return joined_parts(message);
  message.fail("content", kContents);
  return std::nullopt;
}

/// A call that the model made: its arguments are a text in the API, and an object in templates.
Json call_of(const Fields& call) {
  call.one_of("type", {"function"});
  const std::string id = call.text("id", "");
  const Fields function = call.required_object("function");
  const std::string name = function.text("name");
  const std::string text = function.text("arguments", "{}");
  auto arguments = json::parse_ordered(text);
  if (!arguments || !arguments->is_object()) {
    function.fail("arguments", "a JSON object as text");
    arguments = Json::object();
  }
  function.finish();
  call.finish();
  return {{"id", id},
          {"type", "function"},
          {"function", {{"name", name}, {"arguments", *std::move(arguments)}}}};
}

/// Under either of its names.
void read_reasoning(const Fields& fields, Json& out) {
  for (const char* const name : {"reasoning_content", "reasoning"}) {
    if (fields.has(name)) out["reasoning_content"] = fields.text(name, "");
  }
}

/// What an answer has beside its text and calls, when a client sends it back; litellm moves what it
/// does not know into an object.
void read_rest_of_answer(const Fields& answer, Json& out) {
  read_reasoning(answer, out);
  for (const char* const name : {"refusal", "audio", "function_call"}) answer.only(name, nullptr);
  answer.only("annotations", nlohmann::json::array());
  if (const auto moved = answer.object("provider_specific_fields")) {
    read_reasoning(*moved, out);
    moved->only("refusal", nullptr);
    moved->finish();
  }
}

Json message_of(const Fields& message) {
  const std::string_view role =
      message.one_of("role", {"system", "developer", "user", "assistant", "tool"});
  const bool is_answer = role == "assistant";
  // Templates know the one name of two.
  Json out = {{"role", role == "developer" ? "system" : role}};
  const auto content = content_of(message, is_answer && message.has("tool_calls"));
  out["content"] = content ? Json(*content) : Json(nullptr);
  if (message.has("name")) out["name"] = message.text("name");
  if (is_answer) {
    if (message.has("tool_calls")) {
      Json calls = Json::array();
      for (const Fields& call : message.list("tool_calls")) calls.push_back(call_of(call));
      if (!calls.empty()) out["tool_calls"] = std::move(calls);
    }
    read_rest_of_answer(message, out);
  }
  if (role == "tool" && message.has("tool_call_id")) {
    out["tool_call_id"] = message.text("tool_call_id");
  }
  message.finish();
  return out;
}

/// What the answer may have beside text.
void read_answer(const Reading& reading, chat::Conversation& conversation) {
  const chat::AnswerForm& form = (*reading.model.chat)->answers;
  ToolOffer offer = read_tool_offer(reading);
  if (!offer.shown.is_null() && !form.prints_tools) {
    return reading.fields.refuse("tools",
                                 "are not in the chat template of the model, which prints none; "
                                 "accepted is \"tool_choice\": \"none\"");
  }
  if (!offer.callable.empty()) bind_to_calls(offer, form.calls, reading.request);
  chat::AnswerRules rules{.form = form};
  if (!offer.parallel) rules.calls_max = 1;
  for (const ToolOffer::Tool& tool : offer.callable) rules.tools.push_back(tool.name);
  if (form.reasons || !rules.tools.empty()) reading.request.answer = std::move(rules);
  conversation.tools = std::move(offer.shown);
}

}  // namespace

std::optional<Json> message_of_answer(const Json& answer) {
  const nlohmann::json sent_back = answer;
  json::Fault fault;
  Json message = message_of(Fields(sent_back, "", fault));
  if (fault.is_set()) return std::nullopt;
  return message;
}

void read_messages(const Reading& reading) {
  const Fields& fields = reading.fields;
  if (reading.kind == RequestKind::tokenize && !fields.has("messages")) return;
  const std::vector<Fields> messages = fields.list("messages");
  if (!reading.model.chat) {
    return fields.refuse("messages", "need a chat template: " + reading.model.chat.error());
  }
  auto conversation = std::make_shared<chat::Conversation>();
  for (const Fields& message : messages) {
    conversation->messages.push_back(message_of(message));
  }
  if (conversation->messages.empty()) fields.fail("messages", "a list of at least one message");
  if (const nlohmann::json* const more = fields.find("chat_template_kwargs")) {
    if (more->is_object()) conversation->more = *more;
  }
  read_answer(reading, *conversation);
  const chat::ChatFormat& format = **reading.model.chat;
  conversation->bos_token = format.bos_token;
  conversation->eos_token = format.eos_token;
  reading.request.prompts.push_back({"messages", std::move(conversation)});
}

}  // namespace forge::serve
