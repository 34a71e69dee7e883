#include "ownership.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace forge::serve {
namespace {

constexpr KeyDigest kAlice{1};
constexpr KeyDigest kBob{2};

TEST(Ownership, without_an_owner_a_session_is_what_it_is_called_and_no_salt_is_none) {
  EXPECT_EQ(session_of({}, SessionId(7)), SessionId(7));
  EXPECT_EQ(salt_of({}, ""), CacheSalt());
}

TEST(Ownership, whatever_differs_has_another_number_and_equals_have_one) {
  std::set<std::uint64_t> numbers;
  const Owner owners[] = {std::nullopt, kAlice, kBob};
  for (const Owner& owner : owners) {
    for (const char* said : {"", "0", "7", "77", "s7"}) {
      EXPECT_EQ(salt_of(owner, said), salt_of(owner, said));
      EXPECT_TRUE(numbers.insert(salt_of(owner, said).value).second) << said;
    }
    for (const std::uint64_t said : {7U, 77U}) {
      EXPECT_TRUE(numbers.insert(session_of(owner, SessionId(said)).value).second) << said;
    }
  }
}

TEST(Ownership, a_client_is_its_key_or_else_its_host_under_the_servers_salt) {
  EXPECT_EQ(client_of(kAlice, "10.0.0.1", "x"), client_of(kAlice, "10.0.0.2", "y"));
  EXPECT_EQ(client_of({}, "10.0.0.1", "x"), client_of({}, "10.0.0.1", "x"));
  const std::set<ClientId> all = {client_of(kAlice, "", ""),      client_of(kBob, "", ""),
                                  client_of({}, "", "x"),         client_of({}, "10.0.0.1", "x"),
                                  client_of({}, "10.0.0.2", "x"), client_of({}, "10.0.0.1", "y")};
  EXPECT_EQ(all.size(), 6U);
  EXPECT_FALSE(all.contains(ClientId())) << "that of all who name none";
}

TEST(Ownership, a_user_is_one_of_its_client_and_whoever_names_none_is_one) {
  for (const Owner& owner : {Owner(), Owner(kAlice), Owner(kBob)}) {
    EXPECT_EQ(user_of(owner, ""), UserId());
    EXPECT_EQ(user_of(owner, "eve"), user_of(owner, "eve"));
  }
  const std::set<UserId> all = {user_of({}, "eve"), user_of(kAlice, "eve"), user_of(kBob, "eve"),
                                user_of(kBob, "Eve")};
  EXPECT_EQ(all.size(), 4U);
}

// A salt is in traces: it stays what it is from version to version.
TEST(Ownership, a_salt_is_the_beginning_of_a_sha_256) {
  EXPECT_EQ(salt_of({}, "x").value, 0x6ee2cc105a677431U);
  EXPECT_EQ(salt_of(kAlice, "x").value, 0x4e1dd64337d90546U);
}

}  // namespace
}  // namespace forge::serve
