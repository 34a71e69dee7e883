// forge-model render
#include <iostream>
#include <iterator>

#include "forge/chat/chat_template.h"
#include "forge/json/parse.h"
#include "model_commands.h"
#include "output_path.h"

namespace forge::apps {
namespace {

/// Schemas of tools nest deeper than configurations do.
constexpr int kJsonDepthMax = 128;

tl::expected<nlohmann::ordered_json, std::string> read_list(const std::string& flag,
                                                            const std::string& path) {
  std::optional<std::string> text;
  if (path == "-") {
    text.emplace(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
  } else {
    text = read_text_file(path);
  }
  if (!text) return tl::unexpected(flag + ": '" + path + "' cannot be read");
  auto list = json::parse_ordered(*text, kJsonDepthMax);
  if (!list) return tl::unexpected(flag + ": '" + path + "' " + to_string(list.error()));
  if (!list->is_array()) return tl::unexpected(flag + ": '" + path + "' is no JSON list");
  return *std::move(list);
}

}  // namespace

int run_render(const RenderChatOptions& options) {
  const auto text = read_text_file(options.chat_template);
  if (!text) return unusable_model("TEMPLATE: '" + options.chat_template + "' cannot be read");
  const auto chat_template = chat::ChatTemplate::parse(*text);
  if (!chat_template) {
    return unusable_model("TEMPLATE: '" + options.chat_template + "' " +
                          to_string(chat_template.error()));
  }
  chat::Conversation conversation;
  auto messages = read_list("--messages", options.messages);
  if (!messages) return unusable_model(messages.error());
  conversation.messages = *std::move(messages);
  if (!options.tools.empty()) {
    auto tools = read_list("--tools", options.tools);
    if (!tools) return unusable_model(tools.error());
    conversation.tools = *std::move(tools);
  }
  conversation.add_generation_prompt = options.generation_prompt;
  conversation.bos_token = options.bos;
  conversation.eos_token = options.eos;
  chat::RenderOptions render;
  render.now = chat::local_time();
  const auto rendered = chat_template->render(conversation, render);
  if (!rendered) return unusable_model(to_string(rendered.error()));
  std::cout << *rendered << std::flush;
  return kModelDone;
}

}  // namespace forge::apps
