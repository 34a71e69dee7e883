// CorsOrigins: the sites whose pages may ask a server and read its answers.
//
// A browser lets a page ask another site's server what it likes, but hides the answer unless the
// server says that this page's origin may read it. An origin is SCHEME://HOST[:PORT], in lower case
// and without the port that is the scheme's own, as browsers write it: they are compared byte by
// byte. "*" is any.
//
// Source: WHATWG Fetch, section "CORS protocol"; RFC 6454, section 6.2 (how an origin is written).
// Thread contract: none; const once it is filled.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace forge::serve {

class CorsOrigins {
 public:
  /// Errors: a sentence that names the text, its fault and what is accepted.
  tl::expected<void, std::string> add(std::string_view text);

  /// What Access-Control-Allow-Origin says to a page of this origin: the origin, "*", or nothing.
  std::string answer_to(std::string_view origin) const;

 private:
  bool any_ = false;
  std::vector<std::string> origins_;
};

}  // namespace forge::serve
