#include "forge/serve/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace forge::serve {
namespace {

using ::testing::HasSubstr;

TEST(Address, host_and_port_are_read_and_written) {
  for (const char* text : {"127.0.0.1:8080", "localhost:0", "[::1]:65535", "example.org:80"}) {
    const auto address = parse_address(text);
    ASSERT_TRUE(address) << address.error();
    EXPECT_EQ(to_string(*address), text);
  }
  EXPECT_EQ(parse_address("[::1]:8080"), (Address{.host = "::1", .port = 8080}));
}

TEST(Address, of_a_unix_socket_is_a_path) {
  for (const char* text : {"unix:/run/forge/http.sock", "unix:./a:1", "unix:a/b"}) {
    const auto address = parse_address(text);
    ASSERT_TRUE(address) << address.error();
    EXPECT_TRUE(address->is_unix());
    EXPECT_EQ(address->path, std::string(text).substr(5));
    EXPECT_EQ(to_string(*address), text);
  }
  EXPECT_TRUE(parse_address("unix:/" + std::string(106, 'a')));
  EXPECT_THAT(parse_address("unix:/" + std::string(107, 'a')).error(),
              HasSubstr("the PATH has 108 bytes; the system takes 1 to 107"));
  for (const char* text : {"unix:", "unix:8080"}) {
    EXPECT_THAT(parse_address(text).error(), HasSubstr("a PATH has a '/'")) << text;
  }
}

TEST(Address, a_malformed_address_is_refused_with_its_fault) {
  const auto error = [](std::string_view text) { return parse_address(text).error(); };
  EXPECT_THAT(error("localhost"), HasSubstr("address 'localhost': no ':PORT'"));
  EXPECT_THAT(error(":8080"), HasSubstr("no host"));
  EXPECT_THAT(error("host:"), HasSubstr("'' is not a port"));
  EXPECT_THAT(error("host:80x"), HasSubstr("'80x' is not a port"));
  EXPECT_THAT(error("host:-1"), HasSubstr("'-1' is not a port"));
  EXPECT_THAT(error("host:65536"), HasSubstr("PORT from 0 (any free one) to 65535"));
  EXPECT_THAT(error("::1:8080"), HasSubstr("an IPv6 address stands in brackets"));
  EXPECT_THAT(error("[]:8080"), HasSubstr("no host"));
  EXPECT_THAT(error(""), HasSubstr("no ':PORT'"));
}

}  // namespace
}  // namespace forge::serve
