#include "progress_watch.h"

#include <gtest/gtest.h>

namespace forge::serve {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ProgressWatchTest : public ::testing::Test {
 protected:
  /// Looks once more, so much later.
  milliseconds look(bool has_work, std::uint64_t progress, milliseconds later) {
    now_ += later;
    watch_.look(has_work, progress, now_);
    return std::chrono::duration_cast<milliseconds>(watch_.standstill());
  }

 private:
  ProgressWatch watch_;
  ProgressWatch::Clock::time_point now_;
};

TEST_F(ProgressWatchTest, adds_up_the_time_in_which_work_does_not_get_on) {
  EXPECT_EQ(look(true, 7, seconds(1)), seconds(0)) << "nobody has looked before";
  EXPECT_EQ(look(true, 7, seconds(1)), seconds(1));
  EXPECT_EQ(look(true, 7, milliseconds(500)), milliseconds(1500));
  EXPECT_EQ(look(true, 8, seconds(1)), seconds(0)) << "it has got on";
  EXPECT_EQ(look(true, 8, seconds(1)), seconds(1));
}

TEST_F(ProgressWatchTest, without_work_nothing_stands_still) {
  for (int i = 0; i < 5; ++i) EXPECT_EQ(look(false, 3, seconds(1)), seconds(0));
  EXPECT_EQ(look(true, 3, seconds(1)), seconds(0)) << "it may have come just now";
  EXPECT_EQ(look(true, 3, seconds(1)), seconds(1));
  EXPECT_EQ(look(false, 3, seconds(1)), seconds(0));
}

TEST_F(ProgressWatchTest, time_in_which_nobody_looked_counts_for_little) {
  look(true, 1, seconds(1));
  EXPECT_EQ(look(true, 1, seconds(3600)), ProgressWatch::kGapMax) << "the process was stopped";
  EXPECT_EQ(look(true, 1, seconds(1)), ProgressWatch::kGapMax + seconds(1));
}

}  // namespace
}  // namespace forge::serve
