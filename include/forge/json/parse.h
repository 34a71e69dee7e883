// Reads untrusted JSON as a tree, at a cost that is in proportion to its bytes (events.h).
//
// Pure, thread-safe.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "forge/json/events.h"

namespace forge::json {

/// Errors: those of visit(); an object has a key twice.
tl::expected<nlohmann::json, ParseError> parse(std::string_view text, int depth_max = kDepthMax);

/// The same, with the members of objects in the order of the text.
tl::expected<nlohmann::ordered_json, ParseError> parse_ordered(std::string_view text,
                                                               int depth_max = kDepthMax);

/// As parse(), and an error if it is no object.
tl::expected<nlohmann::json, ParseError> parse_object(std::string_view text,
                                                      int depth_max = kDepthMax);

/// A value as an error shows it: as JSON in ASCII, at most 64 bytes of it, or "an object", "a list
/// of 3"; for an event, which does not know its length, "a list".
std::string shown(const nlohmann::json& value);
std::string shown(const Value& value);

}  // namespace forge::json
