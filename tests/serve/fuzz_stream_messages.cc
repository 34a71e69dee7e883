// libFuzzer target: any text as a message of a WebSocket.
//
//   cmake --preset asan && cmake --build build/asan --target fuzz_stream_messages
//   build/asan/bin/fuzz_stream_messages -max_total_time=60
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>
#include <variant>

#include "framing.h"
#include "route_table.h"
#include "stream_message.h"

namespace {

using namespace forge::serve;

void require(bool holds) {
  if (!holds) std::abort();
}

/// Whatever is said of an id is JSON, and names it.
void check_id(const std::string& id) {
  require(is_request_id(id));
  for (const std::string& text : {done_message(id), cancelled_message(id), chunk_message(id, "{}"),
                                  reply_message(id, reply_of(request_error(400, "no")))}) {
    require(nlohmann::json::parse(text)["id"] == id);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto message = parse_stream_message({reinterpret_cast<const char*>(data), size});
  if (!message) {
    require(!message.error().error.message.empty());
    if (message.error().id) check_id(*message.error().id);
  } else if (const auto* request = std::get_if<StreamRequest>(&*message)) {
    check_id(request->id);
    require(request->route != nullptr && request->route->generates);
    require(request->body.starts_with('{'));
  } else if (const auto* cancel = std::get_if<StreamCancel>(&*message)) {
    check_id(cancel->id);
  } else {
    require(!std::get<StreamKey>(*message).key.empty());
  }
  return 0;
}
