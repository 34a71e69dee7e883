#include "forge/serve/request_record.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

#include "forge/serve/openai_api.h"

namespace forge::serve {
namespace {

using Json = nlohmann::ordered_json;

/// Thousandths of a millisecond: a microsecond.
double rounded(LogMilliseconds time) { return std::round(time.count() * 1000) / 1000; }

std::string finish_text(FinishReason reason) {
  if (const auto name = finish_reason_name(reason)) return std::string(*name);
  return reason == FinishReason::none ? "cut" : std::string(name_of(reason));
}

void add_tokens(const RequestTokens& tokens, Json& line) {
  line["prompt_tokens"] = tokens.prompt;
  line["cached_tokens"] = tokens.cached;
  line["completion_tokens"] = tokens.completion;
  if (tokens.drafts.proposed > 0) {
    line["drafts"] = {{"proposed", tokens.drafts.proposed}, {"accepted", tokens.drafts.accepted}};
  }
  if (tokens.queued) line["queue_ms"] = rounded(*tokens.queued);
  if (tokens.first) line["ttft_ms"] = rounded(*tokens.first);
  line["finish_reason"] = finish_text(tokens.finish);
}

}  // namespace

std::string utc_text(std::chrono::system_clock::time_point time) {
  const auto since = time.time_since_epoch();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since);
  const std::time_t whole = seconds.count();
  std::tm parts{};
  gmtime_r(&whole, &parts);
  std::array<char, 32> date{};
  const std::size_t size = std::strftime(date.data(), date.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::array<char, 8> rest{};
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(since - seconds);
  std::snprintf(rest.data(), rest.size(), ".%03dZ", static_cast<int>(milliseconds.count()));
  return std::string(date.data(), size) + rest.data();
}

std::string to_json_line(const RequestRecord& record, std::chrono::system_clock::time_point now) {
  Json line = {{"time", utc_text(now)}};
  const auto add = [&line](const char* name, const std::string& value) {
    if (!value.empty()) line[name] = value;
  };
  add("request_id", record.request_id);
  add("trace_id", record.trace_id);
  add("key", record.key);
  add("method", record.method);
  add("route", record.route);
  if (record.status > 0) line["status"] = record.status;
  line["e2e_ms"] = rounded(record.time);
  if (record.tokens) add_tokens(*record.tokens, line);
  return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace forge::serve
