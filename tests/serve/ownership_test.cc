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

// A salt is in traces: it stays what it is from version to version.
TEST(Ownership, a_salt_is_the_beginning_of_a_sha_256) {
  EXPECT_EQ(salt_of({}, "x").value, 0x6ee2cc105a677431U);
  EXPECT_EQ(salt_of(kAlice, "x").value, 0x4e1dd64337d90546U);
}

}  // namespace
}  // namespace forge::serve
