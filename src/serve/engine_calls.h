// What the I/O thread asks the engine's loop thread to do, and waits for.
//
// Thread contract: the I/O thread.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "forge/engine/engine_loop.h"

namespace forge::serve {

/// Calls EngineLoop::release_session. Returns: whether the session was known.
boost::asio::awaitable<bool> release_session(engine::EngineLoop& loop, SessionId session);

/// Calls EngineLoop::clear_prefix_cache. Returns when it has happened.
boost::asio::awaitable<void> clear_prefix_cache(engine::EngineLoop& loop);

}  // namespace forge::serve
