// Pattern: a regular expression over UTF-8, through PCRE2.
//
// The patterns of checkpoints are written for Oniguruma (Hugging Face's `tokenizers`) and mean the
// same here: \s, \d and \p{..} by Unicode properties, ^ and $ at lines, a line ends with \n alone.
// Escapes that mean something else there (\h, \w and their like) and intersections of classes (&&)
// are refused. One character differs: U+180E is white space here and was until Unicode 6.3.
//
// A match may take a number of steps in proportion to the text; a pattern that would take more
// finds nothing.
//
// Owns the compiled pattern. Thread contract: const, any number of threads.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace forge::text::detail {

class Pattern {
 public:
  enum class Syntax { expression, literal };

  /// Errors: a sentence that has the pattern and what is wrong with it.
  static tl::expected<Pattern, std::string> compile(std::string_view pattern,
                                                    Syntax syntax = Syntax::expression);

  /// Whether the pattern may match without a character, which Finder leaves out.
  bool may_be_empty() const;

  struct Match {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  /// Looks for the matches of a pattern, which it borrows, in one text after the other. One thread
  /// at a time.
  class Finder {
   public:
    explicit Finder(const Pattern& pattern);
    ~Finder();
    Finder(const Finder&) = delete;
    Finder& operator=(const Finder&) = delete;

    /// Appends the matches in `text`, from left to right, none empty. Requires: valid UTF-8.
    void find_all(std::string_view text, std::vector<Match>& matches);

   private:
    struct State;
    std::unique_ptr<State> state_;
  };

 private:
  struct Free {
    void operator()(void* code) const;
  };
  explicit Pattern(void* code) : code_(code) {}

  std::unique_ptr<void, Free> code_;
};

}  // namespace forge::text::detail
