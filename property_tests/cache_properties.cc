// Stateful test of PagedKVCache: random calls, legal and not, against ModelCache; and two caches
// with different indexes against each other, block by block.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <optional>
#include <utility>

#include "forge/core/paged_kv_cache.h"
#include "model_cache.h"

namespace forge {
namespace {

using testing::ModelCache;

struct Call {
  enum Kind { add, append, publish, rollback, free, pin, unpin, clear };
  Kind kind = add;
  SeqId seq;
  std::uint32_t tokens = 0;
  std::uint32_t text = 0;  ///< what the tokens of a new sequence are, and their salt
};

std::ostream& operator<<(std::ostream& out, const Call& call) {
  const char* const names[] = {"add",  "append", "publish", "rollback",
                               "free", "pin",    "unpin",   "clear"};
  return out << names[call.kind] << '(' << call.seq.value << ", " << call.tokens << ", text "
             << call.text << ')';
}

rc::Gen<Call> any_call() {
  const auto any = [](std::uint32_t end) {
    return rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::uint32_t>(0, end));
  };
  return rc::gen::build<Call>(
      rc::gen::set(&Call::kind, rc::gen::weightedElement<Call::Kind>({{8, Call::add},
                                                                      {6, Call::append},
                                                                      {8, Call::publish},
                                                                      {2, Call::rollback},
                                                                      {5, Call::free},
                                                                      {1, Call::pin},
                                                                      {2, Call::unpin},
                                                                      {1, Call::clear}})),
      rc::gen::set(&Call::seq, rc::gen::map(any(7), [](std::uint32_t v) { return SeqId{v + 1}; })),
      rc::gen::set(&Call::tokens, any(25)), rc::gen::set(&Call::text, any(8)));
}

CacheSalt salt_of(std::uint32_t text) { return CacheSalt{text / 4}; }

/// All texts begin alike and part sooner or later, but for two with different salts.
std::vector<TokenId> text_of(std::uint32_t text, std::size_t length) {
  text %= 4;
  std::vector<TokenId> tokens(length, TokenId{1});
  for (std::size_t i = 5 * text; i < length; i += 3) tokens[i] = TokenId{text + 1};
  return tokens;
}

/// All that can be seen of a cache.
struct Snapshot {
  std::vector<BlockId> free;
  std::vector<BlockId> cached;
  std::vector<BlockId> unused;
  std::map<SeqId, std::pair<std::uint32_t, std::vector<BlockId>>> tables;
  friend bool operator==(const Snapshot&, const Snapshot&) = default;
};

class CacheWorld {
 public:
  explicit CacheWorld(const SchedulerConfig& config)
      : radix_(cache_with(PrefixCacheKind::radix, config)),
        hash_(cache_with(PrefixCacheKind::hash, config)),
        model_(config) {}

  void play(const Call& call) {
    const Snapshot before = snapshot(radix_);
    const auto pins = pins_.size();
    const bool expected = play_model(call);
    const bool accepted = play_cache(radix_, call, /*keep_pins=*/true);
    RC_ASSERT(accepted == expected);
    RC_ASSERT(play_cache(hash_, call, /*keep_pins=*/false) == expected);
    if (!accepted) RC_ASSERT(snapshot(radix_) == before);
    if (call.kind == Call::unpin && pins > 0) pins_.pop_back();
    check();
  }

  void drain() {
    for (std::uint64_t seq = 1; seq <= 7; ++seq) play({Call::free, SeqId{seq}});
    while (!pins_.empty()) play({Call::unpin, SeqId{1}});
    RC_ASSERT(radix_.available_count() == radix_.pool().size());
    play({Call::clear, SeqId{1}});
    RC_ASSERT(radix_.pool().free_count() == radix_.pool().size());
  }

 private:
  struct Sequence {
    std::uint32_t text = 0;
    std::uint32_t tokens = 0;
  };
  struct Pin {
    std::vector<BlockId> blocks;
    std::vector<ModelCache::Block> model;
  };

  static PagedKVCache cache_with(PrefixCacheKind kind, SchedulerConfig config) {
    config.prefix_cache = kind;
    return PagedKVCache(config.cache.num_blocks, config.cache.block_size, make_prefix_index(config),
                        config.prefix_cache_max);
  }

  /// True if the call is legal; then it is done.
  bool play_model(const Call& call) {
    const bool known = model_.contains(call.seq);
    Sequence& s = sequences_[call.seq];
    switch (call.kind) {
      case Call::add: {
        const ModelCache::Match match =
            model_.match({salt_of(call.text), text_of(call.text, call.tokens)});
        if (known || model_.needed(match, call.tokens) > model_.available()) return false;
        model_.add(call.seq, match, call.tokens);
        s = {call.text, call.tokens};
        return true;
      }
      case Call::append:
        if (!known || model_.missing(call.seq, s.tokens + call.tokens) > model_.available()) {
          return false;
        }
        model_.resize(call.seq, s.tokens += call.tokens);
        return true;
      case Call::publish:
        if (!known) return false;
        model_.publish(call.seq, {salt_of(s.text), text_of(s.text, s.tokens)},
                       std::min(call.tokens, s.tokens));
        return true;
      case Call::rollback:
        if (!known || call.tokens > s.tokens - model_.published(call.seq) * radix_.block_size()) {
          return false;
        }
        model_.resize(call.seq, s.tokens -= call.tokens);
        return true;
      case Call::free:
        if (known) model_.free(call.seq);
        return known;
      case Call::pin:
        if (known) pins_.push_back({{}, model_.pin(call.seq)});
        return known;
      case Call::unpin:
        if (!pins_.empty()) model_.unpin(pins_.back().model);
        return true;
      case Call::clear:
        model_.clear_index();
        return true;
    }
    return false;
  }

  bool play_cache(PagedKVCache& cache, const Call& call, bool keep_pins) {
    const Sequence& s = sequences_[call.seq];
    switch (call.kind) {
      case Call::add: {
        PrefixMatch match;
        cache.match_prefix({salt_of(call.text), text_of(call.text, call.tokens)}, match);
        return cache.add(call.seq, match, call.tokens).has_value();
      }
      case Call::append:
        return cache.append(call.seq, call.tokens).has_value();
      case Call::publish:
        return cache
            .publish(call.seq, {salt_of(s.text), text_of(s.text, s.tokens)},
                     std::min(call.tokens, s.tokens))
            .has_value();
      case Call::rollback:
        return cache.rollback(call.seq, call.tokens).has_value();
      case Call::free:
        return cache.free(call.seq).has_value();
      case Call::pin: {
        std::vector<BlockId> pinned;
        const bool done = cache.pin(call.seq, pinned).has_value();
        if (done && keep_pins) pins_.back().blocks = pinned;
        return done;
      }
      case Call::unpin:
        // Both caches pin the same blocks: check() compares them.
        if (!pins_.empty()) cache.unpin(pins_.back().blocks);
        return true;
      case Call::clear:
        cache.clear_index();
        return true;
    }
    return false;
  }

  Snapshot snapshot(const PagedKVCache& cache) const {
    const auto free = cache.pool().free_list();
    Snapshot s{{free.begin(), free.end()}, cache.index()->blocks(), cache.index()->unused(), {}};
    for (const auto& [seq, sequence] : sequences_) {
      const auto table = cache.block_table(seq);
      if (table) s.tables[seq] = {*cache.tokens(seq), {table->begin(), table->end()}};
    }
    return s;
  }

  void check() const {
    RC_ASSERT(snapshot(radix_) == snapshot(hash_));
    RC_ASSERT(radix_.pool().free_count() == model_.free_count());
    RC_ASSERT(radix_.available_count() == model_.available());
    RC_ASSERT(radix_.index()->size() == model_.cached_count());
    RC_ASSERT(radix_.evictions() == model_.evictions());
    std::vector<std::uint32_t> holders(radix_.pool().size(), 0);
    for (const auto& [seq, s] : sequences_) {
      RC_ASSERT(radix_.contains(seq) == model_.contains(seq));
      if (!radix_.contains(seq)) continue;
      RC_ASSERT(*radix_.tokens(seq) == s.tokens);
      const auto table = *radix_.block_table(seq);
      RC_ASSERT(table.size() == model_.table_length(seq));
      RC_ASSERT(*radix_.published(seq) == model_.published(seq));
      for (const BlockId block : table) ++holders[block.value];
    }
    for (const BlockId block : radix_.index()->blocks()) ++holders[block.value];
    for (const Pin& pin : pins_) {
      for (const BlockId block : pin.blocks) ++holders[block.value];
    }
    for (std::uint32_t i = 0; i < holders.size(); ++i) {
      RC_ASSERT(radix_.pool().holders(BlockId{i}) == holders[i]);
    }
    for (std::uint32_t text = 0; text < 8; ++text) {
      const auto tokens = text_of(text, 24);
      PrefixMatch match;
      radix_.match_prefix({salt_of(text), tokens}, match);
      RC_ASSERT(match.tokens == model_.match({salt_of(text), tokens}).tokens);
    }
  }

  PagedKVCache radix_;
  PagedKVCache hash_;
  ModelCache model_;
  std::map<SeqId, Sequence> sequences_;
  std::vector<Pin> pins_;
};

RC_GTEST_PROP(PagedKVCache, follows_a_plain_model_whatever_the_index_and_refusals_change_nothing,
              ()) {
  const auto num_blocks = *rc::gen::inRange<std::uint32_t>(1, 24);
  const auto block_size = *rc::gen::inRange<std::uint32_t>(1, 6);
  CacheWorld world({.cache = {.num_blocks = num_blocks, .block_size = block_size},
                    .prefix_cache_max = *rc::gen::element<std::uint32_t>(0, 2, 1000, 1000)});
  for (const Call& call : *rc::gen::container<std::vector<Call>>(any_call())) world.play(call);
  world.drain();
}

}  // namespace
}  // namespace forge
