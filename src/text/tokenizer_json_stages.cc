// "normalizer", "pre_tokenizer" and "post_processor" of tokenizer.json.
#include <string>
#include <utility>
#include <vector>

#include "tokenizer_json.h"

namespace forge::text::detail {
namespace {

using nlohmann::json;
using Cut = PreTokeniser::Cut;

/// The stages under `key`: one, or those of a "Sequence", whose list is `list`.
std::vector<TokenizerFields> stages_of(const TokenizerFields& file, std::string_view key,
                                       std::string_view list) {
  std::vector<TokenizerFields> stages;
  const json* value = file.find(key);
  if (value == nullptr) return stages;
  const TokenizerFields stage(*value, std::string(key), file.fault());
  if (stage.text("type") != "Sequence") return {stage};
  std::size_t index = 0;
  for (const json& entry : stage.array(list)) {
    stages.emplace_back(entry, std::string(key) + "[" + std::to_string(index++) + "]",
                        file.fault());
  }
  return stages;
}

void add_replace(const TokenizerFields& stage, BpeDescription& out) {
  const TokenizerFields pattern(stage.object("pattern"), stage.name_of("pattern"), stage.fault());
  const std::string_view from = pattern.text("String");
  if (from.empty()) return pattern.wrong("String", "a text that is not empty");
  out.stages.normaliser.replace(std::string(from), std::string(stage.text("content")));
}

/// Adds the pre-tokenisers of one file, in their order.
class PreTokenizerReader {
 public:
  explicit PreTokenizerReader(BpeDescription& out) : out_(out) {}

  void read(const TokenizerFields& stage) {
    const std::string_view type = stage.text("type");
    if (after_bytes_) return stage.wrong("type", "nothing after ByteLevel");
    if (type == "Split") {
      split(stage);
    } else if (type == "Digits") {
      const bool alone = stage.boolean("individual_digits", false);
      cut(stage, alone ? R"(\p{N})" : R"(\p{N}+)", Cut::isolated);
    } else if (type == "ByteLevel") {
      byte_level(stage);
    } else if (type == "Metaspace") {
      metaspace(stage);
    } else {
      stage.wrong("type", "Sequence, Split, Digits, ByteLevel, Metaspace");
    }
  }

  bool bytes() const { return after_bytes_; }

 private:
  void cut(const TokenizerFields& stage, std::string_view text, Cut how,
           Pattern::Syntax syntax = Pattern::Syntax::expression) {
    auto pattern = Pattern::compile(text, syntax);
    if (!pattern) return stage.fault().set(stage.name() + ": " + pattern.error());
    out_.stages.pre_tokeniser.add(std::move(*pattern), how);
    has_cut_ = true;
  }

  void split(const TokenizerFields& stage) {
    const TokenizerFields pattern(stage.object("pattern"), stage.name_of("pattern"), stage.fault());
    const bool literal = pattern.find("String") != nullptr;
    const std::string_view text = pattern.text(literal ? "String" : "Regex");
    if (text.empty()) return pattern.wrong("Regex", "a text that is not empty, or String");
    const std::string_view behavior = stage.text("behavior");
    const bool inverted = stage.boolean("invert", false);
    const bool removes_gaps = behavior == "Removed" && inverted;
    if (behavior != "Isolated" && !removes_gaps) {
      return stage.wrong("behavior", "Isolated, or Removed with invert");
    }
    cut(stage, text, removes_gaps ? Cut::matches_alone : Cut::isolated,
        literal ? Pattern::Syntax::literal : Pattern::Syntax::expression);
  }

  void byte_level(const TokenizerFields& stage) {
    after_bytes_ = true;
    if (stage.boolean("add_prefix_space", true)) {
      if (has_cut_) return stage.wrong("add_prefix_space", "false after another pre-tokenizer");
      out_.stages.marks.prepend_if_missing(" ", false);
    }
    if (stage.boolean("use_regex", true)) cut(stage, kGpt2Pattern, Cut::isolated);
  }

  void metaspace(const TokenizerFields& stage) {
    stage.only("replacement", std::string(kSpaceMark));
    if (has_cut_) return stage.wrong("type", "Metaspace before all others");
    out_.stages.marks.replace(" ", std::string(kSpaceMark));
    const bool old_flag = stage.boolean("add_prefix_space", true);
    const bool has_scheme = stage.find("prepend_scheme") != nullptr;
    const std::string_view scheme = has_scheme ? stage.text("prepend_scheme")
                                    : old_flag ? "always"
                                               : "never";
    if (scheme != "always" && scheme != "first" && scheme != "never") {
      return stage.wrong("prepend_scheme", "always, first, never");
    }
    if (scheme != "never") {
      out_.stages.marks.prepend_if_missing(std::string(kSpaceMark), scheme == "first");
    }
    if (stage.boolean("split", true)) {
      cut(stage, kSpaceMark, Cut::before, Pattern::Syntax::literal);
    }
  }

  BpeDescription& out_;
  bool has_cut_ = false;
  bool after_bytes_ = false;
};

/// The special tokens before the text in a template; a fault if there is anything after it.
std::optional<TokenId> begin_of(const TokenizerFields& processor,
                                const BpeDescription& description) {
  std::vector<std::string_view> specials;
  bool after_text = false;
  for (const json& part : processor.array("single")) {
    const TokenizerFields fields(part, processor.name_of("single"), processor.fault());
    if (fields.find("Sequence") != nullptr) {
      after_text = true;
      continue;
    }
    const TokenizerFields special(fields.object("SpecialToken"), "SpecialToken", processor.fault());
    specials.push_back(special.text("id"));
    if (after_text || specials.size() > 1) {
      processor.wrong("single", "at most one special token, before the text");
    }
  }
  if (specials.empty() || processor.fault().is_set()) return std::nullopt;
  const TokenizerFields known(processor.object("special_tokens"),
                              processor.name_of("special_tokens"), processor.fault());
  const TokenizerFields special(known.object(specials[0]), known.name_of(specials[0]),
                                processor.fault());
  const json& ids = special.array("ids");
  const bool valid = ids.size() == 1 && ids[0].is_number_unsigned() &&
                     ids[0].get<std::uint64_t>() < description.tokens.size();
  if (!valid) {
    special.wrong("ids", "one token of the vocabulary");
    return std::nullopt;
  }
  return TokenId(ids[0].get<std::uint32_t>());
}

}  // namespace

void read_normalizer(const TokenizerFields& file, BpeDescription& out) {
  for (const TokenizerFields& stage : stages_of(file, "normalizer", "normalizers")) {
    const std::string_view type = stage.text("type");
    if (type == "Prepend") {
      out.stages.normaliser.prepend(std::string(stage.text("prepend")));
    } else if (type == "Replace") {
      add_replace(stage, out);
    } else if (type == "NFC") {
      out.stages.normaliser.compose();
    } else {
      stage.wrong("type", "Sequence, Prepend, Replace, NFC");
    }
  }
}

void read_pre_tokenizer(const TokenizerFields& file, BpeDescription& out) {
  PreTokenizerReader reader(out);
  for (const TokenizerFields& stage : stages_of(file, "pre_tokenizer", "pretokenizers")) {
    reader.read(stage);
  }
  out.units = reader.bytes() ? BpeDescription::Units::bytes : BpeDescription::Units::characters;
  if (reader.bytes() || file.fault().is_set()) return;
  if (out.stages.whole_pieces) {
    file.fault().set("model.ignore_merges is true, accepted only with a ByteLevel pre_tokenizer");
  }
  if (!out.stages.normaliser.writes_space_mark() && !out.stages.marks.writes_space_mark()) {
    file.fault().set(
        "neither pre_tokenizer ByteLevel or Metaspace nor a normalizer that writes U+2581 for "
        "spaces, one of which is needed");
  }
}

std::optional<TokenId> read_post_processor(const TokenizerFields& file, const BpeDescription& out) {
  std::optional<TokenId> begin;
  for (const TokenizerFields& processor : stages_of(file, "post_processor", "processors")) {
    const std::string_view type = processor.text("type");
    if (type == "TemplateProcessing") {
      begin = begin_of(processor, out);
    } else if (type != "ByteLevel") {
      processor.wrong("type", "Sequence, ByteLevel, TemplateProcessing");
    }
  }
  return begin;
}

}  // namespace forge::text::detail
