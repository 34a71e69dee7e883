// The page at "/": page.html, which is linked in, and what a browser is told to allow it.
//
// Thread contract: any thread.
#pragma once

#include <string>
#include <string_view>

namespace forge::serve {

std::string_view page_html();

/// Its Content-Security-Policy: the style and the script of the page, by their SHA-256; requests to
/// the server that it came from; nothing else, and no text becomes markup (Trusted Types). Source:
/// W3C, "Content Security Policy Level 3", section 6.7.3.3; "Trusted Types", section 4.
std::string page_policy(std::string_view html);

}  // namespace forge::serve
