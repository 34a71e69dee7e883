#include "token_pass.h"

#include <numeric>
#include <utility>

#include "forge/core/ids.h"
#include "forge/linear/thread_pool.h"
#include "forge/text/load_tokenizer.h"

namespace forge::apps {
namespace {

constexpr std::uint32_t kBlockSize = 16;

text::LoadedTokenizer tokenizer_of(const checkpoint::Checkpoint& checkpoint,
                                   const std::string& path) {
  if (checkpoint.gguf() != nullptr) return text::load_tokenizer(*checkpoint.gguf());
  return text::load_tokenizer(checkpoint::directory_of(path));
}

}  // namespace

tl::expected<std::vector<std::uint32_t>, std::string> tokens_of_text(
    const checkpoint::Checkpoint& checkpoint, const std::string& path, const std::string& text) {
  const auto tokenizer = tokenizer_of(checkpoint, path);
  if (!tokenizer) return tl::unexpected(to_string(tokenizer.error()));
  const auto encoded = (*tokenizer)->encode(text);
  if (!encoded) return tl::unexpected(to_string(encoded.error()));
  std::vector<std::uint32_t> tokens;
  tokens.reserve(encoded->size());
  for (const TokenId token : *encoded) tokens.push_back(token.value);
  return tokens;
}

struct TokenPass::State {
  State(const model::ModelConfig& config, int thread_count)
      : threads(thread_count), scratch(config, threads) {}

  linear::ThreadPool threads;
  model::TransformerScratch scratch;
  std::unique_ptr<const model::Transformer> model;
  std::vector<float> logits;
};

TokenPass::TokenPass(std::unique_ptr<State> state) : state_(std::move(state)) {}
TokenPass::TokenPass(TokenPass&&) noexcept = default;
TokenPass& TokenPass::operator=(TokenPass&&) noexcept = default;
TokenPass::~TokenPass() = default;

tl::expected<TokenPass, std::string> TokenPass::open(const checkpoint::Checkpoint& checkpoint,
                                                     int threads) {
  auto state = std::make_unique<State>(checkpoint.config(), threads);
  checkpoint::CheckpointReader reader(checkpoint);
  auto weights = pack(checkpoint.config(), checkpoint.model(), state->threads, {.reader = &reader});
  if (!weights) return tl::unexpected(to_string(checkpoint.error_of(weights.error())));
  state->model = std::make_unique<model::Transformer>(checkpoint.config(), *std::move(weights));
  return TokenPass(std::move(state));
}

std::span<const float> TokenPass::run(std::span<const std::uint32_t> tokens,
                                      model::ForwardObserver observer) {
  State& state = *state_;
  const model::ModelConfig& config = state.model->config();
  const auto count = static_cast<std::uint32_t>(tokens.size());
  const std::uint32_t blocks = (count + kBlockSize - 1) / kBlockSize;
  model::KvPool pool(kv_shape(config), blocks, kBlockSize);
  const std::vector<TokenId> ids(tokens.begin(), tokens.end());
  std::vector<std::uint32_t> positions(count), table(blocks);
  std::iota(positions.begin(), positions.end(), 0);
  std::iota(table.begin(), table.end(), 0);
  const std::vector<std::uint32_t> sequences(count);
  const std::vector<std::span<const std::uint32_t>> tables = {table};
  state.logits.resize(count * static_cast<std::size_t>(config.vocabulary_size));
  state.scratch.observer = std::move(observer);
  state.model->forward({.tokens = ids,
                        .positions = positions,
                        .sequences = sequences,
                        .tables = tables,
                        .logit_rows = positions},
                       pool, state.scratch, state.logits, config.layers);
  state.scratch.observer = {};
  return state.logits;
}

const model::TransformerScratch& TokenPass::scratch() const { return state_->scratch; }

}  // namespace forge::apps
