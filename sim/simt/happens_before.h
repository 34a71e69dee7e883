// Which accesses of a block are ordered by its barriers, and what must be remembered of the
// accesses to one word to find every race.
//
// Each warp has a clock, which advances at each of its meetings and at each barrier of the block.
// An access by thread t is ordered after an event e if
//   - t itself did e, or
//   - the block has met since e, or
//   - t is in e's warp, and the warp has met since e.
//
// Two of the reads since the last write are enough. If they are by different warps, no thread can
// write without racing with one of them. If they are by one warp, they are its latest ones, by two
// different lanes if two lanes have read. The same holds of adds.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "forge/simt/observer.h"
#include "forge/simt/shape.h"

namespace forge::simt {

/// An access: who, where in the source, and when.
struct Event {
  static constexpr std::uint16_t kNobody = 0xffff;

  std::uint32_t clock = 0;
  std::uint16_t thread = kNobody;
  std::uint16_t site = 0;

  bool happened() const { return thread != kNobody; }
  int warp() const { return thread / kWarpSize; }
};

/// What is remembered of one word. At the end of a block it says whether the block has written the
/// word, or added to it, and, if not, whether it has read it.
struct AccessHistory {
  Event write;
  std::array<Event, 2> reads;
  bool adds = false;  ///< the reads are adds, which need no order among them

  bool written() const { return write.happened() || (adds && reads[0].happened()); }
};

/// An earlier access that another one is not ordered after.
struct Race {
  Event earlier;
  AccessKind kind = AccessKind::write;  ///< kind of the earlier access
};

class BlockClock {
 public:
  Event event(int thread, std::uint16_t site) const {
    return {clocks_[index(thread / kWarpSize)], static_cast<std::uint16_t>(thread), site};
  }
  void block_barrier() {
    for (std::uint32_t& clock : clocks_) ++clock;
    at_barrier_ = clocks_;
  }
  void warp_barrier(int warp) { ++clocks_[index(warp)]; }

  bool ordered(const Event& before, const Event& after) const {
    return before.thread == after.thread || !recent(before) ||
           (before.warp() == after.warp() && before.clock < after.clock);
  }

  /// Returns: what the access races with, if anything. Notes the access.
  std::optional<Race> note_write(AccessHistory& history, const Event& write) const;
  std::optional<Race> note_read(AccessHistory& history, const Event& read) const;
  std::optional<Race> note_add(AccessHistory& history, const Event& add) const;

 private:
  void remember(std::array<Event, 2>& events, const Event& event) const;
  /// Whichever of the reads, or adds, the event is not ordered after.
  std::optional<Race> race_with_reads(const AccessHistory& history, const Event& event) const;

  static std::size_t index(int warp) { return static_cast<std::size_t>(warp); }
  /// Whether the event happened since the last barrier of the block.
  bool recent(const Event& event) const { return event.clock >= at_barrier_[index(event.warp())]; }
  bool races(const Event& before, const Event& after) const {
    return before.happened() && !ordered(before, after);
  }

  static constexpr std::size_t kWarpsMax = 32;
  std::array<std::uint32_t, kWarpsMax> clocks_{};
  std::array<std::uint32_t, kWarpsMax> at_barrier_{};
};

inline std::optional<Race> BlockClock::note_write(AccessHistory& history,
                                                  const Event& write) const {
  const AccessHistory before = history;
  history = {.write = write, .reads = {}};
  if (races(before.write, write)) return Race{before.write, AccessKind::write};
  return race_with_reads(before, write);
}

inline std::optional<Race> BlockClock::note_read(AccessHistory& history, const Event& read) const {
  std::optional<Race> race;
  if (history.adds) {
    race = race_with_reads(history, read);
    history = {.write = history.reads[0], .reads = {}};
  }
  remember(history.reads, read);
  if (!race && races(history.write, read)) race = Race{history.write, AccessKind::write};
  return race;
}

inline std::optional<Race> BlockClock::note_add(AccessHistory& history, const Event& add) const {
  std::optional<Race> race;
  if (!history.adds) {
    race = race_with_reads(history, add);
    history = {.write = history.write, .reads = {}, .adds = true};
  }
  remember(history.reads, add);
  if (!race && races(history.write, add)) race = Race{history.write, AccessKind::write};
  return race;
}

inline std::optional<Race> BlockClock::race_with_reads(const AccessHistory& history,
                                                       const Event& event) const {
  for (const Event& read : history.reads) {
    if (races(read, event)) return Race{read, history.adds ? AccessKind::add : AccessKind::read};
  }
  return std::nullopt;
}

inline void BlockClock::remember(std::array<Event, 2>& events, const Event& read) const {
  auto& [a, b] = events;
  if (b.happened() && !recent(b)) b = Event();
  const bool only = !a.happened() || !recent(a);
  if (only || (a.warp() == read.warp() && a.clock < read.clock) || a.thread == read.thread) {
    a = read;
  } else if (!b.happened() || b.warp() == a.warp()) {
    // Another warp than a's, or another lane at the same time.
    if (a.warp() != read.warp() || !b.happened() || b.clock < read.clock) b = read;
  }
}

}  // namespace forge::simt
