// Any bytes as a JSON text: refused with a message, or the tree of nlohmann's own parser.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "forge/core/check.h"
#include "forge/formats/json_tree.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto tree = forge::formats::parse_json_tree(text, "fuzz");
  if (!tree) {
    FORGE_CHECK(!tree.error().message.empty() && tree.error().file == "fuzz");
    return 0;
  }
  FORGE_CHECK(*tree == nlohmann::json::parse(text), "another tree");
  return 0;
}
