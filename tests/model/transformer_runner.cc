#include "model/transformer_runner.h"

#include <algorithm>
#include <cctype>
#include <stdexcept>

namespace forge::testing {

checkpoint::Checkpoint opened(const std::string& path) {
  auto checkpoint = checkpoint::Checkpoint::open(path);
  if (!checkpoint) throw std::runtime_error(to_string(checkpoint.error()));
  return std::move(*checkpoint);
}

namespace {

model::PackedModel packed(const checkpoint::Checkpoint& checkpoint, linear::ThreadPool& threads) {
  checkpoint::CheckpointReader reader(checkpoint);
  return pack(checkpoint.config(), checkpoint.model(), threads, {.reader = &reader}).value();
}

}  // namespace

LoadedModel::LoadedModel(const std::string& path)
    : checkpoint_(opened(path)),
      transformer_(checkpoint_.config(), packed(checkpoint_, threads_)) {}

TransformerRunner::TransformerRunner(const model::Transformer& model, RunSetup setup)
    : model_(model),
      threads_(setup.threads),
      pool_(kv_shape(model.config()), setup.num_blocks, setup.block_size),
      scratch_(model.config(), threads_) {
  std::uint32_t state = setup.num_blocks;
  for (std::uint32_t block = 0; block < setup.num_blocks; ++block) {
    state = state * 1664525U + 1013904223U;
    const auto place = (state >> 8) % (free_blocks_.size() + 1);
    free_blocks_.insert(free_blocks_.begin() + static_cast<std::ptrdiff_t>(place), block);
  }
}

std::uint32_t TransformerRunner::add(std::vector<TokenId> tokens, std::uint32_t slots) {
  const std::uint32_t blocks = (slots + pool_.block_size() - 1) / pool_.block_size();
  if (blocks > free_blocks_.size()) throw std::runtime_error("no blocks left");
  const auto first = free_blocks_.end() - blocks;
  const std::uint32_t sequence =
      sequences_.add(std::move(tokens), std::vector(first, free_blocks_.end()));
  free_blocks_.erase(first, free_blocks_.end());
  return sequence;
}

std::vector<Logits> TransformerRunner::run(const std::vector<Piece>& pieces, int layers) {
  return run_pieces(pieces, sequences_, model_.config().vocabulary_size,
                    [&](const model::ForwardBatch& batch, std::span<float> logits) {
                      model_.forward(batch, pool_, scratch_, logits,
                                     layers == 0 ? model_.config().layers : layers);
                    });
}

std::vector<Logits> logits_alone(const model::Transformer& model,
                                 const std::vector<TokenId>& tokens) {
  const auto count = static_cast<std::uint32_t>(tokens.size());
  TransformerRunner runner(model, {.num_blocks = 1, .block_size = count});
  runner.add(tokens, count);
  return runner.run({{0, 0, count}});
}

std::vector<TokenId> greedy(const model::Transformer& model, std::vector<TokenId> tokens,
                            std::uint32_t count, std::vector<Logits>* rows) {
  auto first = static_cast<std::uint32_t>(tokens.size());
  const std::uint32_t slots = first + count;
  TransformerRunner runner(model, {.num_blocks = slots / 16 + 1, .block_size = 16});
  runner.add(std::move(tokens), slots);
  std::vector<TokenId> chosen;
  Logits last = runner.run({{0, 0, first}}).back();
  for (std::uint32_t i = 0; i < count; ++i) {
    chosen.emplace_back(argmax(last));
    if (rows != nullptr) rows->push_back(last);
    runner.append(0, chosen.back());
    last = runner.run({{0, first++, 1}})[0];
  }
  return chosen;
}

std::uint32_t argmax(const Logits& logits) {
  return static_cast<std::uint32_t>(std::ranges::max_element(logits) - logits.begin());
}

std::string identifier(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return text;
}

}  // namespace forge::testing
