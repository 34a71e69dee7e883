// forge-grammar bench: how long masks and grammars take.
#pragma once

#include <string>

namespace forge::apps {

struct GrammarBenchOptions {
  std::string folder;
  std::string tokenizer;  ///< empty: a vocabulary made up
  bool slowest = false;
};

/// Compiles each schema of the suite in `folder`, and writes each valid instance token by token,
/// with a mask before each token and after the last. Prints percentiles; returns the program's
/// exit status.
int run_grammar_bench(const GrammarBenchOptions& options);

}  // namespace forge::apps
