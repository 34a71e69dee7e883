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
  if (request.cache_salt != CacheSalt{}) veiled.cache_salt = CacheSalt{prefix};
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
