// ChatTemplate: a conversation to the text that a model is to continue.
//
// A model has been trained on conversations in one spelling: marks before and after each message,
// an order, a place for the tools. Its chat template is that spelling as a program (template.h),
// and comes with its files. Where a model has none, its messages are spelt as ChatML, with tools as
// the Hermes models have them, which many models have seen.
//
// Example, given `std::string_view text` of a template and `#include <nlohmann/json.hpp>`:
//
//   const auto chat = chat::ChatTemplate::parse(text);
//   if (!chat) return to_string(chat.error());
//   chat::Conversation conversation;
//   conversation.messages.push_back({{"role", "user"}, {"content", "Hello"}});
//   const auto prompt = chat->render(conversation, {});
//   return prompt ? *prompt : to_string(prompt.error());
//
// Thread contract: immutable; any number of threads may render at once.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "forge/chat/template.h"

namespace forge::chat {

/// ChatML, with tools as the Hermes models have them; itself a Jinja template.
std::string_view default_template();

/// What a template is given, under the names that `transformers` uses.
struct Conversation {
  nlohmann::ordered_json messages = nlohmann::ordered_json::array();  ///< objects: role, content
  nlohmann::ordered_json tools;          ///< a list, or null where there are none
  nlohmann::ordered_json documents;      ///< a list, or null
  bool add_generation_prompt = true;     ///< ends with what begins the model's answer
  std::optional<std::string> bos_token;  ///< spelling of the token that begins a text, if any
  std::optional<std::string> eos_token;
  /// More variables, an object: "enable_thinking". Those above win.
  nlohmann::ordered_json more = nlohmann::ordered_json::object();
};

class ChatTemplate {
 public:
  /// A template of a model; an empty text is the default template. Errors: those of
  /// Template::parse().
  static tl::expected<ChatTemplate, TemplateError> parse(std::string_view text);

  /// The text that the model is to continue. Errors: `messages` is no list of objects, or `tools`
  /// or `documents` no list and not null; those of Template::render().
  tl::expected<std::string, TemplateError> render(const Conversation& conversation,
                                                  const RenderOptions& options) const;

  /// The template as it was given.
  const std::string& source() const { return source_; }

 private:
  ChatTemplate(Template parsed, std::string source)
      : template_(std::move(parsed)), source_(std::move(source)) {}

  Template template_;
  std::string source_;
};

}  // namespace forge::chat
