#include "grammar_accepts.h"

#include <fstream>
#include <iostream>
#include <sstream>
#include <tl/expected.hpp>

#include "forge/grammar/matcher.h"

namespace forge::apps {
namespace {

tl::expected<grammar::Grammar, std::string> grammar_of(const AcceptsOptions& options) {
  const auto named = [](tl::expected<grammar::Grammar, grammar::GrammarError> made,
                        const std::string& what) -> tl::expected<grammar::Grammar, std::string> {
    if (!made) return tl::unexpected(what + ": " + to_string(made.error()));
    return *std::move(made);
  };
  if (!options.regex.empty()) {
    return named(grammar::Grammar::from_regex(options.regex), "--regex");
  }
  std::ifstream file(options.schema_file, std::ios::binary);
  if (options.schema_file.empty() || !file) {
    return tl::unexpected(options.schema_file.empty()
                              ? std::string("one of --schema and --regex is required")
                              : "cannot read " + options.schema_file);
  }
  std::ostringstream text;
  text << file.rdbuf();
  return named(grammar::Grammar::from_json_schema(text.str()), options.schema_file);
}

std::string verdict(const grammar::Grammar& grammar, const std::string& line) {
  grammar::Matcher matcher(grammar);
  const auto read = matcher.accept(line);
  if (read && matcher.can_end()) return "accepted";
  const bool at_limit = !read && read.error().kind == grammar::MatchError::Kind::limit;
  const std::size_t at = read ? line.size() : read.error().accepted;
  return "refused at byte " + std::to_string(at) + ": " +
         (at_limit ? read.error().message : "expected " + matcher.expected());
}

}  // namespace

int run_accepts(const AcceptsOptions& options) {
  const auto grammar = grammar_of(options);
  if (!grammar) {
    std::cerr << "forge-grammar: " << grammar.error() << "\n";
    return kGrammarUnusable;
  }
  int status = 0;
  std::string line;
  while (std::getline(std::cin, line)) {
    const std::string said = verdict(*grammar, line);
    if (said != "accepted") status = kGrammarRefused;
    std::cout << said << "\n" << std::flush;
  }
  return status;
}

}  // namespace forge::apps
