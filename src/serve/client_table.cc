#include "client_table.h"

#include <algorithm>

#include "forge/core/check.h"

namespace forge::serve {
namespace {

using Milliseconds = ClientTable::Milliseconds;
using Refusal = ClientTable::Refusal;
using Share = ClientTable::Share;
using TimePoint = ClientTable::TimePoint;

/// Nobody knows when a request ends: ask again soon.
constexpr Milliseconds kPlaceWait{1000};

Share places_of(std::uint32_t limit, std::uint32_t taken) {
  return {.limit = limit,
          .left = limit - std::min(limit, taken),
          .reset = taken > 0 ? kPlaceWait : Milliseconds(0)};
}

std::optional<Refusal> refuse_places(LimitKind kind, const Share& places, std::uint32_t asked) {
  if (places.limit == 0 || asked <= places.left) return std::nullopt;
  return Refusal{
      .kind = kind, .asked = asked, .limit = places.limit, .left = places.left, .wait = kPlaceWait};
}

std::optional<Refusal> refuse_tokens(const TokenBucket& bucket, std::uint64_t asked,
                                     TimePoint now) {
  const std::uint64_t available = bucket.available(now);
  if (bucket.size() == 0 || asked <= available) return std::nullopt;
  Refusal refusal{
      .kind = LimitKind::tokens, .asked = asked, .limit = bucket.size(), .left = available};
  if (!refusal.is_for_ever()) refusal.wait = bucket.time_until(asked, now);
  return refusal;
}

}  // namespace

ClientTable::Permit& ClientTable::Permit::operator=(Permit&& other) noexcept {
  if (this == &other) return *this;
  release();
  table_ = std::exchange(other.table_, nullptr);
  entry_ = other.entry_;
  requests_ = std::exchange(other.requests_, 0);
  waiting_ = std::exchange(other.waiting_, 0);
  reserved_ = std::exchange(other.reserved_, 0);
  used_ = std::exchange(other.used_, 0);
  return *this;
}

tl::expected<void, ClientTable::Refusal> ClientTable::Permit::reserve(std::uint64_t tokens,
                                                                      TimePoint now) {
  FORGE_CHECK(table_ != nullptr, "a permit that is empty reserves ", tokens, " tokens");
  TokenBucket& bucket = entry_->second.bucket;
  if (bucket.size() == 0) return {};
  TokenBucket without = bucket;
  without.give_back(reserved_);
  if (const auto refusal = refuse_tokens(without, tokens, now)) return tl::unexpected(*refusal);
  bucket = without;
  bucket.take(tokens, now);
  reserved_ = tokens;
  return {};
}

void ClientTable::Permit::in_batch(std::uint32_t requests) {
  FORGE_CHECK(requests <= waiting_, "waiting=", waiting_, " in_batch=", requests);
  waiting_ -= requests;
  entry_->second.waiting -= requests;
}

void ClientTable::Permit::ended(bool was_in_batch) {
  FORGE_CHECK(requests_ > 0, "more requests have ended than there were");
  if (!was_in_batch && waiting_ > 0) in_batch(1);
  --requests_;
  --entry_->second.requests;
  if (requests_ == 0) give_back_unused();
}

void ClientTable::Permit::give_back_unused() {
  const std::uint64_t used = std::min(reserved_, used_);
  entry_->second.bucket.give_back(reserved_ - used);
  reserved_ = used;
}

void ClientTable::Permit::release() {
  if (table_ == nullptr) return;
  ClientTable* const table = std::exchange(table_, nullptr);
  auto& [id, entry] = *entry_;
  entry.requests -= std::exchange(requests_, 0);
  entry.waiting -= std::exchange(waiting_, 0);
  give_back_unused();
  if (--entry.permits > 0) return;
  if (entry.bucket.is_full()) {
    table->entries_.erase(entry_);
  } else {
    table->idle_.emplace(entry.bucket.full_at(), id);
  }
}

tl::expected<ClientTable::Permit, ClientTable::Refusal> ClientTable::admit(const Client& client,
                                                                           const Demand& demand,
                                                                           TimePoint now) {
  forget_idle(now);
  const ClientLimits& limits = client.limits;
  const auto [found, is_new] = entries_.try_emplace(client.id);
  Entry& entry = found->second;
  if (!is_new && entry.permits == 0) idle_.erase({entry.bucket.full_at(), client.id});
  entry.bucket.set_size(limits.tokens_per_minute, now);
  Permit permit(*this, found);
  ++entry.permits;
  auto refusal = refuse_places(LimitKind::concurrent, places_of(limits.concurrent, entry.requests),
                               demand.requests);
  if (!refusal) {
    refusal = refuse_places(LimitKind::waiting, places_of(limits.waiting, entry.waiting),
                            demand.requests);
  }
  if (refusal) return tl::unexpected(*refusal);
  if (auto reserved = permit.reserve(demand.tokens, now); !reserved) {
    return tl::unexpected(reserved.error());
  }
  permit.requests_ = demand.requests;
  permit.waiting_ = limits.waiting > 0 ? demand.requests : 0;
  entry.requests += permit.requests_;
  entry.waiting += permit.waiting_;
  return permit;
}

ClientTable::Standing ClientTable::standing(const Client& client, TimePoint now) const {
  const ClientLimits& limits = client.limits;
  const auto found = entries_.find(client.id);
  Entry entry = found == entries_.end() ? Entry() : found->second;
  entry.bucket.set_size(limits.tokens_per_minute, now);
  Standing standing;
  if (limits.concurrent > 0) standing.requests = places_of(limits.concurrent, entry.requests);
  if (limits.tokens_per_minute > 0) {
    standing.tokens = Share{.limit = limits.tokens_per_minute,
                            .left = entry.bucket.available(now),
                            .reset = entry.bucket.time_until(limits.tokens_per_minute, now)};
  }
  return standing;
}

void ClientTable::forget_idle(TimePoint now) {
  while (!idle_.empty() && idle_.begin()->first <= now) {
    entries_.erase(idle_.begin()->second);
    idle_.erase(idle_.begin());
  }
}

}  // namespace forge::serve
