// What the commands of forge-trace have in common: files to read, and how they end.
#pragma once

#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "forge/trace/trace_reader.h"
#include "forge/trace/whole_lines.h"

namespace forge::apps {

/// Exit status of all commands.
inline constexpr int kEqual = 0;      ///< or: done
inline constexpr int kDifferent = 1;  ///< from commands that compare
inline constexpr int kUnusable = 2;   ///< the input, or the place to write to

/// Says on the standard error what is wrong. Returns kUnusable.
int unusable(const std::string& message);

/// A trace as the command line names it.
struct TraceArgument {
  std::string path;
  bool truncated = false;  ///< it may end within a line, which is left out
};

/// A file, and its reader once it is known to be a trace.
class InputTrace {
 public:
  explicit InputTrace(TraceArgument argument) : argument_(std::move(argument)) {}

  /// What is left out at the end is said on the standard error.
  /// Errors: a text that starts with the path.
  tl::expected<void, std::string> open_file();
  /// The same, and reads the header.
  tl::expected<void, std::string> open();

  /// Requires: open_file() has succeeded.
  std::istream& stream() { return whole_ ? whole_->stream() : file_; }
  /// Requires: open() has succeeded.
  trace::TraceReader& reader() { return *reader_; }

  const std::string& path() const { return argument_.path; }
  std::string error(const trace::TraceError& error) const {
    return path() + ": " + to_string(error);
  }

 private:
  TraceArgument argument_;
  std::ifstream file_;
  std::unique_ptr<trace::WholeLines>
      whole_;  // of file_, where it is read up to its last whole line
  std::optional<trace::TraceReader> reader_;
};

}  // namespace forge::apps
