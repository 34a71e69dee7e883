// Any bytes as a template, a zero byte, and a context in JSON: refused with a message of valid
// UTF-8, or rendered to the same text twice, within the limits.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "forge/chat/template.h"
#include "forge/core/check.h"
#include "forge/json/parse.h"

namespace {

constexpr std::string_view kContext =
    R"({"n": 7, "s": "Größe a b", "l": [3, 1, "x", null, 2.5], "d": {"a": 1, "items": [{"b": {}}]},
        "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": null}]})";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace forge;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t zero = std::min(input.find('\0'), input.size());
  const auto parsed = chat::Template::parse(input.substr(0, zero));
  if (!parsed) {
    FORGE_CHECK(!parsed.error().message.empty() && parsed.error().line > 0);
    return 0;
  }
  auto context = json::parse_ordered(input.substr(std::min(zero + 1, input.size())));
  if (!context || !context->is_object()) context = json::parse_ordered(kContext);
  chat::RenderOptions options;
  options.limits = {1U << 16U, 1U << 22U, 20'000};
  const auto first = parsed->render(*context, options);
  const auto second = parsed->render(*context, options);
  FORGE_CHECK(first == second, "rendered twice, differently");
  FORGE_CHECK(!first || first->size() <= options.limits.output_bytes);
  // Text goes out as JSON, which knows no ill-formed UTF-8.
  const nlohmann::json text = first ? *first : first.error().message;
  FORGE_CHECK(!text.dump().empty());
  return 0;
}
