#include "workload.h"

#include <algorithm>
#include <istream>

#include "forge/numerics/philox.h"
#include "workload_formats.h"

namespace forge::apps {
namespace {

constexpr std::uint64_t kPromptKey = 0x666f7267652e3031;  // "forge.01"
constexpr std::uint32_t kPromptStream = 0;
constexpr std::uint32_t kLengthStream = 1;
constexpr std::uint32_t kHashStream = 2;

numerics::Words4 words(std::uint64_t index, std::uint32_t counter, std::uint32_t stream) {
  return numerics::philox({{counter, static_cast<std::uint32_t>(index),
                            static_cast<std::uint32_t>(index >> 32), stream}},
                          kPromptKey);
}

/// Word `position` of request `index` in `stream`.
std::uint32_t draw(std::uint64_t index, std::uint32_t position, std::uint32_t stream) {
  return words(index, position / 4, stream).x[position % 4];
}

/// The first `count` tokens of the block `id`, a byte of the generator each.
void append_block(std::uint64_t id, std::uint32_t count, std::vector<TokenId>& tokens) {
  for (std::uint32_t first = 0; first < count; first += 16) {
    const numerics::Words4 bytes = words(id, first / 16, kHashStream);
    for (std::uint32_t i = 0; i < std::min(16u, count - first); ++i) {
      tokens.emplace_back(1 + (bytes.x[i / 4] >> (8 * (i % 4))) % 256);
    }
  }
}

/// getline without the carriage return of files that were edited elsewhere.
bool read_line(std::istream& in, std::string& line) {
  if (!std::getline(in, line)) return false;
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return true;
}

Workload in_order_of_arrival(std::vector<RecordedRequest> recorded) {
  std::stable_sort(
      recorded.begin(), recorded.end(),
      [](const RecordedRequest& a, const RecordedRequest& b) { return a.time_us < b.time_us; });
  Workload workload;
  workload.reserve(recorded.size());
  for (RecordedRequest& request : recorded) {
    request.item.arrival_us =
        static_cast<std::uint64_t>(request.time_us - recorded.front().time_us);
    workload.push_back(std::move(request.item));
  }
  return workload;
}

}  // namespace

Workload synthetic_workload(std::size_t count) {
  Workload workload(count);
  for (std::size_t i = 0; i < count; ++i) {
    workload[i].prompt_tokens = 16 + draw(i, 0, kLengthStream) % 49;
    workload[i].new_tokens = 64;
  }
  return workload;
}

tl::expected<Workload, std::string> read_workload(std::istream& in, std::size_t limit) {
  std::string line;
  std::size_t number = 1;
  bool more = read_line(in, line);
  auto* parse = parse_azure_row;
  if (more && line.starts_with('{')) {
    parse = parse_mooncake_row;
  } else if (more && line == kAzureHeader) {
    more = read_line(in, line);
    ++number;
  } else {
    return tl::unexpected("line 1: unknown format '" + line.substr(0, 60) + "'; known: '" +
                          std::string(kAzureHeader) + "' and JSON lines with \"timestamp\"");
  }
  std::vector<RecordedRequest> recorded;
  for (; more && recorded.size() < limit; more = read_line(in, line), ++number) {
    auto request = parse(line);
    if (!request) return tl::unexpected("line " + std::to_string(number) + ": " + request.error());
    recorded.push_back(*std::move(request));
  }
  if (recorded.empty()) return tl::unexpected(std::string("no requests"));
  return in_order_of_arrival(std::move(recorded));
}

void mix_priorities(Workload& workload) {
  for (std::size_t i = 0; i < workload.size(); ++i) {
    workload[i].priority = static_cast<Priority>(i % 3);
  }
}

Request make_request(const WorkloadItem& item, std::uint64_t index) {
  Request request;
  request.max_new_tokens = item.new_tokens;
  request.ignore_eos = true;
  request.priority = item.priority;
  request.prompt.reserve(item.prompt_tokens);
  for (const std::uint64_t id : item.hash_ids) {
    const auto done = static_cast<std::uint32_t>(request.prompt.size());
    append_block(id, std::min(kHashBlockTokens, item.prompt_tokens - done), request.prompt);
  }
  if (!item.hash_ids.empty()) return request;
  for (std::uint32_t position = 0; position < item.prompt_tokens; ++position) {
    request.prompt.emplace_back(1 + draw(index, position, kPromptStream) % 256);
  }
  return request;
}

}  // namespace forge::apps
