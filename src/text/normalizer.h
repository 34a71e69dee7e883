// Normalizer: how a text is rewritten before it is cut and encoded, or one part of it between
// added tokens (added_tokens.h).
//
// What SentencePiece-like checkpoints ask for: U+2581 stands for a space, and one is put before the
// text, so that a word is the same token wherever it is.
//
// What Qwen's tokenizer.json asks for: Unicode's normal form C (normal_form.h). A GGUF file has no
// word of its own for it, but names Qwen's way of cutting text (gguf_pre_tokenizers.h).
//
// What T5's and its kin ask for: a table of characters (chars_map.h), other normal forms, fewer
// spaces.
//
// Thread contract: const, any number of threads.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace forge::text::detail {

/// U+2581, which SentencePiece writes for a space.
inline constexpr std::string_view kSpaceMark = "\xE2\x96\x81";

/// Steps, done in the order in which they were added.
class Normalizer {
 public:
  /// `text` goes before every part that is not empty.
  void prepend(std::string text) { steps_.push_back({Kind::prepend, {}, std::move(text), {}}); }
  /// `text` goes before every part that is not empty and does not begin with it; with only_first,
  /// only before the part where the text begins.
  void prepend_if_missing(std::string text, bool only_first) {
    const Kind kind = only_first ? Kind::prepend_to_first_if_missing : Kind::prepend_if_missing;
    steps_.push_back({kind, {}, std::move(text), {}});
  }
  /// Each `from` becomes `to`. Requires: from is not empty.
  void replace(std::string from, std::string to) {
    steps_.push_back({Kind::replace, std::move(from), std::move(to), {}});
  }
  /// The text is brought to Unicode's normal form C.
  void compose() { steps_.push_back({Kind::compose, {}, {}, {}}); }
  /// Whatever else makes a text of a text, both valid UTF-8.
  using Rewrite = std::function<std::string(std::string)>;
  void rewrite(Rewrite rewrite) { steps_.push_back({Kind::rewrite, {}, {}, std::move(rewrite)}); }

  bool changes_text() const { return !steps_.empty(); }
  /// A step puts kSpaceMark into texts. What rewrite() was given is not looked into.
  bool writes_space_mark() const;

  /// At most this many bytes of a text become one byte. None where more shortens the text than one
  /// composition, which is not reckoned here.
  std::optional<std::size_t> bytes_for_one() const;

  /// `first`: the part is where the text begins.
  std::string apply(std::string_view part, bool first) const;

 private:
  enum class Kind {
    prepend,
    prepend_if_missing,
    prepend_to_first_if_missing,
    replace,
    compose,
    rewrite,
  };
  struct Step {
    Kind kind;
    std::string from;
    std::string to;
    Rewrite rewrite;
  };
  std::vector<Step> steps_;
};

}  // namespace forge::text::detail
