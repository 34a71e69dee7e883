#include "forge/grammar/output_compiler.h"

#include <algorithm>
#include <utility>

#include "forge/grammar/output_matcher.h"
#include "utf8.h"

namespace forge::grammar {
namespace {

using GrammarResult = tl::expected<Grammar, OutputError>;

tl::unexpected<OutputError> refuse(std::size_t form, GrammarError::Kind kind, std::string message) {
  return tl::unexpected(OutputError{form, {kind, "", std::move(message)}});
}

bool is_json(const OutputForm& form) {
  return form.kind == GrammarKind::json_object || form.kind == GrammarKind::json_schema;
}

/// What forms there may be, beside one another.
tl::expected<void, OutputError> check(const OutputGrammar& output) {
  using Kind = GrammarError::Kind;
  if (output.forms.empty()) return refuse(0, Kind::empty, "there is no form; at least one");
  for (std::size_t i = 0; i < output.forms.size(); ++i) {
    const OutputForm& form = output.forms[i];
    for (const std::string* text : {&form.text, &form.prefix, &form.suffix, &output.after}) {
      if (!characters_of(*text)) return refuse(i, Kind::invalid, "text that is not UTF-8");
    }
    const bool joins = is_json(form) ? is_json(output.forms[0])
                                     : form.kind == GrammarKind::choice &&
                                           output.forms[0].kind == GrammarKind::choice;
    if (i > 0 && !joins) {
      return refuse(i, Kind::unsupported, "alternatives are all of JSON, or all choices");
    }
    if (!is_json(form) && (!form.prefix.empty() || !form.suffix.empty() || output.row)) {
      return refuse(i, Kind::unsupported, "text around a form that is not of JSON");
    }
  }
  return {};
}

GrammarResult choice_of(const OutputGrammar& output) {
  std::vector<std::string> choices;
  choices.reserve(output.forms.size());
  for (const OutputForm& form : output.forms) choices.push_back(form.text);
  return Grammar::from_choice(choices).map_error([&](GrammarError error) {
    const auto empty = std::ranges::find(choices, std::string());
    const auto form = static_cast<std::size_t>(empty - choices.begin()) % choices.size();
    return OutputError{form, std::move(error)};
  });
}

GrammarResult json_of(const OutputGrammar& output) {
  std::vector<Grammar::Enclosed> forms;
  forms.reserve(output.forms.size());
  GrammarLimits limits;  // of all of them
  for (const OutputForm& form : output.forms) {
    auto grammar = form.kind == GrammarKind::json_object
                       ? Grammar::json_object()
                       : Grammar::from_json_schema(form.text, limits);
    if (!grammar) return tl::unexpected(OutputError{forms.size(), std::move(grammar.error())});
    limits.steps_max -= std::min(limits.steps_max, grammar->steps());
    forms.push_back({form.prefix, *std::move(grammar), form.suffix});
  }
  return Grammar::one_of(forms, output.row).map_error([](GrammarError error) {
    return OutputError{0, std::move(error)};
  });
}

GrammarResult grammar_of(const OutputGrammar& output) {
  if (auto valid = check(output); !valid) return tl::unexpected(std::move(valid.error()));
  switch (output.forms[0].kind) {
    case GrammarKind::json_object:
    case GrammarKind::json_schema:
      break;
    case GrammarKind::regex:
      return Grammar::from_regex(output.forms[0].text).map_error([](GrammarError error) {
        return OutputError{0, std::move(error)};
      });
    case GrammarKind::choice:
      return choice_of(output);
  }
  return json_of(output);
}

}  // namespace

OutputCompiler::OutputCompiler(std::function<VocabularyTokens()> tokens)
    : tokens_(std::move(tokens)) {}

std::shared_ptr<const Vocabulary> OutputCompiler::vocabulary() {
  std::call_once(has_vocabulary_,
                 [this] { vocabulary_ = std::make_shared<const Vocabulary>(tokens_()); });
  return vocabulary_;
}

tl::expected<OutputCompiler::Compiled, OutputError> OutputCompiler::compile(
    const OutputGrammar& output) {
  if (Compiled known = find(output)) return known;
  auto grammar = grammar_of(output);
  if (!grammar) return tl::unexpected(std::move(grammar.error()));
  const std::uint64_t steps = grammar->steps();
  auto compiled = std::make_shared<CompiledOutput>(
      CompiledOutput{vocabulary(), *std::move(grammar), output.after, {}});
  const Vocabulary& tokens = *compiled->vocabulary;
  compiled->refused.resize(output.after.size());
  for (std::uint32_t token = 0; token < tokens.size() && !output.after.empty(); ++token) {
    // One that lacks the last byte of the mark does not complete it.
    if (tokens.bytes_of(token).find(output.after.back()) == std::string_view::npos) continue;
    for (std::size_t mark_bytes = 0; mark_bytes < output.after.size(); ++mark_bytes) {
      if (!OutputMatcher(compiled, mark_bytes).accept_token(token)) {
        compiled->refused[mark_bytes].push_back(token);
      }
    }
  }
  keep({output, compiled, steps});
  return compiled;
}

OutputCompiler::Compiled OutputCompiler::find(const OutputGrammar& output) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(known_, output, &Known::output);
  if (found == known_.end()) return nullptr;
  known_.splice(known_.begin(), known_, found);
  return known_.front().compiled;
}

void OutputCompiler::keep(Known known) {
  const std::lock_guard lock(mutex_);
  if (std::ranges::find(known_, known.output, &Known::output) != known_.end()) return;
  steps_ += known.steps;
  known_.push_front(std::move(known));
  while (known_.size() > kGrammarsMax || (steps_ > kStepsMax && known_.size() > 1)) {
    steps_ -= known_.back().steps;
    known_.pop_back();
  }
}

}  // namespace forge::grammar
