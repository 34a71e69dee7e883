// TraceWindow: the last steps of a run that goes on, in memory, as a trace of their own.
//
//   ... steps that are gone | snapshot, steps | snapshot, steps ... now
//                             ^-------------- text() ---------------^
//
// For who wants to see what a server has just done, without a file that was asked for beforehand.
// As TraceFiles with two files that are kept: where one part is full the next begins, and the part
// before the last is forgotten. What is left begins with a snapshot, so it is read and replayed
// without what is gone.
//
// Bound: `bytes` and two lines; where the snapshots are large, four of them and two lines, because
// a part is not full before its steps have as many bytes as its snapshot.
//
// Thread contract: text() from any thread, the rest from one thread at a time. The one that writes
// never waits for a copy: text() copies what no longer changes after it has let go of the lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "forge/trace/trace_output.h"

namespace forge::trace {

class TraceWindow final : public TraceOutput {
 public:
  explicit TraceWindow(std::uint64_t bytes) : part_bytes_(bytes / 2) {}

  /// Neither fails.
  Written write(std::string_view line) override;
  Written flush() override { return {}; }

  bool has_next() const override { return true; }
  bool is_full() const override;
  Written next() override;

  /// The trace: whole lines. Empty before the header is there.
  std::string text() const;

 private:
  /// Lines go into pieces of so many bytes, or one long line.
  static constexpr std::size_t kPieceBytes = std::size_t{1} << 16;

  struct Part {
    std::vector<std::shared_ptr<const std::string>> pieces;  // that no longer change
    std::string last;                                        // the piece that grows
    std::uint64_t bytes = 0;
    std::uint64_t lines = 0;
    std::uint64_t start_bytes = 0;  // of its header and snapshot
  };

  const std::uint64_t part_bytes_;
  mutable std::mutex mutex_;
  Part before_;
  Part part_;
};

}  // namespace forge::trace
