// ChatFormat: how the conversations of a model are spelt, as its files say it.
//
//   a directory     chat_template.jinja, or "chat_template" of tokenizer_config.json; bos_token and
//                   eos_token of tokenizer_config.json
//   a GGUF file     tokenizer.chat_template; the spellings of bos_token_id and eos_token_id
//
// A model without a template has the default one (chat_template.h), of which it may never have seen
// the like; `of_model` tells.
//
// Example, given `const std::string& directory`:
//
//   const auto format = chat::load_chat_format(directory);
//   if (!format) return to_string(format.error());
//   return std::string(format->of_model ? "its own template" : "the default template");
//
// Files are not trusted. Thread contract: a ChatFormat is const after it was loaded.
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "forge/chat/answer_form.h"
#include "forge/chat/chat_template.h"
#include "forge/formats/file_error.h"
#include "forge/formats/gguf.h"

namespace forge::chat {

struct ChatFormat {
  ChatTemplate chat_template;
  std::optional<std::string> bos_token;  ///< spellings that a template may print
  std::optional<std::string> eos_token;
  bool of_model = false;  ///< the template came with the model
  AnswerForm answers;     ///< how its answers are marked, as the template shows it
};

using LoadedChatFormat = tl::expected<ChatFormat, formats::FileError>;

/// That of a model that says nothing of conversations.
ChatFormat default_chat_format();

/// The text with which the template ends an answer, as its model would write it: "<|im_end|>", or,
/// where only blanks follow the last answer, what stands between it and the next question,
/// "\nUSER:". Empty where that cannot be seen: the template refuses a plain conversation, or
/// changes what was said.
std::string answer_end(const ChatFormat& format);

/// Errors: a file cannot be read, or is no template (Template::parse).
LoadedChatFormat load_chat_format(const std::string& directory);
LoadedChatFormat load_chat_format(const formats::Gguf& file);

/// A file that is a template and nothing else. Errors: the same.
LoadedChatFormat load_chat_template(const std::string& path);

}  // namespace forge::chat
