// What the commands of forge-trace have in common: files to read, and how they end.
#pragma once

#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "forge/trace/joined_files.h"
#include "forge/trace/trace_reader.h"
#include "forge/trace/whole_lines.h"

namespace forge::apps {

/// Exit status of all commands.
inline constexpr int kEqual = 0;      ///< or: done
inline constexpr int kDifferent = 1;  ///< from commands that compare
inline constexpr int kUnusable = 2;   ///< the input, or the place to write to

/// Says on the standard error what is wrong. Returns kUnusable.
int unusable(const std::string& message);

/// A trace as the command line names it: a file, or those of a recording that went on in new ones.
struct TraceArgument {
  std::vector<std::string> paths;  ///< at least one
  bool truncated = false;          ///< the last one may end within a line, which is left out
};

/// Files, and their reader once they are known to be a trace.
class InputTrace {
 public:
  explicit InputTrace(TraceArgument argument) : argument_(std::move(argument)) {}

  /// What is left out at the end is said on the standard error.
  /// Errors: a text that starts with the path.
  tl::expected<void, std::string> open_file();
  /// The same, and reads the header.
  tl::expected<void, std::string> open();

  /// Requires: open_file() has succeeded.
  std::istream& stream() { return *stream_; }
  /// Requires: open() has succeeded.
  trace::TraceReader& reader() { return *reader_; }

  /// That of the first file.
  const std::string& path() const { return argument_.paths.front(); }
  /// Names the file that has the byte.
  std::string error(const trace::TraceError& error) const;

 private:
  tl::expected<void, std::string> open_whole_lines(std::ifstream& last);

  TraceArgument argument_;
  std::vector<std::ifstream> files_;
  std::unique_ptr<trace::WholeLines> whole_;    // of the last one, if it may end within a line
  std::unique_ptr<trace::JoinedFiles> joined_;  // if there are several
  std::istream* stream_ = nullptr;
  std::optional<trace::TraceReader> reader_;
};

}  // namespace forge::apps
