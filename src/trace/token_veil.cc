#include "forge/trace/token_veil.h"

#include <random>

#include "forge/core/check.h"

namespace forge::trace {

TokenVeil TokenVeil::random() {
  std::random_device device;
  const auto word = [&device] { return std::uint64_t{device()} << 32 | device(); };
  const std::uint64_t k0 = word();
  return TokenVeil({.k0 = k0, .k1 = word()});
}

Request TokenVeil::submit(SeqId seq, const Request& request) {
  Request veiled = request;
  Prefix prefix = hash(0, request.cache_salt.value);
  veiled.cache_salt = cover(request.cache_salt);
  for (TokenId& token : veiled.prompt) token = cover(prefix, token);
  veiled.sampling.logit_bias.clear();
  veiled.sampling.grammar.reset();
  prefixes_[seq] = prefix;
  return veiled;
}

const StepResult& TokenVeil::step(const StepPlan& plan, const StepResult& result) {
  for (const Finish& finish : plan.finished) prefixes_.erase(finish.seq);
  result_.step = result.step;
  result_.slices = result.slices;
  result_.tokens = result.tokens;
  result_.kv_lost = result.kv_lost;
  for (const SliceResult& slice : result.slices) {
    if (slice.token_count == 0) continue;
    const auto found = prefixes_.find(slice.seq);
    FORGE_CHECK(found != prefixes_.end(), "sequence ", slice.seq.value, " is not known");
    for (std::uint32_t i = 0; i < slice.token_count; ++i) {
      TokenId& token = result_.tokens[slice.first_token + i];
      token = cover(found->second, token);
    }
  }
  return result_;
}

SchedulerSnapshot TokenVeil::snapshot(const SchedulerSnapshot& scheduler) const {
  SchedulerSnapshot veiled = scheduler;
  for (SequenceSnapshot& sequence : veiled.sequences) {
    sequence.cache_salt = cover(sequence.cache_salt);
    sequence.tokens.clear();
  }
  std::map<BlockId, Prefix> ends;  // of cached blocks
  for (CachedBlock& cached : veiled.cache.cached) {
    Prefix prefix = cached.parent ? ends.at(*cached.parent) : hash(0, cached.salt.value);
    for (TokenId& token : cached.tokens) token = cover(prefix, token);
    ends[cached.block] = prefix;
    cached.salt = cover(cached.salt);
  }
  return veiled;
}

/// That of all who ask for none stays.
CacheSalt TokenVeil::cover(CacheSalt salt) const {
  return salt == CacheSalt{} ? salt : CacheSalt{hash(0, salt.value)};
}

std::uint64_t TokenVeil::hash(std::uint64_t before, std::uint64_t word) const {
  SipHash sip(key_);
  sip.add(before);
  sip.add(word);
  return sip.finish();
}

TokenId TokenVeil::cover(Prefix& prefix, TokenId token) const {
  prefix = hash(prefix, token.value);
  return TokenId{static_cast<std::uint32_t>(prefix)};
}

}  // namespace forge::trace
