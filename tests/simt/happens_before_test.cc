// A last writer and two readers decide as much as the whole past would.
#include "happens_before.h"

#include <gtest/gtest.h>

#include <vector>

#include "random.h"

namespace forge::simt {
namespace {

/// Keeps everything, and looks at everything.
class WholePast {
 public:
  explicit WholePast(const BlockClock& clock) : clock_(clock) {}

  bool races(const Event& event, bool writes) {
    bool found = false;
    for (const Past& past : past_) {
      if ((writes || past.writes) && !clock_.ordered(past.event, event)) found = true;
    }
    past_.push_back({event, writes});
    return found;
  }

 private:
  struct Past {
    Event event;
    bool writes;
  };
  const BlockClock& clock_;
  std::vector<Past> past_;
};

TEST(HappensBefore, ThreeEventsFindTheFirstRaceThatTheWholePastFinds) {
  constexpr int kStories = 50'000;
  int races = 0;
  for (int story = 0; story < kStories; ++story) {
    SCOPED_TRACE("story " + std::to_string(story));
    Random random(static_cast<std::uint64_t>(story));
    BlockClock clock;
    AccessHistory history;
    WholePast past(clock);
    const std::uint32_t rare = 2 + random.below(20);  // writes
    for (int step = 0; step < 40; ++step) {
      const int thread = static_cast<int>(random.below(3) * kWarpSize + random.below(3));
      const std::uint32_t what = random.below(16);
      if (what == 0) clock.block_barrier();
      if (what == 1 || what == 2) clock.warp_barrier(thread / kWarpSize);
      if (what <= 2) continue;
      const bool writes = random.below(rare) == 0;
      const Event event = clock.event(thread, 0);
      const bool expected = past.races(event, writes);
      const std::optional<Race> race =
          writes ? clock.note_write(history, event) : clock.note_read(history, event);
      ASSERT_EQ(race.has_value(), expected) << "step " << step;
      if (!expected) continue;
      EXPECT_FALSE(clock.ordered(race->earlier, event));
      EXPECT_TRUE(writes || race->kind == AccessKind::write);
      ++races;
      break;
    }
  }
  EXPECT_GT(races, kStories / 4);
  EXPECT_LT(races, kStories);
}

}  // namespace
}  // namespace forge::simt
