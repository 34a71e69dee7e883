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

/// Adds the nodes of `part` behind those that are there; returns the place of its values.
ValueId append(Grammar::Automaton& automaton, const Grammar::Automaton& part) {
  const auto values = static_cast<ValueId>(automaton.values.size());
  const auto arrays = static_cast<std::uint32_t>(automaton.arrays.size());
  const auto objects = static_cast<std::uint32_t>(automaton.objects.size());
  for (ArrayNode array : part.arrays) {
    for (ArrayNode::State& state : array.states) {
      for (auto& [value, next] : state.items) value += values;
    }
    automaton.arrays.push_back(std::move(array));
  }
  for (ObjectNode object : part.objects) {
    for (ObjectNode::Rule& rule : object.rules) {
      for (auto& [value, exists] : rule.values) value += values;
    }
    automaton.objects.push_back(std::move(object));
  }
  for (ValueNode value : part.values) {
    for (std::uint32_t& array : value.arrays) array += arrays;
    for (std::uint32_t& object : value.objects) object += objects;
    automaton.values.push_back(std::move(value));
  }
  return values;
}

/// From one document to a row of them.
void make_row(Grammar::Automaton& automaton, const OutputRow& row) {
  for (Document& document : automaton.documents) {
    document.joint = document.suffix.size();
    document.suffix += row.close;
  }
  std::vector<Document> followers = automaton.documents;
  for (Document& first : automaton.documents) first.prefix.insert(0, row.open);
  for (Document& follower : followers) {
    follower.prefix.insert(0, row.between);
    automaton.documents.push_back(std::move(follower));
  }
  automaton.followers = followers.size();
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

Result Grammar::one_of(std::span<const Enclosed> forms, const std::optional<OutputRow>& row) {
  if (forms.empty()) return nothing_is_valid();
  const auto unsupported = [](const char* message) {
    return tl::unexpected(GrammarError{GrammarError::Kind::unsupported, "", message});
  };
  auto joined = std::make_shared<Automaton>();
  std::uint64_t steps = 0;
  for (const Enclosed& form : forms) {
    const Automaton& part = form.grammar.automaton();
    if (part.text != nullptr) return unsupported("text around a grammar that is not of JSON");
    const ValueId values = append(*joined, part);
    joined->parts.push_back(form.grammar.automaton_);
    for (const Document& document : part.documents) {
      const ValueNode& root = part.values[document.root];
      if ((!form.suffix.empty() || row) && (root.number != nullptr || root.literal != nullptr)) {
        return unsupported("text behind a value that may be a number, true, false or null");
      }
      joined->documents.push_back(
          {form.prefix + document.prefix, document.root + values, document.suffix + form.suffix});
    }
    steps += form.grammar.steps();
  }
  if (row) make_row(*joined, *row);
  return Grammar(std::move(joined), steps);
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
