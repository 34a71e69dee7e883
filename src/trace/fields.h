// The fields of every type of the trace format, once. Writing (json_text.h), parsing
// (trace_parse.cc) and comparing (trace_diff.cc) are three walks over these tables.
//
// A type with Fields is a record: an object with a key for each field, or, where kIsRow, an array
// of the values in this order. Order and names are those of step_plan.h and request.h.
//
// Where a type has usual(), values that are equal to those of usual() are left out: in an object
// wherever they stand, in a row at its end. The first kAlways are never left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "forge/core/scheduler_config.h"
#include "forge/trace/trace_event.h"

namespace forge::trace::detail {

template <class Record, class Member>
struct Field {
  std::string_view name;
  Member Record::*member;
  constexpr auto& of(auto& record) const { return record.*member; }
};
template <class Record, class Member>
Field(std::string_view, Member Record::*) -> Field<Record, Member>;

/// A field of a part of the record, which stands in the text beside the record's own.
template <class Record, class Part, class Member>
struct PartField {
  std::string_view name;
  Part Record::*part;
  Member Part::*member;
  constexpr auto& of(auto& record) const { return record.*part.*member; }
};
template <class Record, class Part, class Member>
PartField(std::string_view, Part Record::*, Member Part::*) -> PartField<Record, Part, Member>;

template <class T>
struct Fields;

template <>
struct Fields<Admission> {
  static constexpr bool kIsRow = true;
  static constexpr std::size_t kAlways = 1;
  static Admission usual() { return {}; }
  static constexpr std::tuple kTable{Field{"seq", &Admission::seq},
                                     Field{"cached_tokens", &Admission::cached_tokens}};
};
template <>
struct Fields<Preemption> {
  static constexpr bool kIsRow = true;
  static constexpr std::size_t kAlways = 1;
  static Preemption usual() { return {}; }
  static constexpr std::tuple kTable{Field{"seq", &Preemption::seq},
                                     Field{"mode", &Preemption::mode}};
};
template <>
struct Fields<Finish> {
  static constexpr bool kIsRow = true;
  static constexpr std::tuple kTable{Field{"seq", &Finish::seq}, Field{"reason", &Finish::reason}};
};
template <>
struct Fields<BlockCopy> {
  static constexpr bool kIsRow = true;
  static constexpr std::tuple kTable{Field{"kind", &BlockCopy::kind},
                                     Field{"from", &BlockCopy::from}, Field{"to", &BlockCopy::to}};
};
template <>
struct Fields<TableDelta> {
  static constexpr bool kIsRow = true;
  static constexpr std::size_t kAlways = 3;
  static TableDelta usual() { return {.appended_count = 1}; }
  static constexpr std::tuple kTable{Field{"seq", &TableDelta::seq},
                                     Field{"truncated_to", &TableDelta::truncated_to},
                                     Field{"appended_first", &TableDelta::appended_first},
                                     Field{"appended_count", &TableDelta::appended_count}};
};
template <>
struct Fields<Slice> {
  static constexpr bool kIsRow = true;
  static constexpr std::size_t kAlways = 2;
  static Slice usual() { return {.count = 1, .samples = true}; }
  static constexpr std::tuple kTable{Field{"seq", &Slice::seq}, Field{"first", &Slice::first},
                                     Field{"count", &Slice::count}, Field{"drafts", &Slice::drafts},
                                     Field{"samples", &Slice::samples}};
};
template <>
struct Fields<SliceResult> {
  static constexpr bool kIsRow = true;
  static constexpr std::size_t kAlways = 2;
  static SliceResult usual() { return {.token_count = 1}; }
  static constexpr std::tuple kTable{
      Field{"seq", &SliceResult::seq}, Field{"first_token", &SliceResult::first_token},
      Field{"token_count", &SliceResult::token_count}, Field{"signal", &SliceResult::signal},
      Field{"drafts", &SliceResult::drafts}};
};
template <>
struct Fields<StepPlan> {
  static constexpr bool kIsRow = false;
  static constexpr std::tuple kTable{
      Field{"step", &StepPlan::step},         Field{"admitted", &StepPlan::admitted},
      Field{"resumed", &StepPlan::resumed},   Field{"preempted", &StepPlan::preempted},
      Field{"finished", &StepPlan::finished}, Field{"copies", &StepPlan::copies},
      Field{"tables", &StepPlan::tables},     Field{"appended_blocks", &StepPlan::appended_blocks},
      Field{"slices", &StepPlan::slices},     Field{"decodes", &StepPlan::decodes}};
};
template <>
struct Fields<TokenLogprob> {
  static constexpr bool kIsRow = true;
  static constexpr std::tuple kTable{Field{"token", &TokenLogprob::token},
                                     Field{"logprob", &TokenLogprob::logprob}};
};
template <>
struct Fields<TokenReport> {
  static constexpr bool kIsRow = true;
  static constexpr std::size_t kAlways = 4;
  static TokenReport usual() { return {}; }
  static constexpr std::tuple kTable{Field{"seq", &TokenReport::seq},
                                     Field{"position", &TokenReport::position},
                                     Field{"token", &TokenReport::token},
                                     Field{"logprob", &TokenReport::logprob},
                                     Field{"margin", &TokenReport::margin},
                                     Field{"first_likely", &TokenReport::first_likely},
                                     Field{"likely_count", &TokenReport::likely_count}};
};
template <>
struct Fields<StepResult> {
  static constexpr bool kIsRow = false;
  static constexpr std::size_t kAlways = 6;
  static StepResult usual() { return {}; }
  static constexpr std::tuple kTable{
      Field{"step", &StepResult::step},       Field{"slices", &StepResult::slices},
      Field{"tokens", &StepResult::tokens},   Field{"logits", &StepResult::logits},
      Field{"reports", &StepResult::reports}, Field{"likely", &StepResult::likely},
      Field{"kv_lost", &StepResult::kv_lost}};
};
template <>
struct Fields<StoredBlock> {
  static constexpr bool kIsRow = true;
  static constexpr std::size_t kAlways = 3;
  static StoredBlock usual() { return {}; }
  static constexpr std::tuple kTable{
      Field{"block", &StoredBlock::block}, Field{"seq", &StoredBlock::seq},
      Field{"place", &StoredBlock::place}, Field{"parent", &StoredBlock::parent}};
};
template <>
struct Fields<CacheDelta> {
  static constexpr bool kIsRow = false;
  static constexpr std::size_t kAlways = 0;
  static CacheDelta usual() { return {}; }
  static constexpr std::tuple kTable{Field{"cleared", &CacheDelta::cleared},
                                     Field{"removed", &CacheDelta::removed},
                                     Field{"stored", &CacheDelta::stored}};
};
template <>
struct Fields<TokenBias> {
  static constexpr bool kIsRow = true;
  static constexpr std::tuple kTable{Field{"token", &TokenBias::token},
                                     Field{"bias", &TokenBias::bias}};
};
template <>
struct Fields<OutputForm> {
  static constexpr bool kIsRow = false;
  static constexpr std::size_t kAlways = 1;
  static OutputForm usual() { return {}; }
  static constexpr std::tuple kTable{
      Field{"kind", &OutputForm::kind}, Field{"text", &OutputForm::text},
      Field{"prefix", &OutputForm::prefix}, Field{"suffix", &OutputForm::suffix}};
};
template <>
struct Fields<OutputRow> {
  static constexpr bool kIsRow = false;
  static constexpr std::size_t kAlways = 0;
  static OutputRow usual() { return {}; }
  static constexpr std::tuple kTable{Field{"open", &OutputRow::open},
                                     Field{"between", &OutputRow::between},
                                     Field{"close", &OutputRow::close}};
};
template <>
struct Fields<OutputGrammar> {
  static constexpr bool kIsRow = false;
  static constexpr std::size_t kAlways = 1;
  static OutputGrammar usual() { return {}; }
  static constexpr std::tuple kTable{Field{"forms", &OutputGrammar::forms},
                                     Field{"after", &OutputGrammar::after},
                                     Field{"row", &OutputGrammar::row}};
};
template <>
struct Fields<SamplingParams> {
  static constexpr bool kIsRow = false;
  static constexpr std::size_t kAlways = 2;
  static SamplingParams usual() { return {}; }
  static constexpr std::tuple kTable{
      Field{"temperature", &SamplingParams::temperature},
      Field{"seed", &SamplingParams::seed},
      Field{"logit_bias", &SamplingParams::logit_bias},
      Field{"repetition_penalty", &SamplingParams::repetition_penalty},
      Field{"presence_penalty", &SamplingParams::presence_penalty},
      Field{"frequency_penalty", &SamplingParams::frequency_penalty},
      Field{"grammar", &SamplingParams::grammar},
      Field{"top_k", &SamplingParams::top_k},
      Field{"top_p", &SamplingParams::top_p},
      Field{"min_p", &SamplingParams::min_p},
      Field{"logprobs", &SamplingParams::logprobs},
      Field{"prompt_logprobs", &SamplingParams::prompt_logprobs},
      Field{"margins", &SamplingParams::margins}};
};
template <>
struct Fields<Request> {
  static constexpr bool kIsRow = false;
  static constexpr std::size_t kAlways = 2;
  static Request usual() { return {}; }
  static constexpr std::tuple kTable{Field{"prompt", &Request::prompt},
                                     Field{"max_new_tokens", &Request::max_new_tokens},
                                     Field{"sampling", &Request::sampling},
                                     Field{"ignore_eos", &Request::ignore_eos},
                                     Field{"priority", &Request::priority},
                                     Field{"prefix_cache", &Request::prefix_cache},
                                     Field{"deadline_steps", &Request::deadline_steps},
                                     Field{"session", &Request::session},
                                     Field{"cache_salt", &Request::cache_salt},
                                     Field{"client", &Request::client},
                                     Field{"user", &Request::user},
                                     Field{"weight", &Request::weight}};
};
template <>
struct Fields<SchedulerConfig> {
  static constexpr bool kIsRow = false;
  static constexpr std::size_t kAlways = 14;
  static SchedulerConfig usual() { return {}; }
  static constexpr std::tuple kTable{
      PartField{"num_blocks", &SchedulerConfig::cache, &CacheShape::num_blocks},
      PartField{"block_size", &SchedulerConfig::cache, &CacheShape::block_size},
      PartField{"num_host_blocks", &SchedulerConfig::cache, &CacheShape::num_host_blocks},
      PartField{"max_batch_size", &SchedulerConfig::batch, &BatchLimits::max_batch_size},
      PartField{"max_batch_tokens", &SchedulerConfig::batch, &BatchLimits::max_batch_tokens},
      Field{"prefill_chunk_size", &SchedulerConfig::prefill_chunk_size},
      Field{"watermark_blocks", &SchedulerConfig::watermark_blocks},
      Field{"priority_head_start", &SchedulerConfig::priority_head_start},
      Field{"preemption", &SchedulerConfig::preemption},
      Field{"swap_setup_cost", &SchedulerConfig::swap_setup_cost},
      Field{"swap_block_cost", &SchedulerConfig::swap_block_cost},
      Field{"prefix_cache", &SchedulerConfig::prefix_cache},
      Field{"prefix_hash_key", &SchedulerConfig::prefix_hash_key},
      Field{"session_idle_steps", &SchedulerConfig::session_idle_steps},
      Field{"draft_lengths", &SchedulerConfig::draft_lengths},
      Field{"draft_break_even", &SchedulerConfig::draft_break_even},
      Field{"memory_pressure", &SchedulerConfig::memory_pressure},
      Field{"decode_priority", &SchedulerConfig::decode_priority},
      Field{"prefix_cache_max", &SchedulerConfig::prefix_cache_max}};
};
template <>
struct Fields<SubmitEvent> {
  static constexpr bool kIsRow = false;
  static constexpr std::size_t kAlways = 2;
  static SubmitEvent usual() { return {}; }
  static constexpr std::tuple kTable{Field{"seq", &SubmitEvent::seq},
                                     Field{"request", &SubmitEvent::request},
                                     Field{"trace_id", &SubmitEvent::trace_id}};
};
template <>
struct Fields<CancelEvent> {
  static constexpr bool kIsRow = false;
  static constexpr std::tuple kTable{Field{"seq", &CancelEvent::seq},
                                     Field{"reason", &CancelEvent::reason}};
};
template <>
struct Fields<ReleaseSessionEvent> {
  static constexpr bool kIsRow = false;
  static constexpr std::tuple kTable{Field{"session", &ReleaseSessionEvent::session}};
};
template <>
struct Fields<ClearPrefixCacheEvent> {
  static constexpr bool kIsRow = false;
  static constexpr std::tuple<> kTable{};
};

template <class T>
concept Record = requires {
  Fields<T>::kTable;
};
template <class T>
concept HasUsual = requires {
  Fields<T>::usual();
};

/// May the field number `index` be left out if its value is the usual one?
template <Record T>
constexpr bool may_leave_out(std::size_t index) {
  if constexpr (HasUsual<T>) return index >= Fields<T>::kAlways;
  return false;
}
template <Record T>
bool is_usual(const T& record, const auto& field) {
  if constexpr (HasUsual<T>) {
    const T usual = Fields<T>::usual();
    return field.of(record) == field.of(usual);
  }
  return false;
}

template <class T>
inline constexpr std::size_t kFieldCount = std::tuple_size_v<decltype(Fields<T>::kTable)>;

/// Calls visit(field) for the fields of T in order until one call returns false.
template <Record T, class Visit>
constexpr bool for_each_field(Visit&& visit) {
  return std::apply([&](const auto&... field) { return (visit(field) && ...); }, Fields<T>::kTable);
}

template <class T>
inline constexpr bool kIsVector = false;
template <class T>
inline constexpr bool kIsVector<std::vector<T>> = true;
template <class T>
concept Vector = kIsVector<T>;

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

template <class T>
inline constexpr bool kIsId = false;
template <class Tag, class Rep>
inline constexpr bool kIsId<Id<Tag, Rep>> = true;
template <class T>
concept AnyId = kIsId<T>;

/// A list of 64-bit words is a list of digests, written in hexadecimal.
template <class T>
inline constexpr bool kIsDigestList = std::is_same_v<T, std::vector<std::uint64_t>>;

}  // namespace forge::trace::detail
