// The values of JSON Schema's `format` that are enforced, as regular expressions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace forge::grammar {

inline constexpr std::string_view kFormats[] = {"date-time", "date",  "time", "duration",
                                                "uuid",      "email", "ipv4", "ipv6"};

/// The expression of all texts of the format; nullopt if it is not among kFormats.
///   date, time, date-time  RFC 3339, section 5.6: days that the month has, leap years, and
///                          second 60 only at the end of a day in UTC
///   duration               RFC 3339, appendix A
///   uuid                   RFC 4122, section 3
///   email                  RFC 5321, section 4.1.2: Mailbox, of ASCII
///   ipv4                   RFC 2673, section 3.2: four numbers up to 255
///   ipv6                   RFC 4291, section 2.2: eight groups, "::" for one or more that are
///                          zero, the last two also as ipv4
std::optional<std::string> regex_of_format(std::string_view format);

}  // namespace forge::grammar
