// TraceFiles: a recording that is bounded, in one file or in several.
//
//   run.000001.jsonl  run.000002.jsonl  run.000003.jsonl     file_bytes: a new one when one is full
//   (removed)         ^^^^^^^^^^^^^^^^  ^^^^^^^^^^^^^^^^     keep = 2: the oldest of them go
//
// A server that runs for a month cannot record into one file. Each of these begins with a snapshot
// (trace_event.h), from which it is read and replayed without those before it.
//
// A file is full with the line with which it has file_bytes, but not before the steps in it have
// as many bytes as its snapshot: so at most half of what is written is snapshots.
//
// Files that are there already are left alone: numbers go on after the highest one, and only files
// of this recording are removed. Thread contract: one thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "forge/trace/trace_output.h"

namespace forge::trace {

struct TraceLimits {
  std::uint64_t file_bytes = 0;   ///< 0: one file, of the name as it is given
  std::uint64_t keep = 0;         ///< files; 0: all. Only where file_bytes is not 0
  std::uint64_t total_bytes = 0;  ///< of the files that are kept; beyond it recording ends. 0: none
};

class TraceFiles final : public TraceOutput {
 public:
  /// Creates the first file: `path`, or with file_bytes the first numbered one, before whose
  /// extension the number stands.
  /// Errors: those of TraceFile::create().
  static tl::expected<std::unique_ptr<TraceFiles>, std::string> create(
      const std::string& path, const TraceLimits& limits, TraceFile::OnFailure on_failure = {});
  ~TraceFiles() override;

  /// Errors also: total_bytes would be exceeded; the line is then not written.
  Written write(std::string_view line) override;
  Written flush() override;
  bool has_next() const override { return limits_.file_bytes > 0; }
  bool is_full() const override;
  Written next() override;

  /// The file that is written to.
  const std::string& path() const { return parts_.back().path; }

 private:
  /// A file of this recording, known again by what the system calls it.
  struct Part {
    std::string path;
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t bytes = 0;
  };

  TraceFiles(std::string path, const TraceLimits& limits, TraceFile::OnFailure on_failure);

  tl::expected<void, std::string> open(const std::string& path);
  tl::expected<void, std::string> open_next_number();
  void remove_oldest();
  Written fail(std::string reason);

  std::string path_;
  TraceLimits limits_;
  TraceFile::OnFailure on_failure_;
  std::uint64_t number_ = 0;  // of the last file
  std::unique_ptr<TraceFile> file_;
  std::deque<Part> parts_;         // those that are kept, the oldest first
  std::uint64_t kept_bytes_ = 0;   // of them
  std::uint64_t lines_ = 0;        // of the file
  std::uint64_t start_bytes_ = 0;  // of its header and snapshot
};

}  // namespace forge::trace
