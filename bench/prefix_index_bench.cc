// A prefix index at work: what finding, inserting, letting go and evicting a block cost.
//
// 100,000 blocks of 16 tokens, all cached and unused, so every insertion evicts. items/s are
// blocks/s; the argument is the number of blocks of a prompt. With one block a prompt, all
// blocks are children of the root: the worst shape for a radix tree.
#include <benchmark/benchmark.h>

#include <random>
#include <span>
#include <vector>

#include "forge/core/hash_index.h"
#include "forge/core/radix_index.h"

namespace forge {
namespace {

constexpr std::uint32_t kBlocks = 100'000;
constexpr std::uint32_t kBlockSize = 16;

/// Prompts without common prefixes: prompt i is what follows token i of a random text.
class Prompts {
 public:
  explicit Prompts(std::uint32_t blocks) : length_(blocks * kBlockSize), text_(1 << 20) {
    std::mt19937 random(1);
    for (TokenId& token : text_) token.value = random() % 128'000;
  }

  std::span<const TokenId> operator[](std::uint32_t i) const {
    // Any odd number above `length_` sends consecutive prompts to different places.
    const std::size_t first = std::size_t{i} * 7919 % (text_.size() - length_);
    return std::span(text_).subspan(first, length_);
  }

 private:
  std::size_t length_;
  std::vector<TokenId> text_;
};

std::span<const TokenId> block_of(std::span<const TokenId> prompt, std::size_t index) {
  return prompt.subspan(index * kBlockSize, kBlockSize);
}

/// A prompt comes, finds what is cached, computes and publishes the rest, and ends.
void serve(PrefixIndex& index, std::span<const TokenId> prompt, std::vector<BlockId>& free,
           std::vector<BlockId>& table) {
  table.clear();
  PrefixParent parent;
  for (std::size_t i = 0; i < prompt.size() / kBlockSize; ++i) {
    const auto tokens = block_of(prompt, i);
    std::optional<BlockId> block = index.find(parent, tokens);
    if (block) {
      index.acquire(*block);
    } else {
      if (free.empty()) free.push_back(*index.evict());
      block = free.back();
      free.pop_back();
      benchmark::DoNotOptimize(index.insert(parent, tokens, *block));
    }
    table.push_back(*block);
    parent = *block;
  }
  for (; !table.empty(); table.pop_back()) index.release(table.back());
}

template <class Index>
class Served {
 public:
  explicit Served(const benchmark::State& state)
      : blocks_(static_cast<std::uint32_t>(state.range(0))),
        prompts_(blocks_),
        index_({.cache = {.num_blocks = kBlocks, .block_size = kBlockSize}}) {
    for (std::uint32_t block = kBlocks; block > 0; --block) free_.emplace_back(block - 1);
    while (index_.size() < kBlocks) serve_next();
  }

  void serve_next() { serve(index_, prompts_[next_++], free_, table_); }
  /// One of the prompts that are cached as a whole.
  void serve_again(std::uint32_t i) {
    serve(index_, prompts_[next_ - 1 - i % (kBlocks / blocks_ / 2)], free_, table_);
  }
  std::int64_t blocks() const { return blocks_; }

 private:
  std::uint32_t blocks_;
  Prompts prompts_;
  Index index_;
  std::vector<BlockId> free_;
  std::vector<BlockId> table_;
  std::uint32_t next_ = 0;
};

/// New prompts only: each block is looked for, evicted, inserted and released.
template <class Index>
void prefix_index_miss(benchmark::State& state) {
  Served<Index> served(state);
  for (auto _ : state) served.serve_next();
  state.SetItemsProcessed(state.iterations() * served.blocks());
}

/// Known prompts only: each block is found, acquired and released.
template <class Index>
void prefix_index_hit(benchmark::State& state) {
  Served<Index> served(state);
  std::uint32_t i = 0;
  for (auto _ : state) served.serve_again(i += 37);
  state.SetItemsProcessed(state.iterations() * served.blocks());
}

/// An index of so many blocks, made and destroyed.
template <class Index>
void prefix_index_construct(benchmark::State& state) {
  const auto blocks = static_cast<std::uint32_t>(state.range(0));
  for (auto _ : state) Index({.cache = {.num_blocks = blocks, .block_size = kBlockSize}});
}

void prompt_lengths(benchmark::internal::Benchmark* benchmark) {
  for (const int blocks : {1, 4, 32, 1000}) benchmark->Arg(blocks);
}
BENCHMARK_TEMPLATE(prefix_index_miss, RadixIndex)->Apply(prompt_lengths);
BENCHMARK_TEMPLATE(prefix_index_miss, HashIndex)->Apply(prompt_lengths);
BENCHMARK_TEMPLATE(prefix_index_hit, RadixIndex)->Apply(prompt_lengths);
BENCHMARK_TEMPLATE(prefix_index_hit, HashIndex)->Apply(prompt_lengths);
BENCHMARK_TEMPLATE(prefix_index_construct, RadixIndex)->Arg(1'000'000);
BENCHMARK_TEMPLATE(prefix_index_construct, HashIndex)->Arg(1'000'000);

}  // namespace
}  // namespace forge
