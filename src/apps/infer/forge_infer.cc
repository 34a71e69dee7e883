// forge-infer: serves a model over HTTP until it is told to stop (serving.h), or asks a server how
// it is (probe.h).
//
// SIGTERM, SIGINT and SIGHUP let it answer what it has begun, for at most --shutdown-timeout-s; a
// second SIGTERM or SIGINT ends it at once. With --api-key-file or --tls-cert SIGHUP has the keys
// and the certificate read again.
//
// Exit status: 0 after a signal; 1 if the target cannot be opened, it cannot listen, the keys or
// the certificate cannot be read or the trace cannot be written, at the start or before the end, or
// the target hangs at the end; 2 for bad flags; 3 if the target was lost; 128 + signal after a
// second signal. Of --probe: 0 or 1.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <new>
#include <string>

#include "cache_events.h"
#include "infer_options.h"
#include "probe.h"
#include "program_output.h"
#include "serving.h"

namespace forge::apps {
namespace {

int fail(const std::string& message) {
  std::cerr << "forge-infer: " + message + '\n';
  return 1;
}

}  // namespace
}  // namespace forge::apps

int main(int argc, char** argv) {
  forge::apps::ignore_write_signals();
  CLI::App app("Serves the built-in model, or one from a file, to clients of OpenAI's API.",
               "forge-infer");
  forge::apps::InferOptions options;
  forge::apps::add_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (options.probe) return forge::apps::probe(*options.probe);
  const std::string fault = forge::apps::finish_options(app, options);
  if (!fault.empty()) {
    forge::apps::fail(fault);
    return 2;
  }
  if (const auto fits = forge::apps::fit_connections(options.http); !fits) {
    return forge::apps::fail(fits.error());
  }
  std::unique_ptr<forge::apps::RequestLog> request_log;
  if (!options.request_log.empty()) {
    auto opened = forge::apps::RequestLog::open(options.request_log);
    if (!opened) return forge::apps::fail(opened.error());
    request_log = *std::move(opened);
  }
  std::unique_ptr<forge::apps::CacheEvents> cache_events;
  if (!options.kv_events.endpoint.empty()) {
    auto opened = forge::apps::CacheEvents::open(options.kv_events);
    if (!opened) return forge::apps::fail(opened.error());
    cache_events = *std::move(opened);
  }
  try {
    forge::apps::Serving serving(std::move(options), std::move(request_log),
                                 std::move(cache_events));
    return serving.run();
  } catch (const std::bad_alloc&) {
    return forge::apps::fail(
        "the memory that this process may use is not enough (--kv-memory, ulimit -v)");
  }
}
