// JoinedFiles: the files of a recording, one after the other, as one trace.
//
//   run.000001.jsonl   {"forge_trace":...}\n {"step":{"step":0,...\n ... {"step":{"step":90,...\n
//   run.000002.jsonl   {"forge_trace":...}\n {"snapshot":...\n {"step":{"step":91,...\n ...
//
// What has been said for a trace in one file holds for these, too (trace_reader.h), whether they
// are joined here or by `cat`. Borrows the files. Thread contract: one thread at a time.
#pragma once

#include <cstdint>
#include <ios>
#include <memory>
#include <streambuf>
#include <vector>

#include "forge/trace/block_stream.h"

namespace forge::trace {

class JoinedFiles final : public BlockStream {
 public:
  /// Their sizes are those that they have now. Null if one of them cannot seek (a pipe).
  static std::unique_ptr<JoinedFiles> open(const std::vector<std::streambuf*>& files);

  /// Which of the files has this byte, or, at the end, is the last.
  std::size_t file_of(std::uint64_t byte) const;

 private:
  struct Part {
    std::streambuf* file = nullptr;
    std::uint64_t begin = 0;
  };

  std::streamsize fetch(std::uint64_t from, std::uint64_t count, char* to) override;

  std::vector<Part> parts_;
};

}  // namespace forge::trace
