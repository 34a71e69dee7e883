// "normalizer", "pre_tokenizer" and "post_processor" of tokenizer.json.
#include <string>
#include <utility>
#include <vector>

#include "tokenizer_json.h"

namespace forge::text::detail {
namespace {

using Json = nlohmann::json;
using Cut = PreTokenizer::Cut;

/// The stages under `key`: one, or those of a "Sequence", whose list is `list`.
std::vector<json::Fields> stages_of(const json::Fields& file, std::string_view key,
                                    std::string_view list) {
  if (!file.has(key)) return {};
  const json::Fields stage = file.required_object(key);
  return stage.text("type", "") == "Sequence" ? stage.list(list) : std::vector{stage};
}

void add_replace(const json::Fields& stage, BpeDescription& out) {
  const std::string from = stage.required_object("pattern").text("String");
  if (!stage.failed()) out.stages.normalizer.replace(from, stage.text("content", ""));
}

/// Adds the pre-tokenizers of one file, in their order.
class PreTokenizerReader {
 public:
  explicit PreTokenizerReader(BpeDescription& out) : out_(out) {}

  void read(const json::Fields& stage) {
    const std::string type = stage.text("type", "");
    if (after_bytes_) return stage.fail("type", "nothing after ByteLevel");
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
      stage.fail("type", "Sequence, Split, Digits, ByteLevel, Metaspace");
    }
  }

  bool bytes() const { return after_bytes_; }

 private:
  void cut(const json::Fields& stage, std::string_view text, Cut how,
           Pattern::Syntax syntax = Pattern::Syntax::expression) {
    auto pattern = Pattern::compile(text, syntax);
    if (!pattern) return stage.refuse("pattern", "does not compile: " + pattern.error());
    out_.stages.pre_tokenizer.add(std::move(*pattern), how);
    has_cut_ = true;
  }

  void split(const json::Fields& stage) {
    const json::Fields pattern = stage.required_object("pattern");
    const bool literal = pattern.has("String");
    const std::string text = pattern.text(literal ? "String" : "Regex", "");
    if (text.empty()) return pattern.fail("Regex", "a text that is not empty, or String");
    const std::string behavior = stage.text("behavior", "");
    const bool inverted = stage.boolean("invert", false);
    const bool removes_gaps = behavior == "Removed" && inverted;
    if (behavior != "Isolated" && !removes_gaps) {
      return stage.fail("behavior", "Isolated, or Removed with invert");
    }
    cut(stage, text, removes_gaps ? Cut::matches_alone : Cut::isolated,
        literal ? Pattern::Syntax::literal : Pattern::Syntax::expression);
  }

  void byte_level(const json::Fields& stage) {
    after_bytes_ = true;
    if (stage.boolean("add_prefix_space", true)) {
      if (has_cut_) return stage.fail("add_prefix_space", "false after another pre-tokenizer");
      out_.stages.marks.prepend_if_missing(" ", false);
    }
    if (stage.boolean("use_regex", true)) cut(stage, kGpt2Pattern, Cut::isolated);
  }

  void metaspace(const json::Fields& stage) {
    stage.only("replacement", std::string(kSpaceMark));
    if (has_cut_) return stage.fail("type", "Metaspace before all others");
    out_.stages.marks.replace(" ", std::string(kSpaceMark));
    const bool old_flag = stage.boolean("add_prefix_space", true);
    const std::string scheme = stage.text("prepend_scheme", old_flag ? "always" : "never");
    if (scheme != "always" && scheme != "first" && scheme != "never") {
      return stage.fail("prepend_scheme", "always, first, never");
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
std::optional<TokenId> begin_of(const json::Fields& processor, const BpeDescription& description) {
  std::vector<std::string> specials;
  bool after_text = false;
  for (const json::Fields& part : processor.list("single")) {
    if (part.has("Sequence")) {
      after_text = true;
      continue;
    }
    specials.push_back(part.required_object("SpecialToken").text("id", ""));
    if (after_text || specials.size() > 1) {
      processor.fail("single", "at most one special token, before the text");
    }
  }
  if (specials.empty() || processor.failed()) return std::nullopt;
  const json::Fields special =
      processor.required_object("special_tokens").required_object(specials[0]);
  const Json& ids = special.items("ids");
  const bool valid = ids.size() == 1 && ids[0].is_number_unsigned() &&
                     ids[0].get<std::uint64_t>() < description.tokens.size();
  if (!valid) {
    special.fail("ids", "one token of the vocabulary");
    return std::nullopt;
  }
  return TokenId(ids[0].get<std::uint32_t>());
}

}  // namespace

void read_normalizer(const json::Fields& file, BpeDescription& out) {
  for (const json::Fields& stage : stages_of(file, "normalizer", "normalizers")) {
    const std::string type = stage.text("type", "");
    if (type == "Prepend") {
      out.stages.normalizer.prepend(stage.text("prepend", ""));
    } else if (type == "Replace") {
      add_replace(stage, out);
    } else if (type == "NFC") {
      out.stages.normalizer.compose();
    } else {
      stage.fail("type", "Sequence, Prepend, Replace, NFC");
    }
  }
}

void read_pre_tokenizer(const json::Fields& file, BpeDescription& out) {
  PreTokenizerReader reader(out);
  for (const json::Fields& stage : stages_of(file, "pre_tokenizer", "pretokenizers")) {
    reader.read(stage);
  }
  out.units = reader.bytes() ? BpeDescription::Units::bytes : BpeDescription::Units::characters;
  if (reader.bytes() || file.failed()) return;
  if (out.stages.whole_pieces) {
    file.fault().set("model.ignore_merges is true, accepted only with a ByteLevel pre_tokenizer");
  }
  if (!out.stages.normalizer.writes_space_mark() && !out.stages.marks.writes_space_mark()) {
    file.fault().set(
        "neither pre_tokenizer ByteLevel or Metaspace nor a normalizer that writes U+2581 for "
        "spaces, one of which is needed");
  }
}

std::optional<TokenId> read_post_processor(const json::Fields& file, const BpeDescription& out) {
  std::optional<TokenId> begin;
  for (const json::Fields& processor : stages_of(file, "post_processor", "processors")) {
    const std::string type = processor.text("type", "");
    if (type == "TemplateProcessing") {
      begin = begin_of(processor, out);
    } else if (type != "ByteLevel") {
      processor.fail("type", "Sequence, ByteLevel, TemplateProcessing");
    }
  }
  return begin;
}

}  // namespace forge::text::detail
