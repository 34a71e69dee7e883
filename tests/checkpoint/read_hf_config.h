// Reads bytes as config.json, or as adapter_config.json, in every way and checks what is promised
// of the answer.
#pragma once

#include <string_view>

namespace forge::testing {

/// Whether it was read.
bool read_config_in_every_way(std::string_view text);

/// The same for the configuration of an adapter.
bool read_lora_config(std::string_view text);

}  // namespace forge::testing
