#include "forge/grammar/grammar.h"

#include "automaton_builder.h"
#include "regex.h"
#include "schema_sets.h"
#include "utf8.h"

namespace forge::grammar {
namespace {

using Result = tl::expected<Grammar, GrammarError>;

tl::unexpected<GrammarError> nothing_is_valid() {
  return tl::unexpected(
      GrammarError{GrammarError::Kind::empty, "", "nothing is valid: no text matches"});
}

std::shared_ptr<const Grammar::Automaton> automaton_of_text(Dfa dfa) {
  auto automaton = std::make_shared<Grammar::Automaton>();
  automaton->terminals.push_back(std::make_unique<const Terminal>(
      make_terminal(std::make_shared<const Dfa>(std::move(dfa)), Terminal::Form::plain, 0, kMany)));
  automaton->text = automaton->terminals.back().get();
  return automaton;
}

}  // namespace

std::string to_string(const GrammarError& error) {
  return error.pointer.empty() ? error.message : "at " + error.pointer + ": " + error.message;
}

Result Grammar::from_json_schema(std::string_view schema, const GrammarLimits& limits) {
  Compilation compilation(limits);
  SchemaDocument document(schema, compilation);
  if (compilation.failed()) return tl::unexpected(compilation.error());
  SchemaSets sets(document, compilation);
  auto automaton = AutomatonBuilder(sets).build({{&document.root(), false}});
  if (compilation.failed()) {
    GrammarError error = compilation.error();
    if (error.kind == GrammarError::Kind::limit && compilation.place() != nullptr) {
      error.pointer = pointer_of(*compilation.place());
    }
    return tl::unexpected(std::move(error));
  }
  return Grammar(std::move(automaton), limits.steps_max - compilation.steps_left());
}

Grammar Grammar::json_object() {
  static const Grammar kGrammar = *from_json_schema(R"({"type": "object"})");
  return kGrammar;
}

Result Grammar::from_regex(std::string_view regex, const GrammarLimits& limits) {
  Compilation compilation(limits);
  Dfa dfa = dfa_of_regex(regex, RegexMatch::whole, "", compilation);
  if (compilation.failed()) return tl::unexpected(compilation.error());
  if (dfa.empty()) return nothing_is_valid();
  return Grammar(automaton_of_text(std::move(dfa)), limits.steps_max - compilation.steps_left());
}

Result Grammar::from_choice(std::span<const std::string> choices, const GrammarLimits& limits) {
  Compilation compilation(limits);
  std::vector<std::u32string> words;
  words.reserve(choices.size());
  for (const std::string& choice : choices) {
    auto characters = characters_of(choice);
    if (!characters || choice.empty()) {
      return tl::unexpected(
          GrammarError{GrammarError::Kind::invalid, "", "a choice is empty or not UTF-8"});
    }
    words.push_back(*std::move(characters));
  }
  if (words.empty()) return nothing_is_valid();
  Dfa dfa = dfa_of_words(words, 0, compilation);
  if (compilation.failed()) return tl::unexpected(compilation.error());
  return Grammar(automaton_of_text(std::move(dfa)), limits.steps_max - compilation.steps_left());
}

}  // namespace forge::grammar
