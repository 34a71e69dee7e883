// The page at "/", as a browser gets it; page_test.py is about what it does there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <array>
#include <regex>
#include <string>

#include "page.h"
#include "serve/test_server.h"

namespace forge::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::size_t kPageBytesMax = 150 * 1024;

HttpClient::Response page_of(const TestServer& server) {
  HttpClient client(server.port());
  return client.get("/");
}

/// As the policy names it: what stands between the tags, each of which is there once.
std::string source_of(const std::string& html, const std::string& tag) {
  const std::size_t begin = html.find('>', html.find("<" + tag)) + 1;
  const std::size_t end = html.find("</" + tag + ">", begin);
  EXPECT_NE(end, html.npos) << tag;
  EXPECT_EQ(html.find("<" + tag, begin), html.npos) << tag;
  const std::string text = html.substr(begin, end - begin);
  std::array<unsigned char, 32> digest{};
  EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  std::array<unsigned char, 45> base64{};
  EVP_EncodeBlock(base64.data(), digest.data(), static_cast<int>(digest.size()));
  return "'sha256-" + std::string(base64.begin(), base64.end() - 1) + "'";
}

TEST(HttpPage, is_html_that_a_browser_asks_for_each_time) {
  const TestServer server;
  const auto page = page_of(server);
  EXPECT_EQ(page.status, 200U);
  EXPECT_EQ(page.header("Content-Type"), "text/html; charset=utf-8");
  EXPECT_EQ(page.header("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(page.header("Referrer-Policy"), "no-referrer");
  EXPECT_EQ(page.header("Cache-Control"), "no-cache");
  EXPECT_THAT(page.body, ::testing::StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(page.body, ::testing::EndsWith("</html>\n"));
  EXPECT_LE(page.body.size(), kPageBytesMax);
  EXPECT_EQ(page.body, serve::page_html());
}

TEST(HttpPage, may_run_its_own_script_and_ask_its_own_server_alone) {
  const TestServer server;
  const auto page = page_of(server);
  EXPECT_EQ(page.header("Content-Security-Policy"),
            "default-src 'none'; script-src " + source_of(page.body, "script") + "; style-src " +
                source_of(page.body, "style") +
                "; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors "
                "'none'; require-trusted-types-for 'script'; trusted-types 'none'");
}

TEST(HttpPage, names_no_other_host_and_makes_no_text_markup) {
  const TestServer server;
  const std::string html = page_of(server).body;
  for (const char* never :
       {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function",
        "DOMParser", "createContextualFragment", "srcdoc", "http:", "https:", "//cdn", "import(",
        "localStorage", "sessionStorage", "indexedDB", "cookie"}) {
    EXPECT_THAT(html, Not(HasSubstr(never)));
  }
  const std::string markup = html.substr(0, html.find("<script"));
  EXPECT_FALSE(std::regex_search(markup, std::regex(R"(<[^>]*\s(on\w+|style|src)\s*=)")));
}

TEST(HttpPage, head_gets_its_header) {
  const TestServer server;
  HttpClient client(server.port());
  client.send(HttpClient::text("HEAD", "/", ""));
  const auto head = client.read(true);
  EXPECT_EQ(head.status, 200U);
  EXPECT_EQ(head.header("Content-Length"), std::to_string(serve::page_html().size()));
  EXPECT_THAT(head.header("Content-Security-Policy"), HasSubstr("default-src 'none'"));
  EXPECT_EQ(client.get("/healthz").status, 200U) << "no body was left in the connection";
}

TEST(HttpPage, needs_no_key_and_is_of_no_other_path) {
  const serve::NewKey key = serve::make_key("alice:client").value();
  const TestServer server({.keys = serve::ApiKeys::parse(key.line).value()});
  EXPECT_EQ(page_of(server).status, 200U);
  HttpClient client(server.port());
  EXPECT_EQ(client.get("/?tab=chat").status, 200U);
  EXPECT_EQ(client.get("/v1/models").status, 401U);
  const TestServer open;
  HttpClient other(open.port());
  EXPECT_EQ(other.get("/index.html").status, 404U);
  EXPECT_EQ(other.get("//").status, 404U);
}

}  // namespace
}  // namespace forge::test
