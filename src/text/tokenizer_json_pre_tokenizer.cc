// "pre_tokenizer" of tokenizer.json.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tokenizer_json.h"
#include "tokenizer_json_stages.h"

namespace forge::text::detail {
namespace {

using Cut = PreTokenizer::Cut;
using Sees = PreTokenizer::Sees;
using Model = TokenizerDescription::Model;

/// Punctuation of ASCII, which has symbols too, and of Unicode.
constexpr std::string_view kPunctuation = R"([!-/:-@\[-`{-~\p{P}])";
/// What \w is in Rust.
constexpr std::string_view kWordsAndSigns =
    R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]+|)"
    R"([^\s\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]+)";

std::optional<Cut> cut_of(std::string_view behavior, bool inverted) {
  if (behavior == "Isolated") return Cut::isolated;
  if (behavior == "Removed") return inverted ? Cut::matches_alone : Cut::removed;
  if (inverted) return std::nullopt;
  if (behavior == "MergedWithNext") return Cut::before;
  if (behavior == "MergedWithPrevious") return Cut::after;
  if (behavior == "Contiguous") return Cut::contiguous;
  return std::nullopt;
}

/// Adds the pre-tokenizers of one file, in their order.
class PreTokenizerReader {
 public:
  explicit PreTokenizerReader(TokenizerDescription& out) : out_(out) {}

  void read(const json::Fields& stage) {
    const std::string type = stage.text("type", "");
    if (type == "Split") {
      split(stage);
    } else if (type == "Digits") {
      const bool alone = stage.boolean("individual_digits", false);
      cut(stage, alone ? R"(\p{N})" : R"(\p{N}+)", Cut::isolated);
    } else if (type == "Punctuation") {
      behave(stage, kPunctuation, "Isolated");
    } else if (type == "Whitespace") {
      cut(stage, kWordsAndSigns, Cut::matches_alone);
    } else if (type == "WhitespaceSplit") {
      whitespace_split(stage);
    } else if (type == "ByteLevel") {
      byte_level(stage);
    } else if (type == "Metaspace") {
      metaspace(stage);
    } else {
      stage.fail("type",
                 "Sequence, Split, Digits, Punctuation, Whitespace, WhitespaceSplit, ByteLevel, "
                 "Metaspace");
    }
  }

  bool bytes() const { return after_bytes_; }

 private:
  void cut(const json::Fields& stage, std::string_view text, Cut how,
           Pattern::Syntax syntax = Pattern::Syntax::expression) {
    auto pattern = Pattern::compile(text, syntax);
    if (!pattern) return stage.refuse("pattern", "does not compile: " + pattern.error());
    out_.stages.pre_tokenizer.add(std::move(*pattern), how,
                                  after_bytes_ ? Sees::spelt_bytes : Sees::text);
    has_cut_ = true;
  }

  void behave(const json::Fields& stage, std::string_view text, const char* otherwise,
              Pattern::Syntax syntax = Pattern::Syntax::expression) {
    const auto how = cut_of(stage.text("behavior", otherwise), stage.boolean("invert", false));
    if (!how) {
      return stage.fail("behavior",
                        "Isolated or Removed, or without invert MergedWithPrevious, "
                        "MergedWithNext or Contiguous");
    }
    cut(stage, text, *how, syntax);
  }

  void split(const json::Fields& stage) {
    const json::Fields pattern = stage.required_object("pattern");
    const bool literal = pattern.has("String");
    const std::string text = pattern.text(literal ? "String" : "Regex", "");
    if (text.empty()) return pattern.fail("Regex", "a text that is not empty, or String");
    behave(stage, text, "", literal ? Pattern::Syntax::literal : Pattern::Syntax::expression);
  }

  void whitespace_split(const json::Fields& stage) {
    words_alone_ = !has_cut_;
    cut(stage, R"(\s+)", Cut::removed);
  }

  void byte_level(const json::Fields& stage) {
    if (after_bytes_) return stage.fail("type", "ByteLevel once");
    if (stage.boolean("add_prefix_space", true)) {
      if (has_cut_) return stage.fail("add_prefix_space", "false after another pre-tokenizer");
      out_.stages.marks.prepend_if_missing(" ", false);
    }
    if (stage.boolean("use_regex", true)) cut(stage, kGpt2Pattern, Cut::isolated);
    after_bytes_ = true;
  }

  void metaspace(const json::Fields& stage) {
    stage.only("replacement", std::string(kSpaceMark));
    if (after_bytes_ || (has_cut_ && !words_alone_)) {
      return stage.fail("type", "Metaspace before all others but WhitespaceSplit");
    }
    const bool old_flag = stage.boolean("add_prefix_space", true);
    const std::string scheme = stage.text("prepend_scheme", old_flag ? "always" : "never");
    if (scheme != "always" && scheme != "first" && scheme != "never") {
      return stage.fail("prepend_scheme", "always, first, never");
    }
    if (words_alone_) return mark_words(stage, scheme);
    out_.stages.marks.replace(" ", std::string(kSpaceMark));
    if (scheme != "never") {
      out_.stages.marks.prepend_if_missing(std::string(kSpaceMark), scheme == "first");
    }
    if (stage.boolean("split", true)) {
      cut(stage, kSpaceMark, Cut::before, Pattern::Syntax::literal);
    }
  }

  /// After WhitespaceSplit each word gets a mark of its own: the same as marks in place of white
  /// space, before which is cut.
  void mark_words(const json::Fields& stage, const std::string& scheme) {
    if (scheme != "always") return stage.fail("prepend_scheme", "always after WhitespaceSplit");
    out_.stages.pre_tokenizer = {};
    auto spaces = Pattern::compile(R"(\s+)");
    if (!spaces) return stage.refuse("type", spaces.error());
    const auto shared = std::make_shared<const Pattern>(*std::move(spaces));
    out_.stages.marks.rewrite([shared](const std::string& text) {
      std::vector<Pattern::Match> matches;
      Pattern::Finder(*shared).find_all(text, matches);
      matches.push_back({text.size(), text.size()});
      std::string marked;
      std::size_t done = 0;
      for (const Pattern::Match& match : matches) {
        const std::string_view word = std::string_view(text).substr(done, match.begin - done);
        if (!word.empty() && !word.starts_with(kSpaceMark)) marked += kSpaceMark;
        marked += word;
        done = match.end;
      }
      return marked;
    });
    marks_words_ = true;
    cut(stage, kSpaceMark, Cut::before, Pattern::Syntax::literal);
  }

 public:
  bool marks_words() const { return marks_words_; }

 private:
  TokenizerDescription& out_;
  bool has_cut_ = false;
  bool after_bytes_ = false;
  bool words_alone_ = false;  ///< a WhitespaceSplit is all that there is so far
  bool marks_words_ = false;
};

}  // namespace

void read_pre_tokenizer(const json::Fields& file, TokenizerDescription& out) {
  PreTokenizerReader reader(out);
  for (const json::Fields& stage : stages_of(file, "pre_tokenizer", "pretokenizers")) {
    reader.read(stage);
  }
  const bool unigram = out.model == Model::unigram;
  const bool bytes = reader.bytes() && !unigram;
  out.units = bytes ? TokenizerDescription::Units::bytes : TokenizerDescription::Units::characters;
  if (bytes || file.failed()) return;
  if (reader.bytes())
    return file.fault().set("pre_tokenizer.type is ByteLevel, accepted only with BPE");
  if (out.whole_pieces) {
    file.fault().set("model.ignore_merges is true, accepted only with a ByteLevel pre_tokenizer");
  }
  const TokenizerStages& stages = out.stages;
  if (!unigram && !reader.marks_words() && !stages.normalizer.writes_space_mark() &&
      !stages.marks.writes_space_mark()) {
    file.fault().set(
        "neither pre_tokenizer ByteLevel or Metaspace nor a normalizer that writes U+2581 for "
        "spaces, one of which is needed");
  }
}

}  // namespace forge::text::detail
