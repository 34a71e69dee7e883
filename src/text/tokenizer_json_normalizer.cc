// "normalizer" of tokenizer.json.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base64.h"
#include "normal_form.h"
#include "sentence_piece_normalizer.h"
#include "tokenizer_json.h"
#include "tokenizer_json_stages.h"
#include "utf8_text.h"

namespace forge::text::detail {
namespace {

void add_replace(const json::Fields& stage, Normalizer& out) {
  const json::Fields pattern = stage.required_object("pattern");
  const std::string content = stage.text("content", "");
  if (!pattern.has("Regex")) {
    const std::string from = pattern.text("String");
    if (!stage.failed()) out.replace(from, content);
    return;
  }
  auto compiled = Pattern::compile(pattern.text("Regex"));
  if (!compiled) return stage.refuse("pattern", "does not compile: " + compiled.error());
  if (compiled->may_be_empty()) return stage.refuse("pattern", "may match without a character");
  // A function is copied where it is kept, and a pattern is not.
  const auto shared = std::make_shared<const Pattern>(*std::move(compiled));
  out.rewrite([shared, content](const std::string& text) {
    std::vector<Pattern::Match> matches;
    Pattern::Finder(*shared).find_all(text, matches);
    std::string rewritten;
    std::size_t done = 0;
    for (const Pattern::Match& match : matches) {
      rewritten.append(text, done, match.begin - done).append(content);
      done = match.end;
    }
    return rewritten.append(text, done);
  });
}

void add_strip(const json::Fields& stage, Normalizer& out) {
  const bool left = stage.boolean("strip_left", true);
  const bool right = stage.boolean("strip_right", true);
  out.rewrite([left, right](std::string text) {
    if (right) text.resize(text.size() - trailing_space(text));
    if (left) text.erase(0, leading_space(text));
    return text;
  });
}

/// What Nmt makes of a character: nothing of control characters, a space of what separates words or
/// shows that something was lost. (SentencePiece's table of that name has NFKC in it, too.)
std::optional<std::uint32_t> nmt(std::uint32_t point) {
  const bool is_control = (point >= 0x01 && point <= 0x08) || point == 0x0B ||
                          (point >= 0x0E && point <= 0x1F) || point == 0x7F || point == 0x8F ||
                          point == 0x9F;
  if (is_control) return std::nullopt;
  constexpr std::uint32_t kSpaces[] = {'\t',   '\n',   '\f',   '\r',   0x1680,
                                       0x200B, 0x200C, 0x200D, 0x200E, 0x200F,
                                       0x2028, 0x2029, 0x2581, 0xFEFF, 0xFFFD};
  return std::ranges::find(kSpaces, point) != std::end(kSpaces) ? ' ' : point;
}

std::string nmt_text(const std::string& text) {
  std::string result;
  for (std::size_t at = 0; at < text.size(); at += character_bytes(text[at])) {
    const auto point = nmt(first_code_point(std::string_view(text).substr(at)));
    if (point) append_utf8(result, *point);
  }
  return result;
}

/// SentencePiece's table of characters, without what else SentencePiece does.
void add_table(const json::Fields& stage, Normalizer& out) {
  const auto bytes = from_base64(stage.text("precompiled_charsmap", ""));
  if (!bytes) return stage.fail("precompiled_charsmap", "a table in base64");
  if (bytes->empty()) return;
  auto map = CharsMap::parse(*bytes);
  if (!map) return stage.refuse("precompiled_charsmap", map.error());
  SentencePieceNormalizer normalizer{.map = *std::move(map),
                                     .symbols = {},
                                     .drops_extra_spaces = false,
                                     .adds_space = false,
                                     .marks_spaces = false};
  out.rewrite([normalizer = std::move(normalizer)](const std::string& text) {
    return normalizer.apply(text);
  });
}

void add_stage(const json::Fields& stage, Normalizer& out) {
  const std::string type = stage.text("type", "");
  const auto add_form = [&](NormalForm form) {
    out.rewrite([form](std::string text) { return normal_form(std::move(text), form); });
  };
  if (type == "Prepend") {
    out.prepend(stage.text("prepend", ""));
  } else if (type == "Replace") {
    add_replace(stage, out);
  } else if (type == "NFC") {
    out.compose();
  } else if (type == "NFD") {
    add_form(NormalForm::d);
  } else if (type == "NFKC") {
    add_form(NormalForm::kc);
  } else if (type == "NFKD") {
    add_form(NormalForm::kd);
  } else if (type == "Lowercase") {
    out.rewrite(lower_case);
  } else if (type == "StripAccents") {
    out.rewrite(without_marks);
  } else if (type == "Strip") {
    add_strip(stage, out);
  } else if (type == "Nmt") {
    out.rewrite(nmt_text);
  } else if (type == "Precompiled") {
    add_table(stage, out);
  } else {
    stage.fail("type",
               "Sequence, Prepend, Replace, NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, Strip, "
               "Nmt, Precompiled");
  }
}

}  // namespace

void read_normalizer(const json::Fields& file, TokenizerDescription& out) {
  for (const json::Fields& stage : stages_of(file, "normalizer", "normalizers")) {
    add_stage(stage, out.stages.normalizer);
  }
}

}  // namespace forge::text::detail
