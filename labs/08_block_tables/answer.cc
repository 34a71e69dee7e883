// Calls of a PagedKVCache, and what can be seen of it after each.
#include <map>
#include <stdexcept>

#include "answering.h"
#include "forge/core/must.h"
#include "forge/core/paged_kv_cache.h"
#include "forge/core/scheduler_config.h"

namespace forge::labs {
namespace {

constexpr std::uint32_t kMost = 64;

std::uint32_t number(const Json& input, std::uint32_t least = 0) {
  const auto value = input.get<std::uint32_t>();
  if (value < least || value > kMost) throw std::invalid_argument("a number");
  return value;
}

std::string listed(std::span<const BlockId> blocks) {
  std::string text;
  for (const BlockId block : blocks) text += " " + std::to_string(block.value);
  return text.empty() ? " none" : text;
}

class World {
 public:
  /// {"blocks": 6, "block_size": 4, "cached": 0}: the first `cached` blocks begin as a path of the
  /// index that nobody holds.
  explicit World(const Json& input) {
    SchedulerConfig config;
    config.cache.num_blocks = number(input.at("blocks"), 1);
    config.cache.block_size = number(input.at("block_size"), 1);
    cache_ =
        PagedKVCache(config.cache.num_blocks, config.cache.block_size, make_prefix_index(config));
    const std::uint32_t cached = number(input.at("cached"));
    if (cached > config.cache.num_blocks) throw std::invalid_argument("cached");
    CacheSnapshot snapshot;
    for (std::uint32_t block = config.cache.num_blocks; block > cached; --block) {
      snapshot.free.emplace_back(block - 1);
    }
    for (std::uint32_t block = 0; block < cached; ++block) {
      snapshot.cached.push_back({.block = BlockId{block}, .tokens = text(0)});
      if (block > 0) snapshot.cached.back().parent = BlockId{block - 1};
      snapshot.unused.emplace_back(cached - 1 - block);
    }
    if (!cache_.restore(snapshot, {})) throw std::logic_error("the first blocks");
  }

  /// {"append": [1, 5]}: the call, what it returned, and what is there now.
  std::string play(const Json& call) {
    const std::string name = call.begin().key();
    const Json& values = call.begin().value();
    const std::string said = result_of(name, values);
    std::string line = name;
    for (const Json& value : values) line += " " + std::to_string(number(value));
    return line + ": " + said + " |" + state();
  }

 private:
  std::string result_of(const std::string& name, const Json& values) {
    if (name == "clear") {
      cache_.clear_index();
      return "done";
    }
    const SeqId seq{number(values.at(0), 1)};
    if (name == "add") return add(seq, values);
    if (name == "free") return text_of(cache_.free(seq));
    if (name == "publish") return publish(seq);
    const std::uint32_t tokens = number(values.at(1));
    if (name == "append") {
      const auto grown = cache_.append(seq, tokens);
      if (!grown) return to_string(grown.error());
      return "table" + listed(grown->blocks) + ", new " + std::to_string(grown->appended);
    }
    if (name != "rollback") throw std::invalid_argument(name);
    const auto kept = cache_.rollback(seq, tokens);
    return kept ? std::to_string(*kept) + " kept" : to_string(kept.error());
  }

  /// With tokens, if a second value says how many.
  std::string add(SeqId seq, const Json& values) {
    std::string said;
    if (values.size() < 2) {
      said = text_of(cache_.add(seq));
    } else {
      const auto table = cache_.add(seq, PrefixMatch(), number(values.at(1)));
      said = table ? "done" : to_string(table.error());
    }
    if (said == "done") text_[seq] = ++texts_;
    return said;
  }

  std::string publish(SeqId seq) {
    if (!cache_.contains(seq)) return to_string(CacheError(UnknownSequence{seq}));
    const std::uint32_t count = cache_.tokens(seq).value();
    const std::vector<TokenId> tokens(count, TokenId{text_.at(seq)});
    must(cache_.publish(seq, {CacheSalt(), tokens}, count));
    return "done";
  }

  static std::string text_of(const tl::expected<void, CacheError>& result) {
    return result ? "done" : to_string(result.error());
  }

  /// Each sequence has a token of its own, so that no two have a prefix in common.
  std::vector<TokenId> text(std::uint32_t token) const {
    return std::vector<TokenId>(cache_.block_size(), TokenId{token});
  }

  std::string state() const {
    std::string text;
    for (const auto& [seq, token] : text_) {
      if (!cache_.contains(seq)) continue;
      text += " " + std::to_string(seq.value) + ": " + std::to_string(*cache_.tokens(seq)) +
              " tokens in" + listed(*cache_.block_table(seq));
      if (const std::uint32_t published = *cache_.published(seq); published > 0) {
        text += ", " + std::to_string(published) + " published";
      }
      text += " |";
    }
    const auto free = cache_.pool().free_list();
    text += " free" + listed(std::vector<BlockId>(free.rbegin(), free.rend()));
    const std::vector<BlockId> unused = cache_.index()->unused();
    return unused.empty() ? text : text + ", unused" + listed(unused);
  }

  PagedKVCache cache_;
  std::map<SeqId, std::uint32_t> text_;
  std::uint32_t texts_ = 0;
};

/// A case -> a line a call.
Json calls(const Json& input) {
  World world(input);
  Json lines = Json::array();
  for (const Json& call : input.at("calls")) lines.push_back(world.play(call));
  return lines;
}

}  // namespace

std::map<std::string, Answer> tasks() {
  return {{"append", calls}, {"rollback", calls}, {"free", calls}};
}

}  // namespace forge::labs
