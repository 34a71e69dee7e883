// Reads bytes as config.json in every way and checks what is promised of the answer.
#pragma once

#include <string_view>

namespace forge::testing {

/// Whether it was read.
bool read_config_in_every_way(std::string_view text);

}  // namespace forge::testing
