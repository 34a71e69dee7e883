// OutputCompiler: makes the grammars of requests (core/output_grammar.h), each once.
//
// A server compiles a grammar where it may take its time, on a worker's thread, and refuses the
// request if it cannot be; the executor, which needs it a moment later, finds it here. What was
// asked for last stays: up to kGrammarsMax grammars that took up to kStepsMax steps together, which
// bounds what they hold. One that is gone is compiled again, to the same.
//
// The vocabulary is that of a model: its tokenizer's tokens, and none for ids beyond them, which a
// model may have but no text can. It is made when the first grammar is asked for.
//
// Thread contract: any number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "forge/core/output_grammar.h"
#include "forge/grammar/grammar.h"
#include "forge/grammar/vocabulary.h"

namespace forge::grammar {

/// What an OutputGrammar becomes. Immutable.
struct CompiledOutput {
  std::shared_ptr<const Vocabulary> vocabulary;
  Grammar grammar;
  std::string after;  ///< as in OutputGrammar
  /// [bytes of `after` at the end of the output] the tokens that complete it and go on with what
  /// the grammar refuses.
  std::vector<std::vector<std::uint32_t>> refused;
};

/// Why an OutputGrammar was refused.
struct OutputError {
  std::size_t form = 0;  ///< the form at fault
  GrammarError error;

  friend bool operator==(const OutputError&, const OutputError&) = default;
};

class OutputCompiler {
 public:
  static constexpr std::size_t kGrammarsMax = 256;
  static constexpr std::uint64_t kStepsMax = 20'000'000;

  using Compiled = std::shared_ptr<const CompiledOutput>;

  /// `tokens` says what the vocabulary has; it is called at most once, by any thread.
  explicit OutputCompiler(std::function<VocabularyTokens()> tokens);
  OutputCompiler(const OutputCompiler&) = delete;
  OutputCompiler& operator=(const OutputCompiler&) = delete;

  /// Errors: those of Grammar; forms that cannot be alternatives; text around what is not JSON;
  /// text that is not UTF-8.
  tl::expected<Compiled, OutputError> compile(const OutputGrammar& output);

 private:
  struct Known {
    OutputGrammar output;
    Compiled compiled;
    std::uint64_t steps = 0;
  };

  std::shared_ptr<const Vocabulary> vocabulary();
  Compiled find(const OutputGrammar& output);
  void keep(Known known);

  std::function<VocabularyTokens()> tokens_;
  std::once_flag has_vocabulary_;
  std::shared_ptr<const Vocabulary> vocabulary_;

  std::mutex mutex_;
  std::list<Known> known_;  ///< what was asked for last comes first
  std::uint64_t steps_ = 0;
};

}  // namespace forge::grammar
