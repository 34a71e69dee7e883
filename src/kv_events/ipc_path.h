// The file of an ipc endpoint: ZeroMQ removes whatever is at its path before it binds.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace forge::kv_events {

/// Whether the path of `address`, "ipc://PATH", may be bound: nothing is there, or the socket of a
/// program that has ended. Errors: a sentence that says what is there.
tl::expected<void, std::string> may_bind_ipc(std::string_view address);

/// Removes the file of such an endpoint. ZeroMQ leaves it.
void remove_ipc(std::string_view address);

}  // namespace forge::kv_events
