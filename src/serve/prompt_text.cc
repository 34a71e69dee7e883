#include "prompt_text.h"

#include <utility>

#include "forge/chat/chat_format.h"

namespace forge::serve {
namespace {

/// What a template may do with messages, whose size the limit of bodies bounds: fractions of a
/// second.
constexpr chat::RenderLimits kRenderLimits{
    .output_bytes = 64U << 20U, .made_bytes = 256U << 20U, .steps = 5'000'000};

}  // namespace

std::string field_of(const std::string& name) { return name.substr(0, name.find('[')); }

std::optional<ApiError> render(UntokenizedPrompt& prompt, const ModelCard& model,
                               const std::tm& now) {
  const auto* const conversation =
      std::get_if<std::shared_ptr<const chat::Conversation>>(&prompt.content);
  if (conversation == nullptr) return std::nullopt;
  auto text = (*model.chat)->chat_template.render(**conversation, {kRenderLimits, now});
  if (!text) {
    const bool own_words = text.error().fault == chat::TemplateFault::raised;
    return bad_field("messages", "the chat template" +
                                     std::string(own_words ? " refuses them: " : ": ") +
                                     to_string(text.error()));
  }
  prompt.content = *std::move(text);
  return std::nullopt;
}

tl::expected<std::vector<TokenId>, ApiError> encode(const UntokenizedPrompt& prompt,
                                                    text::EncodeOptions options,
                                                    const text::Tokenizer& tokenizer) {
  auto tokens = tokenizer.encode(std::get<std::string>(prompt.content), options);
  if (tokens) return *std::move(tokens);
  return tl::unexpected(bad_field(
      field_of(prompt.name), prompt.name + " cannot become tokens: " + to_string(tokens.error())));
}

}  // namespace forge::serve
