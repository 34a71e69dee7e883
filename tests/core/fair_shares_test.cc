#include "forge/core/fair_shares.h"

#include <gtest/gtest.h>

namespace forge {
namespace {

struct Shares : FairShares {
  FairShares::Index waiting(std::uint64_t client, std::uint64_t user = 0) {
    const FairShares::Index index = enter(ClientId{client}, UserId{user});
    begin_waiting(index);
    return index;
  }
  void admit(FairShares::Index user, std::uint32_t tokens = 0, std::uint32_t weight = 1) {
    end_waiting(user);
    take_turn(user);
    charge(user, tokens, weight);
  }
  std::uint64_t had(FairShares::Index user) const { return share_of_client(user).served; }
};

std::uint64_t digest_of(const FairShares& shares) {
  Digest digest;
  shares.add_to(digest);
  return digest.value();
}

TEST(FairShares, tokens_count_by_weight_while_another_client_waits) {
  Shares shares;
  const auto one = shares.waiting(1);
  const auto two = shares.waiting(2);
  shares.admit(one, 12, 3);
  EXPECT_EQ(shares.had(one), served_by(4, 1));
  EXPECT_EQ(shares.share_of_user(one).served, 0U) << "no other user of it waits";
  shares.admit(two);
  shares.charge(one, 100, 1);
  EXPECT_EQ(shares.had(one), served_by(4, 1)) << "nobody waits";
}

TEST(FairShares, the_users_of_a_client_are_a_level_of_their_own) {
  Shares shares;
  const auto one = shares.waiting(1, 1);
  const auto other = shares.waiting(1, 2);
  shares.admit(one, 9);
  EXPECT_EQ(shares.share_of_user(one).served, served_by(9, 1));
  EXPECT_EQ(shares.share_of_user(other).served, served_by(1, 1)) << "it began a token later";
  EXPECT_EQ(shares.had(one), 0U);
}

TEST(FairShares, each_that_begins_starts_a_token_later) {
  Shares shares;
  for (std::uint64_t client = 0; client < 5; ++client) {
    EXPECT_EQ(shares.had(shares.waiting(client)), served_by(1, 1) * client);
  }
}

TEST(FairShares, who_begins_starts_where_the_last_turn_was) {
  Shares shares;
  const auto one = shares.waiting(1);
  const auto two = shares.waiting(2);
  shares.admit(one, 50);
  shares.begin_waiting(one);
  shares.admit(two, 70);
  shares.begin_waiting(two);
  shares.admit(one);  // it has had 50
  EXPECT_EQ(shares.had(shares.waiting(3)), served_by(50, 1));
}

TEST(FairShares, who_has_gone_and_is_not_ahead_is_forgotten) {
  Shares shares;
  const std::uint64_t before = digest_of(shares);
  const auto one = shares.waiting(1, 1);
  EXPECT_NE(digest_of(shares), before);
  shares.end_waiting(one);
  shares.leave(one);
  EXPECT_EQ(digest_of(shares), before);
}

TEST(FairShares, who_has_gone_and_is_ahead_is_remembered_until_the_floor_is_there) {
  Shares shares;
  const auto one = shares.waiting(1);
  const auto two = shares.waiting(2);
  shares.admit(one, 30);
  shares.leave(one);
  Shares later = shares;
  EXPECT_EQ(shares.had(shares.waiting(1)), served_by(30, 1));

  later.waiting(3);
  later.admit(two, 40);
  later.begin_waiting(two);
  later.admit(two);  // it has had 41, a token for coming second
  EXPECT_EQ(later.had(later.waiting(1)), served_by(41, 1));
}

TEST(FairShares, what_it_keeps_is_bounded_by_who_is_there) {
  Shares shares;
  shares.waiting(0);
  for (std::uint64_t client = 1; client < 10000; ++client) {
    const auto user = shares.waiting(client, client);
    shares.admit(user, 5);
    shares.leave(user);
    ASSERT_LT(user, 32U) << "places are used again";
  }
}

}  // namespace
}  // namespace forge
