// What is told of drafts: counts, and an alarm where fewer or more are kept than expected.
#include "forge/engine/draft_watch.h"

#include <gtest/gtest.h>

#include <vector>

#include "engine/loop_fixture.h"

namespace forge::engine {
namespace {

TEST(DraftCounts, all_tokens_of_a_step_but_its_last_are_drafts_that_were_kept) {
  DraftCounts counts;
  counts.add(4, 3);
  counts.add(4, 1);
  counts.add(0, 1);
  counts.add(2, 0);  // the sequence failed
  EXPECT_EQ(counts, (DraftCounts{10, 2}));
}

TEST(AcceptanceBand, is_two_percentages_in_order) {
  EXPECT_EQ(parse_band("20-95"), (AcceptanceBand{20, 95}));
  EXPECT_EQ(parse_band("0-100"), AcceptanceBand());
  EXPECT_EQ(parse_band("50-50"), (AcceptanceBand{50, 50}));
  for (const char* text : {"", "20", "20-", "-20", "95-20", "0-101", "a-b", "20-95%", "1-2-3"}) {
    const auto band = parse_band(text);
    ASSERT_FALSE(band) << text;
    EXPECT_EQ(band.error(), "'" + std::string(text) +
                                "', accepted: LOW-HIGH, two percentages in order, such as 20-95");
  }
}

TEST(AcceptanceBand, includes_its_ends) {
  const AcceptanceBand band{20, 95};
  EXPECT_EQ(outside(band, {100, 20}), std::nullopt);
  EXPECT_EQ(outside(band, {100, 95}), std::nullopt);
  EXPECT_EQ(outside(band, {100, 19}), "19% of 100 drafts were kept, expected are 20% to 95%");
  EXPECT_EQ(outside(band, {1000, 951}), "95% of 1000 drafts were kept, expected are 20% to 95%");
  EXPECT_EQ(outside(band, {}), std::nullopt);
}

TEST(DraftWatch, judges_a_thousand_drafts_at_a_time) {
  DraftWatch watch({20, 95});
  for (int i = 0; i < 249; ++i) EXPECT_FALSE(watch.add(4, 1));
  EXPECT_EQ(watch.alarm(), std::nullopt) << "996 drafts";
  EXPECT_TRUE(watch.add(4, 1)) << "the alarm begins";
  EXPECT_EQ(watch.alarm(), "0% of 1000 drafts were kept, expected are 20% to 95%");
  for (int i = 0; i < 250; ++i) EXPECT_FALSE(watch.add(4, 1)) << "it goes on";
  for (int i = 0; i < 249; ++i) EXPECT_FALSE(watch.add(4, 3));
  EXPECT_TRUE(watch.add(4, 3)) << "it ends";
  EXPECT_EQ(watch.alarm(), std::nullopt);
  EXPECT_EQ(watch.counts(), (DraftCounts{3000, 500}));
}

TEST(EngineLoop, tells_each_request_of_its_drafts_and_the_status_of_all) {
  test::LoopFixture f("hello, hello");
  f.executor.drafts = 3;
  test::Listener listener;
  f.submit(listener);
  const DraftCounts counts = listener.wait().back().drafts;
  EXPECT_GT(counts.proposed, 0U);
  EXPECT_GT(counts.accepted, 0U);
  f.loop->drain();
  EXPECT_EQ(f.loop->status().drafts, counts);
  EXPECT_EQ(f.loop->status().draft_alarm, std::nullopt);
}

}  // namespace
}  // namespace forge::engine
