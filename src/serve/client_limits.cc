#include "forge/serve/client_limits.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "forge/core/quoted.h"

namespace forge::serve {
namespace {

struct NumberSetting {
  std::string_view name;
  IntegerRange accepted;
  std::optional<std::uint32_t> ClientSettings::*value;
};
constexpr NumberSetting kNumbers[] = {
    {"weight", Request::kWeight, &ClientSettings::weight},
    {"concurrent", ClientLimits::kRequests, &ClientSettings::concurrent},
    {"waiting", ClientLimits::kRequests, &ClientSettings::waiting},
    {"tokens-per-minute", ClientLimits::kTokensPerMinute, &ClientSettings::tokens_per_minute},
};
constexpr std::string_view kPriority = "priority";

tl::unexpected<std::string> wrong_value(std::string_view name, std::string_view value,
                                        const std::string& accepted) {
  return tl::unexpected(std::string(name) + " is " + in_quotes(value) + "; accepted is " +
                        accepted);
}

tl::unexpected<std::string> said_twice(std::string_view name) {
  return tl::unexpected("there are two settings " + in_quotes(name) + "; accepted is one");
}

tl::expected<void, std::string> read_number(const NumberSetting& setting, std::string_view text,
                                            ClientSettings& settings) {
  auto& value = settings.*setting.value;
  if (value) return said_twice(setting.name);
  std::uint32_t number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc() || end != last || !setting.accepted.contains(number)) {
    return wrong_value(setting.name, text, accepted(setting.accepted));
  }
  value = number;
  return {};
}

tl::expected<void, std::string> read_priority_max(std::string_view text, ClientSettings& settings) {
  if (settings.priority_max) return said_twice(kPriority);
  settings.priority_max = from_name<Priority>(text);
  if (!settings.priority_max) return wrong_value(kPriority, text, "low, normal or high");
  return {};
}

tl::expected<void, std::string> read_setting(std::string_view text, ClientSettings& settings) {
  const std::size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  const std::string_view value =
      equals == std::string_view::npos ? std::string_view() : text.substr(equals + 1);
  if (name == kPriority) return read_priority_max(value, settings);
  const auto* const number = std::ranges::find(kNumbers, name, &NumberSetting::name);
  if (number != std::end(kNumbers)) return read_number(*number, value, settings);
  std::string known(kPriority);
  for (const NumberSetting& setting : kNumbers) known += ", " + std::string(setting.name);
  return tl::unexpected("there is no setting " + in_quotes(name) + "; accepted are " + known);
}

}  // namespace

ClientLimits ClientSettings::over(const ClientLimits& defaults) const {
  return {.weight = weight.value_or(defaults.weight),
          .priority_max = priority_max.value_or(defaults.priority_max),
          .concurrent = concurrent.value_or(defaults.concurrent),
          .waiting = waiting.value_or(defaults.waiting),
          .tokens_per_minute = tokens_per_minute.value_or(defaults.tokens_per_minute)};
}

tl::expected<ClientSettings, std::string> parse_client_settings(std::string_view text) {
  ClientSettings settings;
  for (bool is_last = false; !is_last;) {
    const std::size_t comma = text.find(',');
    is_last = comma == std::string_view::npos;
    if (auto read = read_setting(text.substr(0, comma), settings); !read) {
      return tl::unexpected(std::move(read.error()));
    }
    if (!is_last) text.remove_prefix(comma + 1);
  }
  return settings;
}

}  // namespace forge::serve
