// What the commands of forge-trace have in common: files to read, and how they end.
#pragma once

#include <fstream>
#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "forge/trace/trace_reader.h"

namespace forge {

/// Exit status of all commands.
inline constexpr int kEqual = 0;      ///< or: done
inline constexpr int kDifferent = 1;  ///< of commands that compare
inline constexpr int kUnusable = 2;   ///< the input, or the place to write to

/// Says on the standard error what is wrong. Returns kUnusable.
int unusable(const std::string& message);

/// A file, and its reader once it is known to be a trace.
struct InputTrace {
  std::string path;
  std::ifstream file;
  std::optional<TraceReader> reader;

  /// Errors: a text that starts with the path.
  tl::expected<void, std::string> open_file();
  tl::expected<void, std::string> open();

  std::string error(const TraceError& error) const { return path + ": " + to_string(error); }
};

}  // namespace forge
