// Which request gets which answer, without any I/O.
//
// Thread contract: the I/O thread, for the server's state.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "route_table.h"

namespace forge::serve {

/// The path of a target: "/a?b" and "http://host/a" both have "/a".
std::string_view path_of(const HttpHeader& header);

/// The methods of a path's routes, "GET, HEAD" say; empty if there is no such path.
std::string methods_of(std::string_view path);

/// The answer to a request that its header alone condemns: unknown path, wrong method, a body
/// of a kind that is not read.
std::optional<Reply> refuse_header(const HttpHeader& header);

/// The route of a request, whatever its method; null: there is none of its path.
const Route* route_of(const HttpHeader& header);

/// Whom the route of a request is for; for clients, if there is no such route.
Audience audience_of(const HttpHeader& header, const HttpOptions& options);

/// Whether the request is for a route that is for everyone, and will not be refused.
bool is_for_everyone(const HttpHeader& header, const HttpOptions& options);

/// Whether its body is read while it is answered.
bool is_read_in_lines(const HttpHeader& header);

/// Whether it asks for a WebSocket where there is one.
bool is_upgrade(const HttpHeader& header);

/// `body` is empty where that is read later.
Answer route(const HttpHeader& header, std::string_view body, const Client& client,
             const ServerState& state);

Reply session_released(SessionId session, bool known);
Reply cache_cleared();

}  // namespace forge::serve
