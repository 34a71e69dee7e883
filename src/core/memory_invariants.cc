#include "forge/core/must.h"
#include "invariant_checks.h"

namespace forge::detail {
namespace {

/// Who names each block: tables, sessions and the index.
struct Holders {
  std::vector<std::uint32_t> tables;
  std::vector<std::uint32_t> others;

  explicit Holders(const BlockPool& pool) : tables(pool.size()), others(pool.size()) {}
};

Violation check_counts(const PagedKVCache& cache, const Holders& holders, const char* where) {
  const BlockPool& pool = cache.pool();
  std::vector<std::uint32_t> times_free(pool.size());
  for (const BlockId block : pool.free_list()) ++times_free[block.value];
  for (std::uint32_t i = 0; i < pool.size(); ++i) {
    const std::uint32_t expected = holders.tables[i] + holders.others[i];
    if (pool.holders(BlockId{i}) != expected || times_free[i] != (expected == 0 ? 1u : 0u)) {
      return violated(1, where, " block ", i, " counts ", pool.holders(BlockId{i}),
                      " holders, has ", expected, ", and is ", times_free[i],
                      " times in the free list");
    }
  }
  if (pool.free_count() + pool.used_count() != pool.size()) {
    return violated(1, where, ": ", pool.free_count(), " free + ", pool.used_count(), " used");
  }
  return std::nullopt;
}

// 2, 3, 4: one table, whose first `valid` tokens have valid KV.
Violation check_table(const PagedKVCache& cache, SeqId seq, std::uint32_t valid, CacheSalt salt) {
  const auto table = must(cache.block_table(seq));
  const std::uint32_t tokens = must(cache.tokens(seq));
  if (table.size() != cache.blocks_for(tokens)) {
    return violated(2, "sequence ", seq.value, " holds ", table.size(), " blocks for ", tokens,
                    " tokens");
  }
  const std::uint32_t published = must(cache.published(seq));
  if (published > valid / cache.block_size()) {
    return violated(4, "sequence ", seq.value, " has published ", published, " blocks with ", valid,
                    " valid tokens");
  }
  for (std::uint32_t i = 0; i < published; ++i) {
    const PrefixIndex& index = *cache.index();
    const auto follows = [&](const std::optional<BlockId>& parent) {
      return i == 0 ? !parent.has_value() : parent.has_value() && *parent == table[i - 1];
    };
    if (!index.contains(table[i]) || !follows(index.parent(table[i]))) {
      return violated(4, "block ", table[i].value, ", place ", i, " of sequence ", seq.value,
                      ", is not on its path of the index");
    }
    if (index.salt(table[i]) != salt) {
      return violated(4, "block ", table[i].value, ", place ", i, " of sequence ", seq.value,
                      ", has another salt");
    }
  }
  return std::nullopt;
}

// 3: who shares a block shares its place, and only full ones.
struct FirstSeen {
  std::uint32_t place = 0;
  bool full = false;
};
Violation check_sharing(const PagedKVCache& cache, const SequenceView& view, const Holders& holders,
                        std::vector<FirstSeen>& seen) {
  const auto table = must(cache.block_table(view.seq));
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    if (holders.tables[table[i].value] < 2) continue;
    FirstSeen& first = seen[table[i].value];
    const bool full = (i + 1) * cache.block_size() <= view.computed_tokens;
    if (!full || (first.full && first.place != i)) {
      return violated(3, "block ", table[i].value, " is shared, at place ", i, " of sequence ",
                      view.seq.value, full ? "" : " and not full");
    }
    first = {i, true};
  }
  return std::nullopt;
}

// 4: entries are used exactly if held, and the next to be evicted is a leaf.
Violation check_index(const PagedKVCache& cache) {
  const PrefixIndex* index = cache.index();
  if (index == nullptr) return std::nullopt;
  const std::vector<BlockId> blocks = index->blocks();
  const std::vector<BlockId> unused = index->unused();
  std::vector<bool> counts_as_unused(cache.pool().size());
  for (const BlockId block : unused) counts_as_unused[block.value] = true;
  for (const BlockId block : blocks) {
    const bool is_unused = counts_as_unused[block.value];
    if (is_unused != (cache.pool().holders(block) == 1)) {
      return violated(4, "cached block ", block.value, " with ", cache.pool().holders(block),
                      " holders counts as ", is_unused ? "unused" : "used");
    }
    const auto parent = index->parent(block);
    if (parent && !index->contains(*parent)) {
      return violated(4, "the parent of cached block ", block.value, " is not cached");
    }
    if (parent && index->salt(*parent) != index->salt(block)) {
      return violated(4, "cached block ", block.value, " and its parent have different salts");
    }
    if (parent && !unused.empty() && *parent == unused.front()) {
      return violated(4, "block ", parent->value, " would be evicted before block ", block.value,
                      " below it");
    }
  }
  return std::nullopt;
}

void count_table(const PagedKVCache& cache, SeqId seq, Holders& holders) {
  if (!cache.contains(seq)) return;
  for (const BlockId block : must(cache.block_table(seq))) ++holders.tables[block.value];
}

Violation check_device(const Scheduler& scheduler, const std::vector<SequenceView>& running) {
  const PagedKVCache& cache = scheduler.cache();
  Holders holders(cache.pool());
  for (const SequenceView& view : running) count_table(cache, view.seq, holders);
  for (const auto& [id, session] : scheduler.sessions().all()) {
    for (const BlockId block : session.pinned) ++holders.others[block.value];
  }
  if (cache.index() != nullptr) {
    for (const BlockId block : cache.index()->blocks()) ++holders.others[block.value];
  }
  if (auto violation = check_counts(cache, holders, "device")) return violation;
  std::vector<FirstSeen> seen(cache.pool().size());
  std::size_t tables = 0;
  for (const SequenceView& view : running) {
    if (!cache.contains(view.seq)) continue;
    ++tables;
    const CacheSalt salt = must(scheduler.salted_tokens(view.seq)).salt;
    if (auto violation = check_table(cache, view.seq, view.computed_tokens, salt)) return violation;
    if (auto violation = check_sharing(cache, view, holders, seen)) return violation;
  }
  if (tables != cache.sequence_count()) {
    return violated(2, cache.sequence_count(), " tables, ", tables, " of running sequences");
  }
  return check_index(cache);
}

Violation check_host(const Scheduler& scheduler, const std::vector<SequenceView>& waiting) {
  const PagedKVCache& host = scheduler.host();
  Holders holders(host.pool());
  std::size_t tables = 0;
  for (const SequenceView& view : waiting) {
    if (!host.contains(view.seq) && view.computed_tokens == 0) continue;
    ++tables;
    if (!host.contains(view.seq) || must(host.tokens(view.seq)) != view.computed_tokens) {
      return violated(2, "sequence ", view.seq.value, " waits with valid KV of ",
                      view.computed_tokens, " tokens, the host has another number");
    }
    count_table(host, view.seq, holders);
    if (auto violation = check_table(host, view.seq, view.computed_tokens, {})) return violation;
  }
  for (const SequenceView& view : scheduler.finishing()) {
    if (!host.contains(view.seq)) continue;
    ++tables;
    count_table(host, view.seq, holders);
  }
  if (tables != host.sequence_count()) {
    return violated(2, host.sequence_count(), " host tables, ", tables, " of swapped sequences");
  }
  return check_counts(host, holders, "host");
}

}  // namespace

Violation check_memory(const Scheduler& scheduler) {
  if (auto violation = check_device(scheduler, scheduler.running())) return violation;
  if (auto violation = check_host(scheduler, scheduler.waiting())) return violation;
  if (scheduler.has_work()) return std::nullopt;
  const PagedKVCache& cache = scheduler.cache();
  std::uint32_t pinned = 0;
  for (const auto& [id, session] : scheduler.sessions().all()) {
    pinned += static_cast<std::uint32_t>(session.pinned.size());
  }
  if (scheduler.host().pool().used_count() != 0 ||
      cache.available_count() + pinned < cache.pool().size()) {
    return violated(11, "with no work ", cache.available_count(), " of ", cache.pool().size(),
                    " blocks are available, ", pinned, " pinned, ",
                    scheduler.host().pool().used_count(), " host blocks in use");
  }
  return std::nullopt;
}

}  // namespace forge::detail
