// Streams the answer of a model from a file: the tokens become text as they come.
//
// Usage: example-chat MODEL PROMPT, where MODEL is a directory with config.json and SafeTensors, a
// .gguf file, or "forge-tiny".
#include <cstdio>

#include "forge/runtime/open.h"

int main(int argc, char** argv) {
  const char* const model = argc > 1 ? argv[1] : "forge-tiny";
  const char* const prompt = argc > 2 ? argv[2] : "Ada is at the mill. Where is Ada?";
  auto runtime = forge::open(model);
  if (!runtime) {
    std::fprintf(stderr, "%s\n", runtime.error().c_str());
    return 1;
  }
  const auto tokens = runtime->tokenizer().encode(prompt);
  if (!tokens) {
    std::fprintf(stderr, "%s\n", to_string(tokens.error()).c_str());
    return 1;
  }
  forge::Request request{.prompt = *tokens, .max_new_tokens = 64};
  if (const auto seq = runtime->engine().submit(request); !seq) {
    std::fprintf(stderr, "%s\n", to_string(seq.error()).c_str());
    return 1;
  }
  forge::text::TextStream text(runtime->tokenizer());
  const auto print = [](const std::string& piece) {
    std::fputs(piece.c_str(), stdout);
    std::fflush(stdout);
  };
  while (runtime->engine().has_work()) {
    const auto [plan, result] = runtime->engine().step();
    for (const forge::TokenId token : result.tokens) print(text.push(token));
  }
  print(text.finish() + "\n");
}
