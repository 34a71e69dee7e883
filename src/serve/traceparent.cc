#include "traceparent.h"

#include <algorithm>
#include <cstddef>

namespace forge::serve {
namespace {

bool is_hex(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_id(std::string_view text) {
  return is_hex(text) && text.find_first_not_of('0') != text.npos;
}

}  // namespace

std::string_view trace_id_of(std::string_view traceparent) {
  constexpr std::size_t kBytes = 55;
  if (traceparent.size() < kBytes) return {};
  const std::string_view version = traceparent.substr(0, 2);
  const std::string_view trace_id = traceparent.substr(3, 32);
  const std::string_view parent_id = traceparent.substr(36, 16);
  const std::string_view flags = traceparent.substr(53, 2);
  const bool has_dashes = traceparent[2] == '-' && traceparent[35] == '-' && traceparent[52] == '-';
  const bool is_right = has_dashes && is_hex(version) && version != "ff" && is_id(trace_id) &&
                        is_id(parent_id) && is_hex(flags);
  const bool has_more = traceparent.size() > kBytes;
  if (!is_right || (has_more && (version == "00" || traceparent[kBytes] != '-'))) return {};
  return trace_id;
}

}  // namespace forge::serve
