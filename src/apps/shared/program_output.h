// What a program writes to, and that it may go away while the program runs: a pipe loses its
// reader, a disk fills up, a file reaches the limit of its size.
#pragma once

#include <memory>
#include <string>
#include <tl/expected.hpp>

#include "forge/trace/trace_files.h"

namespace forge::apps {

/// From now on a write without a reader (SIGPIPE) or beyond the limit of a file's size (SIGXFSZ)
/// fails, as all others that fail do, and does not end the program.
void ignore_write_signals();

/// The file of `--trace PATH`, or the first of several; null if `path` is empty. When a write
/// fails, `program` says so at once on the standard error. Errors: those of TraceFiles::create(),
/// with the flag.
tl::expected<std::unique_ptr<trace::TraceFiles>, std::string> create_trace(
    const std::string& program, const std::string& path, const trace::TraceLimits& limits = {});

/// Did the standard output take everything that was written to it? If not, `program` says so on the
/// standard error.
bool flush_results(const std::string& program);

}  // namespace forge::apps
