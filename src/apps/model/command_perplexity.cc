// forge-model perplexity
#include <algorithm>
#include <iomanip>
#include <iostream>

#include "forge/checkpoint/checkpoint.h"
#include "model_commands.h"
#include "output_path.h"
#include "text_windows.h"
#include "token_pass.h"

namespace forge::apps {

int run_perplexity(const PerplexityOptions& options) {
  const auto text = read_text_file(options.text);
  if (!text) return unusable_model("TEXT: '" + options.text + "' cannot be read");
  const auto checkpoint = checkpoint::Checkpoint::open(options.path);
  if (!checkpoint) return unusable_model("PATH: " + to_string(checkpoint.error()));
  const int positions = checkpoint->config().positions;
  if (options.window > positions) {
    return unusable_model("--window " + std::to_string(options.window) + ": accepted are 2 to " +
                          std::to_string(positions) + ", the positions of the model");
  }
  const auto tokens = tokens_of_text(*checkpoint, options.path, *text);
  if (!tokens) return unusable_model("TEXT: " + tokens.error());
  if (tokens->size() < 2) {
    return unusable_model("TEXT: '" + options.text + "' has " + std::to_string(tokens->size()) +
                          " tokens; accepted are 2 and more");
  }
  auto pass = TokenPass::open(*checkpoint, thread_count(options.threads));
  if (!pass) return unusable_model("PATH: " + pass.error());
  const int window = options.window != 0 ? options.window : std::min(positions, kWindowDefault);
  const TextScore score = score_text(*pass, *tokens, static_cast<std::size_t>(window));
  std::cout << "perplexity " << std::fixed << std::setprecision(4) << score.perplexity() << " of "
            << score.tokens << " tokens, in windows of " << window << '\n';
  return kModelDone;
}

}  // namespace forge::apps
