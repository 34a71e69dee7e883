// Any bytes as a JSON Schema and, after a zero byte, an instance: refused with a message, or a
// grammar in which the instance is read as far as it goes, by bytes and by masks alike, and then
// ended.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "forge/core/check.h"
#include "grammar/small_vocabulary.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t zero = std::min(input.find('\0'), input.size());
  const std::string_view instance = input.substr(std::min(zero + 1, input.size()));
  const auto grammar =
      forge::grammar::Grammar::from_json_schema(input.substr(0, zero), {.steps_max = 20'000});
  if (!grammar) {
    FORGE_CHECK(!grammar.error().message.empty());
    return 0;
  }
  forge::grammar::testing::check_reading(*grammar, instance);
  return 0;
}
