#include "forge/chat/chat_format.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "forge/core/must.h"
#include "forge/formats/json_tree.h"
#include "forge/json/fields.h"

namespace forge::chat {
namespace {

namespace fs = std::filesystem;

using formats::FileError;

constexpr const char* kConfigName = "tokenizer_config.json";
constexpr const char* kTemplateName = "chat_template.jinja";
/// Twice the largest that is published: it may name a quarter of a million tokens.
constexpr std::uint64_t kConfigBytesMax = std::uint64_t{64} << 20U;

/// A token that the configuration names: its spelling, or an object with it as "content".
std::optional<std::string> spelling(const json::Fields& config, std::string_view key) {
  const nlohmann::json* const value = config.find(key);
  if (value == nullptr) return std::nullopt;
  return value->is_object() ? config.required_object(key).text("content", "")
                            : config.text(key, "");
}

/// A text, or of several with names the one that is "default". Empty where there is none.
std::string template_text(const json::Fields& config) {
  const nlohmann::json* const value = config.find("chat_template");
  if (value == nullptr || !value->is_array()) return config.text("chat_template", "");
  for (const json::Fields& one : config.list("chat_template")) {
    if (one.text("name") == "default") return one.text("template");
  }
  return "";
}

/// The spelling of the token whose id is the value of `key`.
std::optional<std::string> spelling(const formats::Gguf& file, std::string_view key) {
  const auto id = file.integer(key);
  const auto tokens = file.texts("tokenizer.ggml.tokens");
  if (!id || !tokens || *id < 0 || static_cast<std::uint64_t>(*id) >= tokens->size()) {
    return std::nullopt;
  }
  return std::string((*tokens)[static_cast<std::size_t>(*id)]);
}

LoadedChatFormat parse_format(std::string_view text, const std::string& path) {
  auto parsed = ChatTemplate::parse(text);
  if (!parsed) {
    return tl::unexpected(
        FileError{.file = path, .message = "the chat template, " + to_string(parsed.error())});
  }
  return ChatFormat{.chat_template = *std::move(parsed),
                    .bos_token = std::nullopt,
                    .eos_token = std::nullopt,
                    .of_model = !text.empty(),
                    .answers = answer_form_of(text.empty() ? default_template() : text)};
}

bool is_there(const fs::path& path) {
  // A link to nothing is there: opening it says what is wrong.
  return fs::exists(fs::symlink_status(path));
}

}  // namespace

ChatFormat default_chat_format() {
  return {.chat_template = must(ChatTemplate::parse("")),
          .bos_token = std::nullopt,
          .eos_token = std::nullopt,
          .answers = answer_form_of(default_template())};
}

LoadedChatFormat load_chat_template(const std::string& path) {
  const auto file = formats::open_json(path, Template::kBytesMax);
  if (!file) return tl::unexpected(file.error());
  return parse_format(formats::text_of(*file), path);
}

LoadedChatFormat load_chat_format(const std::string& directory) {
  const std::string config_path = (fs::path(directory) / kConfigName).string();
  const std::string template_path = (fs::path(directory) / kTemplateName).string();
  std::string text;
  std::optional<std::string> bos_token;
  std::optional<std::string> eos_token;
  if (is_there(config_path)) {
    const auto file = formats::open_json(config_path, kConfigBytesMax);
    if (!file) return tl::unexpected(file.error());
    const auto config = formats::parse_json_object(formats::text_of(*file), config_path);
    if (!config) return tl::unexpected(config.error());
    json::Fault fault;
    const json::Fields fields(*config, "", fault);
    bos_token = spelling(fields, "bos_token");
    eos_token = spelling(fields, "eos_token");
    text = template_text(fields);
    if (fault.is_set()) {
      return tl::unexpected(FileError{.file = config_path, .message = fault.message});
    }
  }
  auto format =
      is_there(template_path) ? load_chat_template(template_path) : parse_format(text, config_path);
  if (!format) return format;
  format->bos_token = std::move(bos_token);
  format->eos_token = std::move(eos_token);
  return format;
}

LoadedChatFormat load_chat_format(const formats::Gguf& file) {
  std::string text;
  if (file.value("tokenizer.chat_template") != nullptr) {
    const auto found = file.text("tokenizer.chat_template");
    if (!found) return tl::unexpected(found.error());
    text = *found;
  }
  auto format = parse_format(text, file.file().path());
  if (!format) return format;
  format->bos_token = spelling(file, "tokenizer.ggml.bos_token_id");
  format->eos_token = spelling(file, "tokenizer.ggml.eos_token_id");
  return format;
}

}  // namespace forge::chat
