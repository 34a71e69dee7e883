// What the coroutines of the server share.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace forge::serve {

namespace asio = boost::asio;

/// Completion token: co_await yields (error_code, ...) instead of throwing.
constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);

}  // namespace forge::serve
