// libFuzzer target: any bytes as the body of a batch.
//
//   cmake --preset asan && cmake --build build/asan --target fuzz_batch_lines
//   build/asan/bin/fuzz_batch_lines -max_total_time=60
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "batch_line.h"
#include "serve/line_splitter_check.h"

namespace {

/// A line is a request with a name and a body, or has a reason why it is none.
bool makes_sense(std::string_view line) {
  const auto parsed = forge::serve::parse_batch_line(line);
  if (!parsed) return !parsed.error().error.message.empty();
  return !parsed->custom_id.empty() && parsed->body.starts_with('{');
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t line_bytes_max = data[0];
  const std::size_t part = data[1] + std::size_t{1};
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::string whole = forge::test::lines_of(text, size, line_bytes_max);
  if (forge::test::lines_of(text, part, line_bytes_max) != whole) std::abort();
  forge::serve::LineSplitter splitter(size);
  splitter.put(text);
  splitter.finish();
  while (const auto line = splitter.next()) {
    if (!makes_sense(line->text)) std::abort();
  }
  return 0;
}
