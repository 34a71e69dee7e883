// datetime.strftime() in the "C" locale.
#pragma once

#include <ctime>
#include <string>
#include <string_view>

namespace forge::chat::detail {

/// `now` formatted. A conversion that is not known stays as it is.
std::string formatted_time(std::string_view format, const std::tm& now);

}  // namespace forge::chat::detail
