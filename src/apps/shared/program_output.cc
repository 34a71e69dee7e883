#include "program_output.h"

#include <csignal>
#include <iostream>

namespace forge::apps {

void ignore_write_signals() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

tl::expected<std::unique_ptr<trace::TraceFiles>, std::string> create_trace(
    const std::string& program, const std::string& path, const trace::TraceLimits& limits) {
  if (path.empty()) return nullptr;
  auto file = trace::TraceFiles::create(path, limits, [program, path](const std::string& reason) {
    // As one text: other threads may have something to say.
    std::cerr << program + ": --trace: cannot write '" + path + "': " + reason +
                     "; the recording ends there\n";
  });
  if (!file) return tl::unexpected("--trace: " + file.error());
  return file;
}

bool flush_results(const std::string& program) {
  if (std::cout.flush()) return true;
  std::cerr << program + ": the standard output has not taken everything that was written to it\n";
  return false;
}

}  // namespace forge::apps
