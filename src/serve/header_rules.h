// What a header must not leave open: two readers of one byte stream, a proxy and this server, have
// to agree where a request ends and whom it is for. What they could read in two ways is refused,
// and the connection closed. Source: RFC 9112, sections 3.2 (Host), 6.1 and 6.3
// (Transfer-Encoding).
#pragma once

#include <optional>

#include "reply.h"

namespace forge::serve {

/// 400 for a Transfer-Encoding that is anything but "chunked" alone, or stands in HTTP/1.0 or
/// beside a Content-Length, and for HTTP/1.1 without exactly one Host; nothing for what is plain.
std::optional<Reply> refuse_ambiguity(const HttpHeader& header);

}  // namespace forge::serve
