// The fields of a snapshot, as fields.h has those of the other events. Left out are the tokens of a
// sequence, which are the prompt and the output of its request, and CacheSnapshot::changes: right
// after a step there are none.
#pragma once

#include <cstdint>
#include <tuple>

#include "fields.h"
#include "forge/core/scheduler_snapshot.h"

namespace forge::trace::detail {

template <>
struct Fields<CachedBlock> {
  static constexpr bool kIsRow = true;
  static constexpr std::size_t kAlways = 2;
  static CachedBlock usual() { return {}; }
  static constexpr std::tuple kTable{
      Field{"block", &CachedBlock::block}, Field{"tokens", &CachedBlock::tokens},
      Field{"salt", &CachedBlock::salt}, Field{"parent", &CachedBlock::parent}};
};
template <>
struct Fields<TableSnapshot> {
  static constexpr bool kIsRow = true;
  static constexpr std::size_t kAlways = 4;
  static TableSnapshot usual() { return {}; }
  static constexpr std::tuple kTable{
      Field{"seq", &TableSnapshot::seq}, Field{"tokens", &TableSnapshot::tokens},
      Field{"published", &TableSnapshot::published}, Field{"publishes", &TableSnapshot::publishes},
      Field{"blocks", &TableSnapshot::blocks}};
};
template <>
struct Fields<CacheSnapshot> {
  static constexpr bool kIsRow = false;
  static constexpr std::size_t kAlways = 0;
  static CacheSnapshot usual() { return {}; }
  static constexpr std::tuple kTable{
      Field{"free", &CacheSnapshot::free}, Field{"cached", &CacheSnapshot::cached},
      Field{"unused", &CacheSnapshot::unused}, Field{"tables", &CacheSnapshot::tables}};
};
template <>
struct Fields<SequenceSnapshot> {
  using S = SequenceSnapshot;
  using V = SequenceView;
  static constexpr bool kIsRow = false;
  static constexpr std::size_t kAlways = 2;
  static S usual() { return {}; }
  static constexpr std::tuple kTable{PartField{"seq", &S::view, &V::seq},
                                     PartField{"state", &S::view, &V::state},
                                     PartField{"finish", &S::view, &V::finish},
                                     PartField{"priority", &S::view, &V::priority},
                                     PartField{"prompt_tokens", &S::view, &V::prompt_tokens},
                                     PartField{"output_tokens", &S::view, &V::output_tokens},
                                     PartField{"max_new_tokens", &S::view, &V::max_new_tokens},
                                     PartField{"computed_tokens", &S::view, &V::computed_tokens},
                                     PartField{"preemptions", &S::view, &V::preemptions},
                                     Field{"client", &S::client},
                                     Field{"user", &S::user},
                                     Field{"weight", &S::weight},
                                     Field{"charged_tokens", &S::charged_tokens},
                                     Field{"uses_prefix_cache", &S::uses_prefix_cache},
                                     Field{"cache_salt", &S::cache_salt},
                                     Field{"session", &S::session},
                                     Field{"deadline", &S::deadline},
                                     Field{"admitted", &S::admitted},
                                     Field{"decodes", &S::decodes},
                                     Field{"drafts", &S::drafts},
                                     Field{"draft_history", &S::draft_history},
                                     Field{"target_length", &S::target_length},
                                     Field{"target_agrees", &S::target_agrees}};
};
template <>
struct Fields<UserSnapshot> {
  static constexpr bool kIsRow = true;
  static constexpr std::tuple kTable{Field{"user", &UserSnapshot::user},
                                     Field{"served", &UserSnapshot::served},
                                     Field{"turn", &UserSnapshot::turn}};
};
template <>
struct Fields<ClientSnapshot> {
  static constexpr bool kIsRow = true;
  static constexpr std::size_t kAlways = 4;
  static ClientSnapshot usual() { return {}; }
  static constexpr std::tuple kTable{
      Field{"client", &ClientSnapshot::client}, Field{"served", &ClientSnapshot::served},
      Field{"turn", &ClientSnapshot::turn}, Field{"floor", &ClientSnapshot::floor},
      Field{"users", &ClientSnapshot::users}};
};
template <>
struct Fields<SharesSnapshot> {
  static constexpr bool kIsRow = false;
  static constexpr std::tuple kTable{Field{"turns", &SharesSnapshot::turns},
                                     Field{"floor", &SharesSnapshot::floor},
                                     Field{"clients", &SharesSnapshot::clients}};
};
template <>
struct Fields<SessionSnapshot> {
  static constexpr bool kIsRow = true;
  static constexpr std::size_t kAlways = 2;
  static SessionSnapshot usual() { return {}; }
  static constexpr std::tuple kTable{Field{"session", &SessionSnapshot::session},
                                     Field{"idle_since", &SessionSnapshot::idle_since},
                                     Field{"pinned", &SessionSnapshot::pinned}};
};
template <>
struct Fields<SchedulerSnapshot> {
  using S = SchedulerSnapshot;
  static constexpr bool kIsRow = false;
  static constexpr std::tuple kTable{
      Field{"next_step", &S::next_step}, Field{"next_seq", &S::next_seq},
      Field{"sequences", &S::sequences}, Field{"running", &S::running},
      Field{"finishing", &S::finishing}, Field{"cache", &S::cache},
      Field{"host", &S::host},           Field{"shares", &S::shares},
      Field{"sessions", &S::sessions}};
};
template <>
struct Fields<OpenRequest> {
  static constexpr bool kIsRow = false;
  static constexpr std::size_t kAlways = 3;
  static OpenRequest usual() { return {}; }
  static constexpr std::tuple kTable{
      PartField{"seq", &OpenRequest::submit, &SubmitEvent::seq},
      PartField{"request", &OpenRequest::submit, &SubmitEvent::request},
      Field{"before", &OpenRequest::before},
      PartField{"trace_id", &OpenRequest::submit, &SubmitEvent::trace_id},
      Field{"output", &OpenRequest::output},
      Field{"told", &OpenRequest::told}};
};

}  // namespace forge::trace::detail
