// What an origin is, and what is none.
#include "forge/serve/cors_origins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace forge::serve {
namespace {

using ::testing::HasSubstr;

TEST(CorsOrigins, are_compared_to_the_last_byte) {
  CorsOrigins origins;
  EXPECT_EQ(origins.answer_to("https://a.example"), "") << "off by default";
  for (const char* text : {"https://a.example", "http://localhost:3000", "http://[::1]:8080",
                           "chrome-extension://abcdef", "http://10.0.0.1"}) {
    ASSERT_TRUE(origins.add(text)) << text;
    EXPECT_EQ(origins.answer_to(text), text);
  }
  for (const char* text : {"https://a.example:8443", "http://a.example", "https://a.example.evil",
                           "https://A.example", "https://a.example/", "null", ""}) {
    EXPECT_EQ(origins.answer_to(text), "") << text;
  }
}

TEST(CorsOrigins, may_be_any) {
  CorsOrigins origins;
  ASSERT_TRUE(origins.add("*"));
  EXPECT_EQ(origins.answer_to("https://a.example"), "*");
  EXPECT_EQ(origins.answer_to("null"), "*");
  EXPECT_EQ(origins.answer_to(""), "") << "no page asks";
}

TEST(CorsOrigins, that_are_none_are_refused_with_their_fault) {
  for (const auto& [text, fault] :
       {std::pair("a.example", "there is no '://'"), std::pair("", "there is no '://'"),
        std::pair("null", "there is no '://'"), std::pair("HTTPS://a.example", "the scheme"),
        std::pair("://a.example", "the scheme"), std::pair("https://A.example", "the host"),
        std::pair("https://*.example", "the host"), std::pair("https://", "the host"),
        std::pair("https://me@a.example", "the host"),
        std::pair("https://a.example/", "it has a path"),
        std::pair("https://a.example?x", "it has a path"),
        std::pair("https://a.example:", "the port"), std::pair("https://a.example:0", "the port"),
        std::pair("https://a.example:080", "the port"),
        std::pair("https://a.example:65536", "the port"),
        std::pair("https://a.example:443", "leave this port out"),
        std::pair("http://a.example:80", "leave this port out")}) {
    CorsOrigins origins;
    const auto added = origins.add(text);
    ASSERT_FALSE(added) << text;
    EXPECT_THAT(added.error(), HasSubstr(fault)) << text;
    EXPECT_THAT(added.error(), HasSubstr("accepted are SCHEME://HOST")) << text;
  }
}

}  // namespace
}  // namespace forge::serve
