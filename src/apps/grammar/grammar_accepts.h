// forge-grammar accepts: lines against a grammar.
#pragma once

#include <string>

namespace forge::apps {

inline constexpr int kGrammarRefused = 1;
inline constexpr int kGrammarUnusable = 2;

struct AcceptsOptions {
  std::string schema_file;
  std::string regex;
};

/// Prints "accepted" or "refused at byte N: why" for each line of the standard input; returns the
/// program's exit status.
int run_accepts(const AcceptsOptions& options);

}  // namespace forge::apps
