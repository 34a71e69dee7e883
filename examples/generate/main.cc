// The engine in-process, no server: generates for three prompts at once, in a cache too small
// for them, with speculation; then for each prompt alone, in a large cache, without. The tokens
// are the same: what a request yields depends on the request alone.
//
// Usage: example-generate [PROMPT...]
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "forge/cpu/cpu_executor.h"
#include "forge/engine/engine.h"
#include "forge/text/byte_tokenizer.h"

namespace {

using namespace forge;

struct Run {
  std::map<SeqId, std::vector<TokenId>> tokens;  // in order of submission
  std::size_t steps = 0;
  std::size_t preemptions = 0;
};

/// Generates for all `requests` in one batch. The block size is 4 tokens, `num_blocks` of them
/// hold the whole KV cache, and each step verifies up to `drafts` drafts for each sequence.
Run generate(const std::vector<Request>& requests, std::uint32_t num_blocks, std::uint32_t drafts) {
  const SchedulerConfig config{.cache = {.num_blocks = num_blocks, .block_size = 4},
                               .batch = {.max_batch_size = 8}};
  const executor::ExecutorOptions options{.cache = {.num_blocks = num_blocks, .block_size = 4},
                                          .drafts = drafts};
  cpu::CpuExecutor executor(options, cpu::seeded_cpu_model({}, options));
  engine::Engine engine(config, executor);

  Run run;
  for (const Request& request : requests) {
    const auto seq = engine.submit(request);
    if (!seq) {
      std::fprintf(stderr, "refused: %s\n", to_string(seq.error()).c_str());
      std::exit(1);
    }
    run.tokens[*seq];
  }
  while (engine.has_work()) {
    const auto [plan, result] = engine.step();
    for (const SliceResult& slice : result.slices) {
      const auto tokens = result.tokens_of(slice);
      std::vector<TokenId>& all = run.tokens[slice.seq];
      all.insert(all.end(), tokens.begin(), tokens.end());
    }
    run.preemptions += plan.preempted.size();
    ++run.steps;
  }
  return run;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> prompts(argv + 1, argv + argc);
  if (prompts.empty()) prompts = {"The block table", "of a sequence", "maps tokens to blocks."};

  std::vector<Request> requests;
  for (const std::string& prompt : prompts) {
    requests.push_back({.prompt = text::ByteTokenizer::tokens_of(prompt),
                        .max_new_tokens = 24,
                        .sampling = {.temperature = 0.8F, .seed = 7},
                        .ignore_eos = true});
  }

  const Run together = generate(requests, 20, 3);
  std::printf("together: %zu steps, %zu preemptions\n", together.steps, together.preemptions);

  bool same = together.tokens.size() == requests.size();
  std::size_t i = 0;
  for (const auto& [seq, tokens] : together.tokens) {
    const Run alone = generate({requests[i]}, 512, 0);
    const bool equal = alone.tokens.begin()->second == tokens;
    same = same && equal;
    std::printf("%s: %zu tokens, alone in %zu steps: %s\n", prompts[i].c_str(), tokens.size(),
                alone.steps, equal ? "the same" : "DIFFERENT");
    std::printf("  %s\n", text::ByteTokenizer().decode(tokens).c_str());
    ++i;
  }
  return same ? 0 : 1;
}
