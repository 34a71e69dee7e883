// InferOptions: what the command line of forge-infer says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "forge/engine/engine_loop.h"
#include "forge/kv_events/options.h"
#include "forge/runtime/target_options.h"
#include "forge/serve/http_options.h"
#include "forge/trace/trace_files.h"
#include "http_url.h"
#include "profile_report.h"

namespace CLI {  // NOLINT(readability-identifier-naming): its own
class App;
}

namespace forge::apps {

struct InferOptions {
  runtime::TargetOptions target;
  std::string addr = "127.0.0.1:8080";
  std::string api_key_file;  // empty: no key is asked for
  std::string tls_cert;      // empty: no TLS
  std::string tls_key;
  engine::EngineLoop::Options loop;
  serve::HttpOptions http;
  kv_events::KvEventOptions kv_events;  // without an endpoint nothing is told
  std::string trace_file;
  trace::TraceLimits trace_limits;
  std::optional<std::uint64_t> trace_window_bytes;  // 0: none; none given: keeps_last_steps()
  std::string request_log;    // a file, or "-"; empty: requests are not logged
  bool exposes_text = false;  // in the trace
  ProfileOptions profile;
  std::optional<HttpUrl> probe;  // what to ask in place of all else
};

constexpr std::uint64_t kTraceWindowBytes = std::uint64_t{4} << 20;
constexpr std::uint32_t kQuickSnapshotBlocks = 8192;

/// Whether a server with a cache of so many blocks keeps its last steps: where that was asked for;
/// else where a snapshot of the cache, which a full window begins anew with, holds no step up for
/// more than some milliseconds (bench/README.md), or text may be exposed, which asks for steps.
bool keeps_last_steps(const InferOptions& options, std::uint32_t num_blocks);

/// `options` must live until the command line has been parsed.
void add_options(CLI::App& app, InferOptions& options);

/// Settles what parsing alone does not. Returns: what is wrong with flags that are right each by
/// itself; nothing if all is well.
std::string finish_options(const CLI::App& app, InferOptions& options);

}  // namespace forge::apps
