// The names that a file has for the fields of a ModelConfig.
//
// validate() (model_config.h) knows the fields alone; the author of a config.json or a GGUF file
// knows its keys. A reader says which is which, and the fault gets the names of the file:
//
//   heads is 4; accepted is a multiple of kv_heads, 3
//   num_attention_heads is 4; accepted is a multiple of num_key_value_heads, 3
//
// Pure, thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace forge::checkpoint::detail {

struct KeyName {
  std::string field;  ///< as validate() has it: "experts.groups"
  std::string key;    ///< "n_group"
};

/// `fault` with the key in place of each field that `names` has. A field is a whole word, of
/// letters, digits, points and underscores.
std::string with_keys(std::string_view fault, const std::vector<KeyName>& names);

}  // namespace forge::checkpoint::detail
