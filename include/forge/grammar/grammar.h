// Grammar: which texts an answer may be, compiled once and shared by everybody who asks for it.
//
// Example, given `#include "forge/grammar/matcher.h"`, `const Vocabulary& vocabulary` and
// `std::span<std::uint32_t> mask`:
//
//   const auto grammar = Grammar::from_json_schema(R"({"items": {"type": "integer"}})");
//   if (!grammar) return to_string(grammar.error());  // names keyword and JSON pointer
//   Matcher matcher(*grammar);                        // matcher.h: one sequence
//   if (!matcher.accept("[1, 2")) return matcher.expected();
//   if (!matcher.fill_mask(vocabulary, mask)) return std::string("no token fits");
//   return matcher.expected();  // the same in words
//
// A schema becomes a pushdown automaton over bytes: finite automata read scalars and keys, a stack
// of frames has one for each array and object that is open. The rule is soundness: of a schema
// that compiles, every valid instance is accepted, within the limits of its text below, and no
// other; what cannot be held to that rule is refused, by keyword and JSON pointer.
//
// Limits of a text: white space as programs write it, in a row at most kLineEndsMax characters that
// end lines and kBlanksMax spaces or tabs, after a line's end kIndentMax for each object and array
// that is open; numbers of at most kNumberCharsMax characters; no exponent under a bound,
// multipleOf, enum or const of numbers; with one, what a double can hold; \u escapes are of whole
// characters (no half of a surrogate pair); a key is once in its object.
//
// Thread contract: immutable, cheap to copy, any number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "forge/core/output_grammar.h"

namespace forge::grammar {

inline constexpr std::uint32_t kLineEndsMax = 4;
inline constexpr std::uint32_t kBlanksMax = 2;
inline constexpr std::uint32_t kIndentMax = 8;
inline constexpr std::uint32_t kNumberCharsMax = 128;

/// Work is bounded by counted steps, the same on every machine.
struct GrammarLimits {
  std::uint64_t steps_max = 5'000'000;  ///< transitions made, states visited and so on
  int depth_max = 64;                   ///< of objects and arrays in the text of a schema
};

/// Why a grammar was refused.
struct GrammarError {
  enum class Kind : std::uint8_t {
    invalid,      ///< not JSON, or not a schema: "minLength": -1
    unsupported,  ///< a keyword, or a combination, that is not representable
    empty,        ///< nothing is valid: an answer could never end
    limit,        ///< more steps than the limit
  };
  Kind kind = Kind::invalid;
  std::string pointer;  ///< JSON pointer of the keyword or schema; empty: the whole
  std::string message;  ///< names thing, value and what is accepted

  friend bool operator==(const GrammarError&, const GrammarError&) = default;
};

/// "at /properties/a/minLength: ..."
std::string to_string(const GrammarError& error);

class Grammar {
 public:
  /// Instances of a JSON Schema (draft 2020-12 and what older drafts have otherwise; the book's
  /// page structured_output.md lists the keywords). Errors: as above.
  static tl::expected<Grammar, GrammarError> from_json_schema(std::string_view schema,
                                                              const GrammarLimits& limits = {});
  /// Any JSON object.
  static Grammar json_object();
  /// Texts that match as a whole. No JSON is around them.
  static tl::expected<Grammar, GrammarError> from_regex(std::string_view regex,
                                                        const GrammarLimits& limits = {});
  /// One of `choices`. Errors: there is none, or one is empty or not UTF-8.
  static tl::expected<Grammar, GrammarError> from_choice(std::span<const std::string> choices,
                                                         const GrammarLimits& limits = {});

  /// A grammar of JSON with fixed text around it.
  struct Enclosed;
  /// A text of any of `forms`. Errors: there is none; one is not of JSON; one has text behind it
  /// and values that do not end by themselves, as numbers.
  /// With `row`, one or more of them, one after the other.
  static tl::expected<Grammar, GrammarError> one_of(
      std::span<const Enclosed> forms, const std::optional<OutputRow>& row = std::nullopt);

  /// Steps that the compilation took.
  std::uint64_t steps() const { return steps_; }

  struct Automaton;  // for the matcher
  const Automaton& automaton() const { return *automaton_; }

 private:
  Grammar(std::shared_ptr<const Automaton> automaton, std::uint64_t steps)
      : automaton_(std::move(automaton)), steps_(steps) {}

  std::shared_ptr<const Automaton> automaton_;
  std::uint64_t steps_;
};

struct Grammar::Enclosed {
  std::string prefix;
  Grammar grammar;
  std::string suffix;
};

}  // namespace forge::grammar
