// Seven witnesses: witness.h says what each of them looks for.
#include "witness.h"

#include <algorithm>

#include "books.h"

namespace forge::labs::witness {

std::optional<std::size_t> slices(const Run& run) {
  return first_step(run, [](const Moment& now) {
    for (const Slice& slice : now.plan.slices) {
      const Watched& its = now.planned.of(slice.seq);
      if (slice.first != its.computed) return true;
      if (slice.count <= slice.drafts) return true;
      const std::size_t end = slice.first + slice.count - slice.drafts;
      const bool is_last = end == its.tokens.size();
      if (end > its.tokens.size()) return true;
      if (slice.drafts > (is_last ? its.offered : 0)) return true;
      if (slice.samples != is_last) return true;
    }
    return false;
  });
}

std::optional<std::size_t> tables(const Run& run) {
  const std::size_t block_size = run.config.cache.block_size;
  const auto may_share = [&](const Books& books, const Watched& a, const Watched& b,
                             std::size_t place) {
    const std::size_t end = (place + 1) * block_size;
    if (!books.uses_cache(a.request) || !books.uses_cache(b.request)) return false;
    if (a.request.cache_salt != b.request.cache_salt) return false;
    if (a.tokens.size() < end || b.tokens.size() < end) return false;
    return std::equal(a.tokens.begin(), a.tokens.begin() + end, b.tokens.begin());
  };
  return first_step(run, [&](const Moment& now) {
    for (const Slice& slice : now.plan.slices) {
      const Watched& a = now.planned.of(slice.seq);
      for (const Slice& other : now.plan.slices) {
        const Watched& b = now.planned.of(other.seq);
        for (std::size_t i = 0; i < a.table.size(); ++i) {
          for (std::size_t j = 0; j < b.table.size(); ++j) {
            if (a.table[i] != b.table[j]) continue;
            if (i != j) return true;
            if (a.seq != b.seq && !may_share(now.planned, a, b, i)) return true;
          }
        }
      }
    }
    return false;
  });
}

std::optional<std::size_t> writes(const Run& run) {
  const std::uint32_t block_size = run.config.cache.block_size;
  return first_step(run, [&](const Moment& now) {
    for (const Slice& slice : now.plan.slices) {
      const std::vector<BlockId>& table = now.planned.of(slice.seq).table;
      for (std::uint32_t i = slice.first; i < slice.first + slice.count; ++i) {
        if (i / block_size >= table.size()) return true;
        for (const Slice& other : now.plan.slices) {
          const std::vector<BlockId>& blocks = now.planned.of(other.seq).table;
          const bool has_it = std::ranges::count(blocks, table[i / block_size]) > 0;
          if (other.seq != slice.seq && has_it) return true;
        }
      }
    }
    return false;
  });
}

std::optional<std::size_t> hits(const Run& run) {
  return first_step(run, [](const Moment& now) {
    for (const auto& [seq, cached] : entering(now.plan)) {
      const Watched& its = now.before.of(seq);
      if (its.on_host || cached == 0) continue;
      if (!now.before.uses_cache(its.request)) return true;
      if (cached > its.tokens.size()) return true;
      bool was_computed = false;
      for (const auto& [other_seq, other] : now.before.all()) {
        if (!now.before.uses_cache(other.request)) continue;
        if (other.request.cache_salt != its.request.cache_salt) continue;
        if (other.computed_max < cached) continue;
        const auto end = its.tokens.begin() + cached;
        if (std::equal(its.tokens.begin(), end, other.tokens.begin())) was_computed = true;
      }
      if (!was_computed) return true;
    }
    return false;
  });
}

std::optional<std::size_t> progress(const Run& run) {
  std::size_t preempting_steps = 0;
  std::size_t tokens = 0;
  return first_step(run, [&](const Moment& now) {
    bool has_work = false;
    for (const auto& [seq, its] : now.before.all()) {
      if (!its.ended) has_work = true;
    }
    if (has_work && now.plan.slices.empty()) return true;
    if (!now.plan.preempted.empty()) ++preempting_steps;
    if (preempting_steps > tokens) return true;
    tokens += now.result.tokens.size();
    return false;
  });
}

std::optional<std::size_t> order(const Run& run) {
  return first_step(run, [](const Moment& now) {
    for (const Admission& admission : entering(now.plan)) {
      const AdmissionKey key = now.planned.key(now.planned.of(admission.seq));
      for (const auto& [seq, other] : now.planned.all()) {
        if (other.runs || other.ended) continue;
        if (now.planned.key(other) < key) return true;
      }
    }
    return false;
  });
}

std::optional<std::size_t> swaps(const Run& run) {
  const PreemptionPolicy policy = run.config.preemption;
  return first_step(run, [&](const Moment& now) {
    std::uint64_t used = 0;
    for (const auto& [seq, its] : now.before.all()) {
      if (its.on_host) used += now.before.blocks_for(its.computed);
    }
    for (const auto& [seq, mode] : now.plan.preempted) {
      const std::uint32_t blocks = now.before.blocks_for(now.before.of(seq).computed);
      const bool fits = used + blocks <= run.config.cache.num_host_blocks;
      if (mode == PreemptionMode::swap) {
        if (!fits || policy == PreemptionPolicy::recompute) return true;
        used += blocks;
      } else if (fits && policy == PreemptionPolicy::swap) {
        return true;
      }
    }
    for (const auto& [seq, cached] : now.plan.resumed) {
      const Watched& its = now.before.of(seq);
      if (its.on_host && cached != its.computed) return true;
    }
    return false;
  });
}

}  // namespace forge::labs::witness
