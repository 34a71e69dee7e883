// forge-grammar: what a JSON Schema or a regular expression accepts, and how fast masks are.
//
// Exit status: 0 done, and all instances accepted; 1 some refused; 2 unusable arguments, or a
// grammar that does not compile.
#include <CLI/CLI.hpp>

#include "grammar_accepts.h"
#include "grammar_bench.h"
#include "program_output.h"
#include "subcommands.h"

namespace forge::apps {
namespace {

class Commands : public Subcommands {
 public:
  Commands()
      : Subcommands("Tries grammars of structured output, and measures them.", "forge-grammar") {
    CLI::App* const accepts =
        add("accepts", "Say of each line of the standard input whether the grammar accepts it",
            [this] { return run_accepts(accepts_); });
    CLI::Option* const schema =
        accepts->add_option("--schema", accepts_.schema_file, "File with a JSON Schema");
    accepts
        ->add_option("--regex", accepts_.regex, "Regular expression that a line matches as a whole")
        ->excludes(schema);

    CLI::App* const bench =
        add("bench", "Time each mask of each valid instance of schemas, on one thread",
            [this] { return run_grammar_bench(bench_); });
    bench->add_option("FOLDER", bench_.folder, "Folder of the JSON-Schema-Test-Suite")->required();
    bench->add_option("--tokenizer", bench_.tokenizer,
                      "GGUF file, or folder with a tokenizer.json [a vocabulary made up of 131072 "
                      "tokens]");
    bench->add_flag("--slowest", bench_.slowest, "Print the ten slowest masks and grammars");
  }

 private:
  AcceptsOptions accepts_;
  GrammarBenchOptions bench_;
};

}  // namespace
}  // namespace forge::apps

int main(int argc, char** argv) {
  const int status = forge::apps::Commands().run(argc, argv, forge::apps::kGrammarUnusable);
  return forge::apps::flush_results("forge-grammar") ? status : forge::apps::kGrammarUnusable;
}
