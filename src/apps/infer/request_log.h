// RequestLog: one line of JSON for each request (request_record.h), into a file or to the standard
// error.
//
// Who serves never waits for who reads the log: lines go through a queue of kLinesMax to a thread
// of their own, and what does not fit is dropped and counted. A flood of refusals, or of what is no
// HTTP, is one line a second: the first of a second is a line, the others are counted, and the next
// line is
//
//   {"time":"...","refusals_left_out":831}
//
// as {"time":"...","lines_dropped":12} stands where the reader was too slow.
//
// Thread contract: one thread adds.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <tl/expected.hpp>

#include "forge/serve/request_record.h"

namespace forge::apps {

class RequestLog {
 public:
  static constexpr std::size_t kLinesMax = 4096;
  using Time = std::chrono::system_clock::time_point;

  /// `file`: a path, whose file is created or added to, or "-": the standard error. Errors: a
  /// sentence that names it.
  static tl::expected<std::unique_ptr<RequestLog>, std::string> open(const std::string& file);
  /// Writes what waits, for as long as a second.
  ~RequestLog();
  RequestLog(const RequestLog&) = delete;
  RequestLog& operator=(const RequestLog&) = delete;

  void add(const serve::RequestRecord& record, Time now);

 private:
  struct Writer;
  explicit RequestLog(std::shared_ptr<Writer> writer);

  void write(std::string line);
  void tell_left_out(Time now);

  std::shared_ptr<Writer> writer_;  // which its thread has, too
  std::int64_t refusal_second_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace forge::apps
