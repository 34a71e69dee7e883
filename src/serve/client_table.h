// ClientTable: what each client has under way and has used, and whether it may have more.
//
//   admit --> Permit --reserve--> started, in_batch, ended, generated ... --> destroyed
//     |                 |                                                        |
//     +-> Refusal       +-> Refusal                            what was reserved and not used,
//                                                              and every place, is given back
//
// A client's requests count from admit() on, before their texts become tokens, so that who is
// refused costs no more than the reading of its body. How many tokens they need at most is known
// only then: those that a prompt surely has are reserved at once, all of them by reserve(). A
// request that ends early gives back what it did not generate; its prompt is used once it has
// started.
//
// What a client has used is forgotten when nothing of it is under way and its bucket is full again,
// a minute later at most: so the table has no more clients than were admitted within a minute, or
// have requests.
//
// Invariants: 1. requests and waiting of a client are the sums of its permits'; 2. what is missing
// from its bucket is what its permits have reserved or used, less what has filled since; 3. a
// client is in the list of the idle if it has no permits, and then something is missing from its
// bucket.
//
// A permit must not outlive the table. Thread contract: the I/O thread. Time is passed in.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tl/expected.hpp>
#include <utility>

#include "forge/core/ids.h"
#include "forge/core/names.h"
#include "forge/serve/api_keys.h"
#include "forge/serve/client_limits.h"
#include "token_bucket.h"

namespace forge::serve {

/// Who asks.
struct Client {
  Owner owner;
  ClientId id;
  ClientLimits limits;
};

/// What a request may be too much for.
enum class LimitKind { concurrent, waiting, tokens };
constexpr Names<LimitKind> names_of(LimitKind) { return {"concurrent", "waiting", "tokens"}; }

class ClientTable {
  struct Entry;
  using Entries = std::map<ClientId, Entry>;

 public:
  using TimePoint = TokenBucket::TimePoint;
  using Milliseconds = TokenBucket::Milliseconds;

  /// What the prompts and choices of one body need.
  struct Demand {
    std::uint32_t requests = 0;
    std::uint64_t tokens = 0;
  };

  struct Refusal {
    LimitKind kind = LimitKind::concurrent;
    std::uint64_t asked = 0;
    std::uint64_t limit = 0;
    std::uint64_t left = 0;  ///< of the limit, now
    Milliseconds wait{0};    ///< after which it may be worth to ask again

    /// It would be too much for a client that has nothing else.
    bool is_for_ever() const { return asked > limit; }
  };

  /// How much of a limit there is.
  struct Share {
    std::uint64_t limit = 0;
    std::uint64_t left = 0;
    Milliseconds reset{0};  ///< until there may be all of it again
  };
  struct Standing {
    std::optional<Share> requests;  ///< concurrent; nothing without that limit
    std::optional<Share> tokens;
  };

  /// The place of one body's requests in the table. Empty when it is default-made or moved from.
  class Permit {
   public:
    Permit() = default;
    Permit(Permit&& other) noexcept { *this = std::move(other); }
    Permit& operator=(Permit&& other) noexcept;
    ~Permit() { release(); }

    /// So many tokens in place of those that are reserved. Errors: what is there is not enough; the
    /// permit is as it was.
    tl::expected<void, Refusal> reserve(std::uint64_t tokens, TimePoint now);
    /// Its requests begin: their prompts are used, whatever comes.
    void started(std::uint64_t prompt_tokens) { used_ += prompt_tokens; }
    void generated(std::uint64_t tokens) { used_ += tokens; }
    /// Whether anybody wants to know when a request gets its first place in the batch.
    bool counts_waiting() const { return waiting_ > 0; }
    /// So many of its requests got their first place in the batch. Requires: counts_waiting().
    void in_batch(std::uint32_t requests);
    /// One of them has ended, which has been in the batch or not. With the last of them goes back
    /// what they did not use.
    void ended(bool was_in_batch);
    /// Gives everything back; the permit is empty then.
    void release();

   private:
    friend class ClientTable;
    Permit(ClientTable& table, Entries::iterator entry) : table_(&table), entry_(entry) {}
    void give_back_unused();

    ClientTable* table_ = nullptr;
    Entries::iterator entry_;
    std::uint32_t requests_ = 0;
    std::uint32_t waiting_ = 0;
    std::uint64_t reserved_ = 0;
    std::uint64_t used_ = 0;
  };

  /// All requests of a body, or none. Errors: the limit that keeps them out; the first of
  /// concurrent, waiting, tokens.
  tl::expected<Permit, Refusal> admit(const Client& client, const Demand& demand, TimePoint now);

  Standing standing(const Client& client, TimePoint now) const;

  /// Clients that are known.
  std::size_t count() const { return entries_.size(); }

 private:
  struct Entry {
    std::uint32_t permits = 0;
    std::uint32_t requests = 0;
    std::uint32_t waiting = 0;
    TokenBucket bucket;  // as large as the client's limit was at the last admit()
  };

  void forget_idle(TimePoint now);

  Entries entries_;
  std::set<std::pair<TimePoint, ClientId>> idle_;  // (when its bucket is full, client)
};

}  // namespace forge::serve
