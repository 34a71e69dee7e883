// How the body of a request becomes one that can be run, whatever it came by: a route, a line of a
// batch, a message of a WebSocket.
//
// Thread contract: the I/O thread.
#pragma once

#include <optional>
#include <tl/expected.hpp>

#include "forge/core/request.h"
#include "route_table.h"

namespace forge::serve {

struct Intake {
  bool render_only = false;               ///< nothing is to run
  std::optional<Priority> priority = {};  ///< of a body that asks for none
};

/// Refuses whatever can be refused before texts become tokens, but for want of a place in the
/// queue. The request is its client's. Errors: the answer to who asked.
tl::expected<UntokenizedRequest, Reply> take_in(RequestKind kind, const RouteCall& call,
                                                const Intake& intake = {});

}  // namespace forge::serve
