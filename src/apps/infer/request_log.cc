#include "request_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace forge::apps {
namespace {

std::string counted_line(const char* what, std::uint64_t count, RequestLog::Time now) {
  return R"({"time":")" + serve::utc_text(now) + R"(",")" + what + "\":" + std::to_string(count) +
         "}";
}

/// False: whoever reads it has gone, or the disk is full.
bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

/// The thread's side. It outlives the log where a reader does not read.
struct RequestLog::Writer {
  explicit Writer(int file) : descriptor(file) {}
  ~Writer() {
    if (descriptor != STDERR_FILENO) ::close(descriptor);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void run() {
    std::unique_lock lock(mutex);
    for (;;) {
      filled.wait(lock, [this] { return stopping || !lines.empty(); });
      if (lines.empty()) break;
      std::string text = std::move(lines.front()) + '\n';
      lines.pop_front();
      if (dropped > 0) {
        const auto now = std::chrono::system_clock::now();
        text += counted_line("lines_dropped", std::exchange(dropped, 0), now) + '\n';
      }
      lock.unlock();
      static_cast<void>(write_all(descriptor, text));  // nobody's answer depends on it
      lock.lock();
    }
    ended = true;
    emptied.notify_all();
  }

  const int descriptor;
  std::mutex mutex;
  std::condition_variable filled;
  std::condition_variable emptied;
  std::deque<std::string> lines;
  std::uint64_t dropped = 0;
  bool stopping = false;
  bool ended = false;
};

tl::expected<std::unique_ptr<RequestLog>, std::string> RequestLog::open(const std::string& file) {
  int descriptor = STDERR_FILENO;
  if (file != "-") {
    descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (descriptor < 0) {
      return tl::unexpected("--request-log: cannot write '" + file + "': " + std::strerror(errno));
    }
  }
  return std::unique_ptr<RequestLog>(new RequestLog(std::make_shared<Writer>(descriptor)));
}

RequestLog::RequestLog(std::shared_ptr<Writer> writer) : writer_(std::move(writer)) {
  std::thread([shared = writer_] { shared->run(); }).detach();
}

RequestLog::~RequestLog() {
  tell_left_out(std::chrono::system_clock::now());
  std::unique_lock lock(writer_->mutex);
  writer_->stopping = true;
  writer_->filled.notify_one();
  writer_->emptied.wait_for(lock, std::chrono::seconds(1), [this] { return writer_->ended; });
}

void RequestLog::add(const serve::RequestRecord& record, Time now) {
  const bool is_refusal = record.status >= 400 || record.method.empty();
  const auto since = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch());
  if (is_refusal && since.count() == refusal_second_) {
    ++left_out_;
    return;
  }
  if (is_refusal || since.count() != refusal_second_) tell_left_out(now);
  if (is_refusal) refusal_second_ = since.count();
  write(to_json_line(record, now));
}

void RequestLog::tell_left_out(Time now) {
  if (left_out_ > 0) write(counted_line("refusals_left_out", std::exchange(left_out_, 0), now));
}

void RequestLog::write(std::string line) {
  const std::lock_guard lock(writer_->mutex);
  if (writer_->lines.size() >= kLinesMax) {
    ++writer_->dropped;
    return;
  }
  writer_->lines.push_back(std::move(line));
  writer_->filled.notify_one();
}

}  // namespace forge::apps
