// book/traces.md shows commands and what they print. They are run here, so that the page is true.
#include "apps/transcripts.h"

namespace forge::testing {
namespace {

TEST(BookOfTraces, shows_what_the_commands_print) {
  EXPECT_GE(expect_page_shows_what_is_printed(FORGE_SOURCE_DIR "/book/traces.md", "forge-trace"),
            6U);
}

}  // namespace
}  // namespace forge::testing
