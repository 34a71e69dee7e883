// Random values of the trace format for rapidcheck: any that satisfy the rules of trace_json.h,
// not only those that a scheduler would produce.
#pragma once

#include <rapidcheck.h>

#include <bit>
#include <cmath>

#include "forge/trace/trace_event.h"

namespace forge::testing {

template <class IdType>
rc::Gen<std::vector<IdType>> ids() {
  using Rep = decltype(IdType::value);
  return rc::gen::container<std::vector<IdType>>(
      rc::gen::map(rc::gen::arbitrary<Rep>(), [](Rep value) { return IdType{value}; }));
}

inline std::uint32_t any_u32() { return *rc::gen::arbitrary<std::uint32_t>(); }
inline SeqId any_seq() { return SeqId{*rc::gen::arbitrary<std::uint64_t>()}; }
template <class Enum>
Enum any_enum(std::uint8_t first, std::uint8_t end) {
  return Enum{*rc::gen::inRange(first, end)};
}
template <class T>
std::vector<T> any_list(auto make) {
  std::vector<T> list(*rc::gen::inRange<std::size_t>(0, 5));
  for (T& item : list) item = make();
  return list;
}

inline float any_temperature() {
  float value = std::bit_cast<float>(any_u32() & 0x7fffffffu);
  return std::isfinite(value) ? value : 0.7F;
}

/// Of what JSON has to escape, too.
inline std::string any_text() {
  std::string text;
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
    text +=
        *rc::gen::element<std::string>("a", "\"", "\\", "\n", std::string(1, '\0'), "\x7f", "é");
  }
  return text;
}

inline OutputForm any_form() {
  return {any_enum<GrammarKind>(0, 4), any_text(), any_text(), any_text()};
}

inline SamplingParams any_sampling() {
  SamplingParams sampling{.temperature = any_temperature(),
                          .seed = *rc::gen::arbitrary<std::uint64_t>()};
  if (*rc::gen::arbitrary<bool>()) return sampling;  // the usual values are left out
  const auto any_of = [](float lowest, float highest) {
    return lowest + (highest - lowest) * static_cast<float>(any_u32() >> 8) * 0x1p-24F;
  };
  std::uint32_t token = 0;
  for (std::uint32_t i = *rc::gen::inRange(0u, 4u); i > 0; --i) {
    token += *rc::gen::inRange(1u, 1000u);
    sampling.logit_bias.push_back({TokenId{token}, any_of(-100, 100)});
  }
  sampling.repetition_penalty = any_of(0.0625F, 16);
  sampling.presence_penalty = any_of(-2, 2);
  sampling.frequency_penalty = any_of(-2, 2);
  if (*rc::gen::arbitrary<bool>()) {
    sampling.grammar.emplace();
    for (int i = *rc::gen::inRange(1, 4); i > 0; --i) {
      sampling.grammar->forms.push_back(any_form());
    }
    sampling.grammar->after = any_text();
    if (*rc::gen::arbitrary<bool>()) {
      sampling.grammar->row = OutputRow{any_text(), any_text(), any_text()};
    }
  }
  sampling.top_k = *rc::gen::inRange(0u, 100u);
  sampling.top_p = any_of(0, 1);
  sampling.min_p = any_of(0, 1);
  if (*rc::gen::arbitrary<bool>()) sampling.logprobs = *rc::gen::inRange(0u, 21u);
  sampling.prompt_logprobs = *rc::gen::arbitrary<bool>();
  sampling.margins = *rc::gen::arbitrary<bool>();
  return sampling;
}

inline StepPlan any_plan() {
  StepPlan plan;
  plan.step = StepId{*rc::gen::arbitrary<std::uint64_t>()};
  const auto any_admission = [] { return Admission{any_seq(), *rc::gen::inRange(0u, 3u)}; };
  plan.admitted = any_list<Admission>(any_admission);
  plan.resumed = any_list<Admission>(any_admission);
  plan.preempted = any_list<Preemption>([] {
    return Preemption{any_seq(), any_enum<PreemptionMode>(0, 2)};
  });
  plan.finished = any_list<Finish>([] { return Finish{any_seq(), any_enum<FinishReason>(0, 7)}; });
  plan.copies = any_list<BlockCopy>([] {
    return BlockCopy{any_enum<CopyKind>(0, 3), BlockId{any_u32()}, BlockId{any_u32()}};
  });
  plan.appended_blocks = *ids<BlockId>();
  const auto blocks = static_cast<std::uint32_t>(plan.appended_blocks.size());
  plan.tables = any_list<TableDelta>([&] {
    const auto first = *rc::gen::inRange<std::uint32_t>(0, blocks + 1);
    const auto count = *rc::gen::inRange<std::uint32_t>(0, blocks - first + 1);
    return TableDelta{any_seq(), any_u32(), first, count};
  });
  plan.slices = any_list<Slice>([] {
    // Small counts: the usual values, which are left out, are among them.
    return Slice{any_seq(), any_u32(), *rc::gen::inRange(0u, 3u), *rc::gen::inRange(0u, 2u),
                 *rc::gen::arbitrary<bool>()};
  });
  plan.decodes =
      *rc::gen::inRange<std::uint32_t>(0, static_cast<std::uint32_t>(plan.slices.size()) + 1);
  return plan;
}

inline StepResult any_result() {
  StepResult result;
  result.step = StepId{*rc::gen::arbitrary<std::uint64_t>()};
  result.tokens = *ids<TokenId>();
  const auto tokens = static_cast<std::uint32_t>(result.tokens.size());
  result.slices = any_list<SliceResult>([&] {
    const auto first = *rc::gen::inRange<std::uint32_t>(0, tokens + 1);
    const auto count = *rc::gen::inRange<std::uint32_t>(0, tokens - first + 1);
    return SliceResult{any_seq(), first, count, any_enum<FinishSignal>(0, 6),
                       *rc::gen::inRange(0u, 2u)};
  });
  if (*rc::gen::arbitrary<bool>()) {
    for (std::uint32_t i = 0; i < tokens; ++i) {
      result.logits.push_back(*rc::gen::arbitrary<std::uint64_t>());
    }
  }
  result.likely = any_list<TokenLogprob>([] {
    return TokenLogprob{TokenId{any_u32()}, -any_temperature()};
  });
  const auto likely = static_cast<std::uint32_t>(result.likely.size());
  result.reports = any_list<TokenReport>([&] {
    const auto first = *rc::gen::inRange<std::uint32_t>(0, likely + 1);
    const auto count = *rc::gen::inRange<std::uint32_t>(0, likely - first + 1);
    return TokenReport{
        any_seq(), any_u32(), TokenId{any_u32()}, -any_temperature(), any_temperature(),
        first,     count};
  });
  result.kv_lost = *rc::gen::inRange(0, 10) == 0;
  return result;
}

inline CacheDelta any_delta() {
  CacheDelta delta;
  delta.cleared = *rc::gen::arbitrary<bool>();
  delta.removed = *ids<BlockId>();
  delta.stored = any_list<StoredBlock>([] {
    return StoredBlock{
        BlockId{any_u32()}, any_seq(), any_u32(),
        *rc::gen::arbitrary<bool>() ? std::optional(BlockId{any_u32()}) : std::nullopt};
  });
  return delta;
}

inline Request any_request() {
  return {.prompt = *ids<TokenId>(),
          .max_new_tokens = any_u32(),
          .sampling = any_sampling(),
          .ignore_eos = *rc::gen::arbitrary<bool>(),
          .priority = any_enum<Priority>(0, 3),
          .client = ClientId{*rc::gen::arbitrary<std::uint64_t>()},
          .user = UserId{*rc::gen::arbitrary<std::uint64_t>()},
          .weight = *rc::gen::inRange<std::uint32_t>(1, 1001),
          .prefix_cache = any_enum<PrefixCacheUse>(0, 2),
          .cache_salt = CacheSalt{*rc::gen::arbitrary<std::uint64_t>()},
          .deadline_steps = *rc::gen::inRange<std::uint64_t>(0, 3),
          .session = *rc::gen::arbitrary<bool>()
                         ? std::optional(SessionId{*rc::gen::arbitrary<std::uint64_t>()})
                         : std::nullopt};
}

inline trace::TraceEvent any_event() {
  switch (*rc::gen::inRange(0, 5)) {
    case 0:
      return trace::SubmitEvent{any_seq(), any_request()};
    case 1:
      return trace::CancelEvent{any_seq(), any_enum<FinishReason>(1, 7)};
    case 2:
      return trace::ReleaseSessionEvent{SessionId{*rc::gen::arbitrary<std::uint64_t>()}};
    case 3:
      return trace::ClearPrefixCacheEvent{};
    default:
      return trace::StepEvent{any_plan(), any_result(), any_delta(),
                              *rc::gen::arbitrary<std::uint64_t>()};
  }
}

}  // namespace forge::testing
