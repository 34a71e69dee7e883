// Stateful test of PagedKVCache: random calls, legal and not, against a map of token counts.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "forge/core/paged_kv_cache.h"

namespace forge {
namespace {

using Model = std::map<SeqId, std::uint32_t>;

struct Snapshot {
  std::vector<BlockId> free;
  std::map<SeqId, std::pair<std::uint32_t, std::vector<BlockId>>> tables;
  friend bool operator==(const Snapshot&, const Snapshot&) = default;
};

Snapshot snapshot(const PagedKVCache& cache, const Model& model) {
  Snapshot s;
  const auto free = cache.pool().free_list();
  s.free.assign(free.begin(), free.end());
  for (const auto& [seq, tokens] : model) {
    const auto table = *cache.block_table(seq);
    s.tables[seq] = {*cache.tokens(seq), std::vector<BlockId>(table.begin(), table.end())};
  }
  return s;
}

void check_state(const PagedKVCache& cache, const Model& model) {
  RC_ASSERT(cache.sequence_count() == model.size());
  std::set<BlockId> seen(cache.pool().free_list().begin(), cache.pool().free_list().end());
  std::size_t held = 0;
  for (const auto& [seq, tokens] : model) {
    RC_ASSERT(*cache.tokens(seq) == tokens);
    const auto table = *cache.block_table(seq);
    RC_ASSERT(table.size() == (tokens + cache.block_size() - 1) / cache.block_size());
    seen.insert(table.begin(), table.end());
    held += table.size();
  }
  RC_ASSERT(seen.size() == cache.pool().size());
  RC_ASSERT(held == cache.pool().used_count());
}

struct Call {
  int kind = 0;
  SeqId seq;
  std::uint32_t tokens = 0;
};

std::ostream& operator<<(std::ostream& out, const Call& call) {
  const char* names[] = {"add", "append", "rollback", "free"};
  return out << names[call.kind] << '(' << call.seq.value << ", " << call.tokens << ')';
}

rc::Gen<Call> any_call() {
  return rc::gen::build<Call>(
      rc::gen::set(&Call::kind, rc::gen::weightedElement<int>({{3, 0}, {6, 1}, {3, 2}, {2, 3}})),
      rc::gen::set(&Call::seq, rc::gen::map(rc::gen::inRange<std::uint64_t>(1, 7),
                                            [](std::uint64_t v) { return SeqId{v}; })),
      rc::gen::set(&Call::tokens, rc::gen::inRange<std::uint32_t>(0, 20)));
}

/// True if the cache accepted the call; the model follows it.
bool play(PagedKVCache& cache, Model& model, const Call& call) {
  const bool known = model.contains(call.seq);
  switch (call.kind) {
    case 0: {
      const bool ok = cache.add(call.seq).has_value();
      RC_ASSERT(ok == !known);
      if (ok) model[call.seq] = 0;
      return ok;
    }
    case 1: {
      const std::uint32_t expected = known ? cache.blocks_for(model[call.seq] + call.tokens) -
                                                 cache.blocks_for(model[call.seq])
                                           : 0;
      if (known) RC_ASSERT(*cache.blocks_needed(call.seq, call.tokens) == expected);
      const bool ok = cache.append(call.seq, call.tokens).has_value();
      RC_ASSERT(ok == (known && expected <= cache.pool().free_count() + (ok ? expected : 0)));
      if (ok) model[call.seq] += call.tokens;
      return ok;
    }
    case 2: {
      const bool ok = cache.rollback(call.seq, call.tokens).has_value();
      RC_ASSERT(ok == (known && call.tokens <= model[call.seq]));
      if (ok) model[call.seq] -= call.tokens;
      if (!known) model.erase(call.seq);
      return ok;
    }
    default: {
      const bool ok = cache.free(call.seq).has_value();
      RC_ASSERT(ok == known);
      model.erase(call.seq);
      return ok;
    }
  }
}

RC_GTEST_PROP(PagedKVCache, follows_a_simple_model_and_refusals_change_nothing, ()) {
  const auto num_blocks = *rc::gen::inRange<std::uint32_t>(1, 24);
  const auto block_size = *rc::gen::inRange<std::uint32_t>(1, 6);
  const auto calls = *rc::gen::container<std::vector<Call>>(any_call());
  PagedKVCache cache(num_blocks, block_size);
  PagedKVCache twin(num_blocks, block_size);
  Model model;
  Model twin_model;
  for (const Call& call : calls) {
    const Snapshot before = snapshot(cache, model);
    const bool accepted = play(cache, model, call);
    play(twin, twin_model, call);
    check_state(cache, model);
    if (!accepted) RC_ASSERT(snapshot(cache, model) == before);
    RC_ASSERT(snapshot(cache, model) == snapshot(twin, twin_model));
  }
  for (const auto& [seq, tokens] : Model(model)) RC_ASSERT(cache.free(seq).has_value());
  RC_ASSERT(cache.pool().free_count() == num_blocks);
}

}  // namespace
}  // namespace forge
