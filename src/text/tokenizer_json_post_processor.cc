// "post_processor" of tokenizer.json.
#include <string>
#include <utility>

#include "tokenizer_json.h"
#include "tokenizer_json_stages.h"

namespace forge::text::detail {
namespace {

using Json = nlohmann::json;

std::optional<TokenId> token_of(const Json& id, const TokenizerDescription& description) {
  const bool valid = id.is_number_unsigned() && id.get<std::uint64_t>() < description.tokens.size();
  return valid ? std::optional(TokenId(id.get<std::uint32_t>())) : std::nullopt;
}

/// The special tokens before and after the text in a template.
void read_template(const json::Fields& processor, TokenizerDescription& out) {
  bool after_text = false;
  for (const json::Fields& part : processor.list("single")) {
    if (part.has("Sequence")) {
      after_text = true;
      continue;
    }
    const std::string name = part.required_object("SpecialToken").text("id");
    if (processor.failed()) return;
    const json::Fields special = processor.required_object("special_tokens").required_object(name);
    for (const Json& id : special.items("ids")) {
      const auto token = token_of(id, out);
      if (!token) return special.fail("ids", "tokens of the vocabulary");
      (after_text ? out.special.after : out.special.before).push_back(*token);
    }
  }
}

/// "cls": ["<s>", 0]
void read_pair(const json::Fields& processor, std::string_view key, std::vector<TokenId>& tokens,
               const TokenizerDescription& description) {
  const Json& pair = processor.items(key);
  const auto token = pair.size() == 2 ? token_of(pair[1], description) : std::nullopt;
  if (!token) return processor.fail(key, "a spelling and a token of the vocabulary");
  tokens.push_back(*token);
}

}  // namespace

void read_post_processor(const json::Fields& file, TokenizerDescription& out) {
  for (const json::Fields& processor : stages_of(file, "post_processor", "processors")) {
    const std::string type = processor.text("type", "");
    if (type == "TemplateProcessing") {
      read_template(processor, out);
    } else if (type == "RobertaProcessing") {
      read_pair(processor, "cls", out.special.before, out);
      read_pair(processor, "sep", out.special.after, out);
    } else if (type != "ByteLevel") {
      processor.fail("type", "Sequence, ByteLevel, TemplateProcessing, RobertaProcessing");
    }
  }
}

}  // namespace forge::text::detail
