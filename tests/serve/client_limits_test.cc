// What the line of a key says of what it may have.
#include "forge/serve/client_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace forge::serve {
namespace {

using ::testing::HasSubstr;

TEST(ClientSettings, are_any_of_five_in_any_order) {
  EXPECT_EQ(parse_client_settings(
                "tokens-per-minute=60000,weight=4,priority=normal,waiting=32,concurrent=8"),
            (ClientSettings{.weight = 4,
                            .priority_max = Priority::normal,
                            .concurrent = 8,
                            .waiting = 32,
                            .tokens_per_minute = 60000}));
  EXPECT_EQ(parse_client_settings("waiting=0"), ClientSettings{.waiting = 0});
  EXPECT_EQ(parse_client_settings("weight=1000"), ClientSettings{.weight = 1000});
}

TEST(ClientSettings, that_say_nothing_leave_what_everybody_has) {
  const ClientLimits everybody{
      .priority_max = Priority::low, .concurrent = 3, .waiting = 2, .tokens_per_minute = 100};
  EXPECT_EQ(ClientSettings().over(everybody), everybody);
  const ClientSettings own{.weight = 5, .priority_max = Priority::high, .concurrent = 0};
  EXPECT_EQ(own.over(everybody),
            (ClientLimits{.weight = 5, .concurrent = 0, .waiting = 2, .tokens_per_minute = 100}))
      << "0 is no limit, whatever others have";
}

struct BadSettings {
  const char* text;
  const char* error;
};
class BadClientSettings : public ::testing::TestWithParam<BadSettings> {};

TEST_P(BadClientSettings, are_refused_by_name_and_value_with_what_is_accepted) {
  const auto settings = parse_client_settings(GetParam().text);
  ASSERT_FALSE(settings);
  EXPECT_THAT(settings.error(), HasSubstr(GetParam().error));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadClientSettings,
    ::testing::Values(
        BadSettings{"",
                    "there is no setting ''; accepted are priority, weight, concurrent, "
                    "waiting, tokens-per-minute"},
        BadSettings{"weight=1,", "there is no setting ''"},
        BadSettings{",weight=1", "there is no setting ''"},
        BadSettings{"rate=5", "there is no setting 'rate'"},
        BadSettings{"weight =5", "there is no setting 'weight '"},
        BadSettings{"weight", "weight is ''; accepted is an integer, 1 .. 1000"},
        BadSettings{"weight=", "weight is ''; accepted is an integer, 1 .. 1000"},
        BadSettings{"weight=0", "weight is '0'; accepted is an integer, 1 .. 1000"},
        BadSettings{"weight=1001", "weight is '1001'"}, BadSettings{"weight=4x", "weight is '4x'"},
        BadSettings{"weight=+4", "weight is '+4'"},
        BadSettings{"concurrent=-1", "concurrent is '-1'; accepted is an integer, 0 .. 1000000"},
        BadSettings{"waiting=1000001", "waiting is '1000001'"},
        BadSettings{"tokens-per-minute=4294967296", "accepted is an integer, 0 .. 1000000000"},
        BadSettings{"priority=urgent", "priority is 'urgent'; accepted is low, normal or high"},
        BadSettings{"priority=low,priority=low", "there are two settings 'priority'"},
        BadSettings{"waiting=1,weight=2,waiting=1", "there are two settings 'waiting'"}));

}  // namespace
}  // namespace forge::serve
