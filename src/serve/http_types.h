// The HTTP types that routes and connections share.
#pragma once

#include <boost/beast/core/string.hpp>
#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <string_view>

namespace forge::serve {

namespace http = boost::beast::http;
using HttpHeader = http::request_header<>;
using HttpRequest = http::request<http::string_body>;

/// Boost's view as the library's.
inline std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

/// Equal but for the case of letters of ASCII.
inline bool iequals(std::string_view a, std::string_view b) {
  return boost::beast::iequals({a.data(), a.size()}, {b.data(), b.size()});
}

}  // namespace forge::serve
