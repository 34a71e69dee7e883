#include "page.h"

#include <openssl/evp.h>

#include <array>
#include <cstdint>

#include "forge/core/check.h"
#include "handlers.h"
#include "sha256.h"

// The bytes of the file between the two labels: C++20 has no #embed.
__asm__(
    ".pushsection .rodata\n"
    ".globl forge_page_begin\n"
    "forge_page_begin:\n"
    ".incbin \"" FORGE_PAGE
    "\"\n"
    ".globl forge_page_end\n"
    "forge_page_end:\n"
    ".popsection\n");

// NOLINTBEGIN(readability-identifier-naming): labels of the assembler
extern "C" const char forge_page_begin[];
extern "C" const char forge_page_end[];
// NOLINTEND(readability-identifier-naming)

namespace forge::serve {
namespace {

/// What stands between two texts that the page has once each.
std::string_view between(std::string_view html, std::string_view open, std::string_view close) {
  const std::size_t begin = html.find(open);
  const std::size_t end = html.find(close);
  FORGE_CHECK(begin < end && end != std::string_view::npos, "no ", open);
  return html.substr(begin + open.size(), end - begin - open.size());
}

/// As a policy names what it allows: 'sha256-...', in Base64.
std::string source_of(std::string_view text) {
  const std::array<std::uint8_t, 32> digest = sha256(text);
  std::array<unsigned char, 45> base64{};  // 4 characters for each 3 bytes or less, and a 0
  EVP_EncodeBlock(base64.data(), digest.data(), static_cast<int>(digest.size()));
  return "'sha256-" + std::string(base64.begin(), base64.end() - 1) + "'";
}

}  // namespace

std::string_view page_html() { return {forge_page_begin, forge_page_end}; }

std::string page_policy(std::string_view html) {
  const std::string_view style = between(html, "<style>", "</style>");
  const std::string_view script = between(html, "<script type=\"module\">", "</script>");
  return "default-src 'none'; script-src " + source_of(script) + "; style-src " + source_of(style) +
         "; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
         "require-trusted-types-for 'script'; trusted-types 'none'";
}

namespace handlers {

/// A server that was built anew has another page, so a browser asks each time.
Answer page(const RouteCall& /*call*/) {
  static const std::string kPolicy = page_policy(page_html());
  return Reply{.body = std::string(page_html()),
               .headers = {{http::field::content_type, "text/html; charset=utf-8"},
                           {http::field::cache_control, "no-cache"}},
               .named_headers = {{"Content-Security-Policy", kPolicy},
                                 {"X-Content-Type-Options", "nosniff"},
                                 {"Referrer-Policy", "no-referrer"}}};
}

}  // namespace handlers
}  // namespace forge::serve
