// Access: whether a connection may ask what its header asks, decided before the body is read.
//
//   route for      with keys                              without keys
//   everyone       anybody                                anybody
//   clients        any key; else 401                      anybody
//   operators      an operator's key; a client's: 403     who asks from this machine, by a name of
//                  none, or an unknown one: 401           it, and not through another site's page;
//                                                         else 403
//
// What has no route is for clients. /metrics is for everyone with HttpOptions::metrics_open
// (audience_of). The last rule of the table keeps out the pages of a browser on this machine: one
// that asks "http://forge.example:8080", a name that its owner has made to lead here (DNS
// rebinding), has the wrong Host; one that asks "http://localhost:8080" has the wrong Origin. No
// browser reaches a Unix socket, so there the Host may be any. What a proxy on this machine
// forwards is not of this machine.
//
// A WebSocket is for clients, too, and browsers have rules of their own for it: a page of any site
// may open one, whatever CORS says, and no page can send a key in its header. So the upgrade is
// refused (403) for the page of another site than this server's, unless CORS allows that, and
// without keys for a name that is not of this machine, if the connection is; and a key may follow
// as the first message (message_stream.h).
//
// Thread contract: the I/O thread.
#pragma once

#include <optional>
#include <tl/expected.hpp>

#include "forge/serve/api_keys.h"
#include "forge/serve/cors_origins.h"
#include "http_types.h"
#include "reply.h"
#include "route_table.h"

namespace forge::serve {

/// Who asks.
struct Asker {
  std::optional<ApiKey> key;  ///< nothing: the server has no keys, or the route needs none

  Owner owner() const { return key ? Owner(key->digest) : std::nullopt; }
};

/// How a connection came: what only this machine can reach, it came from.
enum class Arrival { network, loopback, unix_socket };

/// To what is for `audience`. `keys` is null for a server without. Errors: the answer to a request
/// that is refused.
tl::expected<Asker, Reply> admit(const HttpHeader& header, Audience audience, const ApiKeys* keys,
                                 Arrival arrival);

/// To a WebSocket. Returns: nobody if the key is to follow. `allowed`: whose pages may ask.
tl::expected<Asker, Reply> admit_upgrade(const HttpHeader& header, const CorsOrigins& allowed,
                                         const ApiKeys* keys, Arrival arrival);

}  // namespace forge::serve
