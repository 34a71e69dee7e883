// Calls of a PagedKVCache with a prefix index, and what can be seen of it after each.
#include <limits>
#include <map>
#include <stdexcept>

#include "answering.h"
#include "forge/core/paged_kv_cache.h"
#include "forge/core/scheduler_config.h"

namespace forge::labs {
namespace {

constexpr std::uint32_t kMost = 64;
constexpr std::uint32_t kNoLimit = std::numeric_limits<std::uint32_t>::max();

std::uint32_t number(const Json& input, std::uint32_t least = 0) {
  const auto value = input.get<std::uint32_t>();
  if (value < least || value > kMost) throw std::invalid_argument("a number");
  return value;
}

/// A letter is a token.
std::vector<TokenId> tokens_of(const Json& input) {
  std::vector<TokenId> tokens;
  for (const char letter : input.get<std::string>()) {
    tokens.emplace_back(static_cast<unsigned char>(letter));
  }
  if (tokens.size() > kMost) throw std::invalid_argument("a text");
  return tokens;
}

std::string listed(std::span<const BlockId> blocks) {
  std::string text;
  for (const BlockId block : blocks) text += " " + std::to_string(block.value);
  return text.empty() ? " none" : text;
}

struct Text {
  CacheSalt salt;
  std::vector<TokenId> tokens;
  std::vector<BlockId> blocks;  // of its table at the start
};

/// Sequences as they are in a cache: who has which blocks, and which of them are cached.
class Start {
 public:
  Start(std::uint32_t block_size, std::uint32_t blocks) : block_size_(block_size), left_(blocks) {}

  /// The first `published` blocks are those of the same prefix, if there are such.
  void add(Text& text, std::uint32_t published) {
    TableSnapshot table{.seq = SeqId{snapshot_.tables.size() + 1},
                        .tokens = static_cast<std::uint32_t>(text.tokens.size()),
                        .published = published};
    for (std::size_t first = 0; first < text.tokens.size(); first += block_size_) {
      if (table.blocks.size() < published) {
        table.blocks.push_back(cached(text, first, table.blocks));
      } else {
        table.blocks.push_back(next());
      }
    }
    text.blocks = table.blocks;
    snapshot_.tables.push_back(std::move(table));
  }

  CacheSnapshot finish() {
    while (left_ > 0) snapshot_.free.push_back(last());
    return snapshot_;
  }

 private:
  BlockId next() {
    if (left_ == 0) throw std::invalid_argument("too few blocks");
    --left_;
    return BlockId{taken_++};
  }
  BlockId last() { return BlockId{taken_ + --left_}; }

  BlockId cached(const Text& text, std::size_t first, const std::vector<BlockId>& before) {
    if (first + block_size_ > text.tokens.size()) throw std::invalid_argument("published");
    const auto tokens = std::span(text.tokens).subspan(first, block_size_);
    CachedBlock block{.tokens = {tokens.begin(), tokens.end()}, .salt = text.salt};
    if (!before.empty()) block.parent = before.back();
    for (const CachedBlock& other : snapshot_.cached) {
      block.block = other.block;
      if (block == other) return other.block;
    }
    block.block = next();
    snapshot_.cached.push_back(block);
    return block.block;
  }

  std::uint32_t block_size_;
  std::uint32_t left_;
  std::uint32_t taken_ = 0;
  CacheSnapshot snapshot_;
};

class World {
 public:
  /// {"blocks": 8, "block_size": 2, "unused_max": 9, "sequences": [["abcdef", 2, 0], ...]}:
  /// sequence 1 has these tokens, its first 2 blocks are published, and its salt is 0. No limit is
  /// an unused_max of 0.
  explicit World(const Json& input) {
    SchedulerConfig config;
    config.cache.num_blocks = number(input.at("blocks"), 1);
    config.cache.block_size = number(input.at("block_size"), 1);
    const std::uint32_t unused_max = number(input.at("unused_max"));
    cache_ = PagedKVCache(config.cache.num_blocks, config.cache.block_size,
                          make_prefix_index(config), unused_max == 0 ? kNoLimit : unused_max);
    Start start(config.cache.block_size, config.cache.num_blocks);
    for (const Json& each : input.at("sequences")) {
      Text text{CacheSalt{number(each.at(2))}, tokens_of(each.at(0)), {}};
      const std::uint32_t published = number(each.at(1));
      if (published > text.tokens.size() / config.cache.block_size) {
        throw std::invalid_argument("published");
      }
      start.add(text, published);
      texts_.emplace(SeqId{texts_.size() + 1}, std::move(text));
    }
    if (!cache_.restore(start.finish(), {})) throw std::logic_error("the start");
    insertions_ = cache_.insertions();
  }

  /// {"free": [1]}: the call and what it returned.
  std::string play(const Json& call) {
    const std::string name = call.begin().key();
    const Json& values = call.begin().value();
    const std::string said = result_of(name, values);
    std::string line = name;
    for (const Json& value : values) {
      line += " " + (value.is_string() ? value.get<std::string>() : value.dump());
    }
    return said.empty() ? line : line + ": " + said;
  }

  /// Tables, free and unused blocks, and what has changed in the index since it was last told.
  std::string state() {
    std::string text;
    for (const auto& [seq, its] : texts_) {
      if (!cache_.contains(seq)) continue;
      text += " | " + std::to_string(seq.value) + " in" + listed(*cache_.block_table(seq)) + ", " +
              std::to_string(*cache_.published(seq)) + " published";
    }
    const auto free = cache_.pool().free_list();
    text += " | free" + listed(std::vector<BlockId>(free.rbegin(), free.rend()));
    text += " | unused" + listed(cache_.index()->unused());
    return text + changes();
  }

 private:
  std::string result_of(const std::string& name, const Json& values) {
    if (name == "match") return match(values);
    if (name == "clear") {
      cache_.clear_index();
      return "";
    }
    if (name == "unpin") {
      if (pins_.empty()) throw std::invalid_argument("nothing is pinned");
      cache_.unpin(pins_.back());
      pins_.pop_back();
      return "";
    }
    const SeqId seq{number(values.at(0), 1)};
    if (name == "needed") return needed(texts_.at(seq), values);
    if (name == "publish") return publish(seq, number(values.at(1)));
    if (name == "free") {
      const auto done = cache_.free(seq);
      return done ? "" : to_string(done.error());
    }
    if (name != "pin") throw std::invalid_argument(name);
    const auto done = cache_.pin(seq, pins_.emplace_back());
    return done ? "" : to_string(done.error());
  }

  /// {"match": ["abcd", 0]}: the tokens and the salt. All matches are written over the same one.
  std::string match(const Json& values) {
    const std::vector<TokenId> tokens = tokens_of(values.at(0));
    cache_.match_prefix({CacheSalt{number(values.at(1))}, tokens}, match_);
    return "shared" + listed(match_.shared) + ", copied " +
           (match_.copied ? std::to_string(match_.copied->value) : "none") + ", " +
           std::to_string(match_.tokens) + " tokens";
  }

  /// {"needed": [1, 2, 1, 7]}: by one of 7 tokens that shares the first 2 blocks of sequence 1 and
  /// copies the one after them.
  std::string needed(const Text& text, const Json& values) const {
    const std::uint32_t shared = number(values.at(1));
    const std::uint32_t copied = number(values.at(2));
    const std::uint32_t tokens = number(values.at(3));
    if (copied > 1 ||
        shared + copied > std::min<std::size_t>(text.blocks.size(), cache_.blocks_for(tokens))) {
      throw std::invalid_argument("a match");
    }
    for (std::uint32_t i = 0; i < shared + copied; ++i) {
      if (!cache_.index()->contains(text.blocks[i])) throw std::invalid_argument("not cached");
    }
    PrefixMatch match{.shared = {text.blocks.begin(), text.blocks.begin() + shared}};
    match.tokens = shared * cache_.block_size();
    if (copied == 1) {
      match.copied = text.blocks[shared];
      match.tokens += cache_.block_size() - 1;
    }
    return std::to_string(cache_.blocks_needed(match, tokens));
  }

  /// {"publish": [1, 4]}: its first 4 tokens are valid.
  std::string publish(SeqId seq, std::uint32_t valid) {
    const Text& text = texts_.at(seq);
    if (valid > text.tokens.size()) throw std::invalid_argument("valid");
    const auto changed = cache_.publish(seq, {text.salt, text.tokens}, valid);
    if (!changed) return to_string(changed.error());
    return *changed ? "changed from place " + std::to_string(**changed) : "nothing changed";
  }

  std::string changes() {
    CacheDelta delta;
    cache_.take_changes(delta);
    std::string text = delta.cleared ? " | cleared" : " |";
    for (const BlockId block : delta.removed) text += " -" + std::to_string(block.value);
    for (const StoredBlock& stored : delta.stored) {
      text += " +" + std::to_string(stored.block.value);
      if (stored.parent) text += "<" + std::to_string(stored.parent->value);
      text += " (place " + std::to_string(stored.place) + " of " +
              std::to_string(stored.seq.value) + ")";
    }
    if (text == " |") text.clear();
    return text + " | stored " + std::to_string(cache_.insertions() - insertions_) + ", given up " +
           std::to_string(cache_.evictions());
  }

  PagedKVCache cache_;
  std::map<SeqId, Text> texts_;
  std::vector<std::vector<BlockId>> pins_;
  PrefixMatch match_;
  std::uint64_t insertions_ = 0;
};

/// A case -> what is there at the start, and a line a call.
Json calls(const Json& input) {
  World world(input);
  Json lines = Json::array({"at the start" + world.state()});
  for (const Json& call : input.at("calls")) {
    std::string line = world.play(call);
    line += world.state();
    lines.push_back(line);
  }
  return lines;
}

/// A case -> what is there at the start, and the answers to questions.
Json questions(const Json& input) {
  World world(input);
  Json lines = Json::array({"at the start" + world.state()});
  for (const Json& call : input.at("calls")) {
    const std::string line = world.play(call);
    if (call.contains("match") || call.contains("needed")) lines.push_back(line);
  }
  return lines;
}

}  // namespace

std::map<std::string, Answer> tasks() {
  return {{"match_prefix", questions},
          {"release", calls},
          {"blocks_needed", questions},
          {"publish", calls}};
}

}  // namespace forge::labs
