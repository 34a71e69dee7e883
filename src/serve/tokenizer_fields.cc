// The fields of /tokenize and /detokenize that no other route has: as vLLM's clients send them, and
// as llama.cpp's do.
#include <memory>
#include <nlohmann/json.hpp>

#include "field_readers.h"
#include "forge/chat/chat_format.h"
#include "forge/json/parse.h"

namespace forge::serve {

/// There is one model, so it need not be named.
void read_tokenizers_model(const Reading& reading) {
  reading.request.model = reading.fields.text("model", "");
}

void read_text_prompt(const Reading& reading) {
  if (!reading.fields.has("prompt")) return;
  reading.request.prompts.push_back({"prompt", reading.fields.text("prompt", "")});
}

void read_content(const Reading& reading) {
  if (!reading.fields.has("content")) return;
  reading.request.prompts.push_back({"content", reading.fields.text("content", "")});
  reading.request.encode_options.add_special = false;
}

void read_add_generation_prompt(const Reading& reading) {
  const bool added = reading.fields.boolean("add_generation_prompt", true);
  if (added || reading.request.prompts.empty()) return;
  using Chat = std::shared_ptr<const chat::Conversation>;
  auto* const conversation = std::get_if<Chat>(&reading.request.prompts.back().content);
  if (conversation == nullptr) {
    return reading.fields.refuse("add_generation_prompt", "is accepted together with 'messages'");
  }
  auto changed = std::make_shared<chat::Conversation>(**conversation);
  changed->add_generation_prompt = false;
  *conversation = std::move(changed);
}

void read_tokens(const Reading& reading) {
  auto tokens = read_token_ids(reading.fields.items("tokens"), "tokens", "tokens", reading);
  if (tokens) reading.request.prompts.push_back({"tokens", *std::move(tokens)});
}

/// llama.cpp's name for add_special_tokens.
void read_add_special(const Reading& reading) {
  bool& add_special = reading.request.encode_options.add_special;
  if (reading.fields.has("add_special") && reading.fields.has("add_special_tokens")) {
    return reading.fields.refuse("add_special",
                                 "is there, and so is add_special_tokens; accepted is either");
  }
  add_special = reading.fields.boolean("add_special", add_special);
}

void read_return_token_strs(const Reading& reading) {
  reading.request.token_strs = reading.fields.boolean("return_token_strs", false);
}

void read_with_pieces(const Reading& reading) {
  reading.request.with_pieces = reading.fields.boolean("with_pieces", false);
}

}  // namespace forge::serve
