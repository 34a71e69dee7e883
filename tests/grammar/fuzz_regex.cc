// Any bytes as a regular expression and, after a zero byte, a text: as fuzz_schema.cc.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "forge/core/check.h"
#include "grammar/small_vocabulary.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t zero = std::min(input.find('\0'), input.size());
  const std::string_view text = input.substr(std::min(zero + 1, input.size()));
  const auto grammar =
      forge::grammar::Grammar::from_regex(input.substr(0, zero), {.steps_max = 20'000});
  if (!grammar) {
    FORGE_CHECK(!grammar.error().message.empty());
    return 0;
  }
  forge::grammar::testing::check_reading(*grammar, text);
  return 0;
}
