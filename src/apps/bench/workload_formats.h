// The recorded formats, line by line; workload.h shows them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "workload.h"

namespace forge::apps {

/// Most tokens of a prompt or an output.
inline constexpr std::uint32_t kWorkloadTokensMax = 1u << 20;

inline constexpr std::string_view kAzureHeader = "TIMESTAMP,ContextTokens,GeneratedTokens";

/// A request and when it came, on the recording's own clock.
struct RecordedRequest {
  std::int64_t time_us = 0;
  WorkloadItem item;
};

/// Errors: a text that names the field, its value and what is accepted.
tl::expected<RecordedRequest, std::string> parse_azure_row(std::string_view line);
tl::expected<RecordedRequest, std::string> parse_mooncake_row(std::string_view line);

}  // namespace forge::apps
