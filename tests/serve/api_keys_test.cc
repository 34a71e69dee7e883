// The file of keys: what it says, and what is refused of it.
#include "forge/serve/api_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "formats/scratch_folder.h"

namespace forge::serve {
namespace {

using ::testing::HasSubstr;

// $ printf password | sha256sum
constexpr const char* kPassword =
    "5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8";
// $ printf '' | sha256sum
constexpr const char* kNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

std::string line(const std::string& owner, const std::string& digest) {
  return owner + ":" + digest + "\n";
}

TEST(ApiKeys, are_found_by_what_they_are_a_digest_of) {
  const auto keys = ApiKeys::parse("# who\n\n" + line("alice:client", kPassword) + "  " +
                                   line("night.watch:operator", kNothing));
  ASSERT_TRUE(keys) << keys.error();
  EXPECT_EQ(keys->size(), 2U);
  const ApiKey* const alice = keys->find("password");
  ASSERT_NE(alice, nullptr);
  EXPECT_EQ(alice->name, "alice");
  EXPECT_EQ(alice->kind, KeyClass::client);
  ASSERT_NE(keys->find(""), nullptr);
  EXPECT_EQ(keys->find("")->kind, KeyClass::oper);
  EXPECT_EQ(keys->find("Password"), nullptr);
  EXPECT_EQ(keys->find(kPassword), nullptr) << "a digest is no key";
}

TEST(ApiKeys, may_have_limits_of_their_own) {
  const std::string settings = ":weight=4,priority=normal,tokens-per-minute=60000\n";
  const auto keys = ApiKeys::parse("alice:client:" + std::string(kPassword) + settings +
                                   line("b:client", kNothing));
  ASSERT_TRUE(keys) << keys.error();
  EXPECT_EQ(
      keys->find("password")->settings,
      (ClientSettings{.weight = 4, .priority_max = Priority::normal, .tokens_per_minute = 60000}));
  EXPECT_EQ(keys->find("")->settings, ClientSettings());
}

TEST(ApiKeys, stay_what_they_are_when_their_limits_change) {
  const auto before = ApiKeys::parse(line("alice:client", kPassword)).value();
  const auto after = [&before](const std::string& text) {
    return ApiKeys::parse(text).value().contains(*before.find("password"));
  };
  const std::string digest = kPassword;
  EXPECT_TRUE(after("alice:client:" + digest + ":concurrent=1"));
  EXPECT_FALSE(after("alice:operator:" + digest));
  EXPECT_FALSE(after("alicia:client:" + digest));
}

TEST(ApiKeys, that_are_made_are_those_of_their_line) {
  const auto made = make_key("monitor:operator");
  ASSERT_TRUE(made) << made.error();
  EXPECT_GE(made->key.size(), 64U) << "256 bits in hexadecimal digits";
  const auto keys = ApiKeys::parse(made->line);
  ASSERT_TRUE(keys) << keys.error();
  const ApiKey* const key = keys->find(made->key);
  ASSERT_NE(key, nullptr);
  EXPECT_EQ(key->name, "monitor");
  EXPECT_TRUE(keys->contains(*key));
}

TEST(ApiKeys, that_are_made_differ) {
  std::set<std::string> all;
  for (int i = 0; i < 1000; ++i) all.insert(make_key("a:client")->key);
  EXPECT_EQ(all.size(), 1000U);
}

TEST(ApiKeys, have_an_owner) {
  EXPECT_THAT(make_key("alice").error(), HasSubstr("no ':CLASS' after the name"));
  EXPECT_THAT(make_key("alice:root").error(), HasSubstr("'root' is not 'client' or 'operator'"));
  EXPECT_THAT(make_key(":client").error(), HasSubstr("the name '' is not 1 to 64 of letters"));
}

struct BadFile {
  const char* what;
  std::string text;
  std::string error;
};
class BadKeyFile : public ::testing::TestWithParam<BadFile> {};

TEST_P(BadKeyFile, is_refused_by_line) {
  const auto keys = ApiKeys::parse(GetParam().text);
  ASSERT_FALSE(keys);
  EXPECT_THAT(keys.error(), HasSubstr(GetParam().error));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadKeyFile,
    ::testing::Values(
        BadFile{"empty", "", "there is no key"},
        BadFile{"only_remarks", "# alice:client:00\n\n", "there is no key"},
        BadFile{"no_colon", "\nalice\n", "line 2: there is no ':'"},
        BadFile{"no_class", line("alice", kPassword), "line 1: there is no ':CLASS'"},
        BadFile{"another_class", line("alice:admin", kPassword), "the class 'admin' is not"},
        BadFile{"a_name_with_a_space", line("al ice:client", kPassword),
                "the name 'al ice' is not"},
        BadFile{"a_name_too_long", line(std::string(65, 'a') + ":client", kPassword),
                "is not 1 to 64"},
        BadFile{"a_short_digest", line("alice:client", std::string(63, 'a')), "64 hexadecimal"},
        BadFile{"no_hex", line("alice:client", std::string(63, 'a') + "g"), "64 hexadecimal"},
        BadFile{"a_sign", line("alice:client", "-" + std::string(63, 'a')), "64 hexadecimal"},
        BadFile{"settings_that_are_none", "\na:client:" + std::string(kPassword) + ":",
                "line 2: there is no setting ''; accepted are priority, weight"},
        BadFile{"a_setting_out_of_range",
                "a:client:" + std::string(kPassword) + ":waiting=2,weight=0",
                "line 1: weight is '0'; accepted is an integer, 1 .. 1000; accepted is NAME:"},
        BadFile{"more_than_settings", "a:client:" + std::string(kPassword) + ":weight=2:weight=3",
                "weight is '2:weight=3'"},
        BadFile{"a_name_again", line("a:client", kPassword) + line("a:operator", kNothing),
                "line 2: there is a key 'a' already"},
        BadFile{"a_digest_again", line("a:client", kPassword) + line("b:client", kPassword),
                "line 2: 'a' has the same key"}),
    [](const auto& tested) { return tested.param.what; });

class KeyFile : public ::testing::Test {
 protected:
  KeyFile() : file_(folder_.write("keys", line("alice:client", kPassword))) {}

  tl::expected<ApiKeys, std::string> read_with(unsigned mode) {
    std::filesystem::permissions(file_, static_cast<std::filesystem::perms>(mode));
    return ApiKeys::read(file_);
  }
  formats::testing::ScratchFolder folder_;
  std::filesystem::path file_;
};

TEST_F(KeyFile, is_of_its_owner_and_perhaps_its_group) {
  EXPECT_TRUE(read_with(0600));
  EXPECT_TRUE(read_with(0400));
  EXPECT_TRUE(read_with(0640));
  for (const unsigned mode : {0644U, 0602U, 0620U, 0604U}) {
    const auto keys = read_with(mode);
    ASSERT_FALSE(keys) << mode;
    EXPECT_THAT(keys.error(), HasSubstr("may be read or written by others: chmod 600"));
  }
}

TEST_F(KeyFile, is_there_and_a_file) {
  EXPECT_THAT(ApiKeys::read("/nowhere/keys").error(), HasSubstr("No such file"));
  EXPECT_THAT(ApiKeys::read("/proc").error(), HasSubstr("is no file"));
}

}  // namespace
}  // namespace forge::serve
