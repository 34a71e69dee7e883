// One line of a trace as JSON, whatever the bytes.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <tl/expected.hpp>

#include "forge/trace/trace_reader.h"

namespace forge::trace::detail {

/// Errors: those of json::parse; at `place`, or closer if the fault has a place.
tl::expected<nlohmann::json, TraceError> parse_line(std::string_view text, const TracePlace& place);

}  // namespace forge::trace::detail
