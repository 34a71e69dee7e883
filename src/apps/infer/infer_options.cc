#include "infer_options.h"

#include <CLI/CLI.hpp>
#include <array>
#include <chrono>
#include <cmath>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "flag_choice.h"
#include "flag_range.h"
#include "forge/serve/address.h"
#include "forge/serve/api_keys.h"
#include "forge/serve/http_server.h"
#include "forge/serve/request_fields.h"
#include "kv_event_flags.h"
#include "target_flags.h"
#include "trace_flags.h"
#include "version_text.h"

namespace forge::apps {
namespace {

using std::chrono::milliseconds;

constexpr const char* kServer = "Server";
constexpr const char* kAccess = "Who may ask";
constexpr const char* kLimits = "Limits of clients";

constexpr double kShortest = 0.001;
constexpr double kLongest = 86400;

/// A flag in seconds; `limit` has its default.
CLI::Option* add_seconds(CLI::App& app, const char* flag, milliseconds& limit, const char* help) {
  const auto set = [&limit](const double& seconds) {
    limit = milliseconds(static_cast<std::int64_t>(std::ceil(seconds * 1000)));
  };
  return app.add_option_function<double>(flag, set, help)
      ->default_str(CLI::detail::to_string(static_cast<double>(limit.count()) / 1000))
      ->check(finite_range(kShortest, kLongest))
      ->group(kLimits);
}

/// A flag that prints a page and ends the program.
void add_page(CLI::App& app, const char* flag, std::string (*page)(), const char* help) {
  const auto print = [page] {
    std::cout << page();
    throw CLI::Success();
  };
  app.add_flag_callback(flag, print, help)->group(kServer);
}

void add_probe(CLI::App& app, std::optional<HttpUrl>& probe) {
  const auto set = [&probe](const std::string& url) {
    auto target = parse_url(url);
    if (!target) throw CLI::ValidationError("--probe", target.error());
    probe = *std::move(target);
  };
  app.add_option_function<std::string>(
         "--probe", set,
         "Ask the server at http://HOST:PORT[/PATH], https://HOST:PORT[/PATH] or unix:SOCKET how "
         "it is, by /health/ready unless told otherwise, print the answer and end: with status 0 "
         "if all is well, 1 if not")
      ->type_name("URL")
      ->group(kServer);
}

/// What goes wrong, for who wants to see what becomes of it.
void add_faults(CLI::App& app, std::vector<executor::StepFault>& faults) {
  const auto set = [&faults](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      const auto fault = executor::parse_fault(text);
      if (!fault) throw CLI::ValidationError("--fault", fault.error());
      faults.push_back(*fault);
    }
  };
  app.add_option_function<std::vector<std::string>>(
         "--fault", set,
         "For trials: have a step of the target go wrong, fails@STEP, hangs@STEP, lost@STEP (and "
         "all after it, until the target is opened again) or late@STEP:MILLISECONDS; may be given "
         "several times")
      ->type_name("FAULT")
      ->group(kServer);
}

/// Prints a new key and its line for the file, and ends the program.
void add_make_key(CLI::App& app) {
  const auto print = [](const std::string& owner) {
    const auto made = serve::make_key(owner);
    if (!made) throw CLI::ValidationError("--make-key", made.error());
    std::cout << "key (for its owner alone): " << made->key
              << "\nline for --api-key-file:    " << made->line << '\n';
    throw CLI::Success();
  };
  app.add_option_function<std::string>(
         "--make-key", print,
         "Print a new key for OWNER (NAME:client or NAME:operator; NAME is what logs call it), its "
         "line for --api-key-file, and end")
      ->type_name("OWNER")
      ->group(kAccess);
}

void add_tls(CLI::App& app, InferOptions& options) {
  app.add_option("--tls-cert", options.tls_cert,
                 "Speak TLS, and show clients this certificate (PEM: the server's own, then the "
                 "chain); read again on SIGHUP, as is its key")
      ->type_name("FILE")
      ->group(kAccess);
  app.add_option("--tls-key", options.tls_key, "The key of --tls-cert (PEM, without a passphrase)")
      ->type_name("FILE")
      ->group(kAccess);
}

void add_cors(CLI::App& app, serve::CorsOrigins& origins) {
  const auto add = [&origins](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      const auto added = origins.add(text);
      if (!added) throw CLI::ValidationError("--cors-origin", added.error());
    }
  };
  app.add_option_function<std::vector<std::string>>(
         "--cors-origin", add,
         "A site (SCHEME://HOST[:PORT], or * for all) whose pages may ask and read the answers "
         "(CORS); may be given several times. Without it no page of another site may")
      ->type_name("ORIGIN")
      ->expected(1)
      ->take_all()
      ->group(kAccess);
}

void add_access(CLI::App& app, InferOptions& options) {
  app.add_option("--api-key-file", options.api_key_file,
                 "Keys that clients must send (Authorization: Bearer KEY), a line "
                 "NAME:CLASS:SHA256[:SETTINGS] each; read again on SIGHUP. Without it anybody may "
                 "ask, and operators from this "
                 "machine")
      ->type_name("FILE")
      ->group(kAccess);
  add_make_key(app);
  add_tls(app, options);
  add_cors(app, options.http.cors_origins);
  app.add_flag("--metrics-open", options.http.metrics_open,
               "Anybody may ask for /metrics, which is for operators otherwise")
      ->group(kAccess);
  app.add_flag("--insecure", options.http.insecure,
               "Listen where others than this machine can connect, although without keys anybody "
               "may ask, and without TLS what they send and get can be read on its way")
      ->group(kAccess);
}

/// What it says of itself, and ends.
void add_pages(CLI::App& app) {
  app.set_version_flag("--version", version_text("forge-infer"),
                       "Print the version, how it was built and its targets, and end")
      ->group(kServer);
  add_page(app, "--list-routes", serve::routes_page,
           "Print every route that the server answers, as a page, and end");
  add_page(app, "--list-metrics", serve::metrics_page,
           "Print every metric of GET /metrics, as a page, and end");
  add_page(app, "--list-fields", serve::request_fields_page,
           "Print every field that a request may have, as a page, and end");
}

void add_server(CLI::App& app, InferOptions& options) {
  app.add_option(
         "--addr", options.addr,
         "HOST:PORT or [IPV6]:PORT, where port 0 picks a free one; or unix:PATH, a socket for "
         "programs of this machine, of the user and the group of this one")
      ->envname("FORGE_ADDR")
      ->capture_default_str()
      ->check([](const std::string& text) {
        const auto address = serve::parse_address(text);
        return address ? std::string() : address.error();
      })
      ->group(kServer);
  app.add_option("--queue-limit", options.loop.queue_limit,
                 "Requests that may wait for a place in the batch; further ones get 503")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20))
      ->group(kServer);
  app.add_flag("--refuse-under-pressure", options.loop.refuse_under_pressure,
               "A request that would have to wait for memory (--memory-pressure) gets 503 instead")
      ->group(kServer);
  add_acceptance_band(app, options.loop.acceptance)->group(kServer);
  add_chat_template(app, options.target.source)->group(kServer);
  add_pages(app);
  const auto set_request_timeout = [&options](const double& seconds) {
    if (seconds > 0) {
      options.http.request_timeout =
          milliseconds(static_cast<std::int64_t>(std::ceil(seconds * 1000)));
    }
  };
  app.add_option_function<double>(
         "--request-timeout-s", set_request_timeout,
         "Seconds after which a request ends with the text so far and the finish_reason "
         "\"deadline\"; a request may ask for less (timeout_s); 0 is no limit")
      ->default_str("0")
      ->check(finite_range(0, kLongest))
      ->group(kServer);
  add_seconds(app, "--health-stall-s", options.http.health_stall,
              "Seconds after which the health fails while there is work and it does not get on: no "
              "step ends, nor does a cpu or sim target get on within one")
      ->group(kServer);
  add_probe(app, options.probe);
  add_choice(app, "--on-target-lost", options.target.on_target_lost,
             "What happens when the target is lost: exit (requests end with an error, then the "
             "program with status 3) or reopen (it is opened again in this process, which a real "
             "GPU is not, and all requests go on with equal tokens)")
      ->group(kServer);
  add_faults(app, options.target.faults);
  app.add_option("--health-stall-steps", options.http.health_stall_steps,
                 "Steps that fail in a row, while work waits, until the health fails, too")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 30))
      ->group(kServer);
  add_trace(app, options);
  app.add_option("--request-log", options.request_log,
                 "Write a line of JSON for each request that was answered or cut off, but for "
                 "probes: ids, counts, times, how it ended, nothing of its text. A file, which is "
                 "added to, or -, the standard error")
      ->type_name("FILE")
      ->group(kServer);
  add_profile(app, options.profile)->group(kServer);
}

void add_chat_session_limits(CLI::App& app, serve::ChatSessionLimits& limits) {
  app.add_option("--max-chat-sessions", limits.sessions,
                 "Conversations whose messages are kept (session of chat requests); a further one "
                 "takes the place of the one that has been idle longest")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20))
      ->group(kLimits);
  app.add_option("--chat-session-limit", limits.session_bytes,
                 "Bytes of the messages of one session; larger ones get 400")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 30))
      ->group(kLimits);
  app.add_option(
         "--chat-sessions-limit", limits.bytes,
         "Bytes of the messages of all sessions; beyond it those idle longest are forgotten")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 30))
      ->group(kLimits);
  add_seconds(app, "--chat-session-idle-s", limits.idle_timeout,
              "Seconds after which the messages of a session without a request are forgotten");
}

void add_client_limits(CLI::App& app, serve::ClientLimits& limits) {
  const auto add = [&app](const char* flag, std::uint32_t& value, const IntegerRange& range,
                          const char* help) {
    app.add_option(flag, value, help)
        ->capture_default_str()
        ->check(CLI::Range(static_cast<std::uint32_t>(range.lowest),
                           static_cast<std::uint32_t>(range.highest)))
        ->group(kLimits);
  };
  add("--client-concurrent", limits.concurrent, serve::ClientLimits::kRequests,
      "Requests of a client (a key, or without keys an address) that may run or wait at a time, "
      "each prompt and each choice one; further ones get 429; 0 is no limit. As the next three, "
      "for "
      "keys whose line does not say otherwise");
  add("--client-waiting", limits.waiting, serve::ClientLimits::kRequests,
      "Requests of a client that may wait for their first place in the batch; further ones get "
      "429; 0 is no limit");
  add("--client-tokens-per-minute", limits.tokens_per_minute, serve::ClientLimits::kTokensPerMinute,
      "Tokens of prompts and answers that a client may have in a minute; beyond it 429; 0 is no "
      "limit");
  add_choice(app, "--max-priority", limits.priority_max,
             "The highest priority that a client may ask for; above it 403")
      ->group(kLimits);
}

void add_limits(CLI::App& app, serve::HttpOptions& http) {
  app.add_option("--max-connections", http.max_connections,
                 "Connections that are served at a time; a further one takes the place of the one "
                 "that has been idle longest, or gets 503 if none is idle")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20))
      ->group(kLimits);
  app.add_option("--header-limit", http.header_limit_bytes,
                 "Bytes of a request's header; larger ones get 431")
      ->capture_default_str()
      ->check(CLI::Range(256, 1 << 20))
      ->group(kLimits);
  app.add_option("--body-limit", http.body_limit_bytes,
                 "Bytes of a request's body; larger ones get 413")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 30))
      ->group(kLimits);
  app.add_option("--batch-body-limit", http.batch_body_limit_bytes,
                 "Bytes of all lines of a batch; larger ones get 413, or an error as their last "
                 "line")
      ->capture_default_str()
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->group(kLimits);
  add_client_limits(app, http.client_limits);
  add_chat_session_limits(app, http.chat_sessions);
  add_seconds(app, "--header-timeout-s", http.header_timeout,
              "Seconds in which the header of a request must have arrived; slower ones get 408");
  add_seconds(app, "--read-timeout-s", http.read_timeout,
              "Seconds in which a request must have arrived; slower ones get 408");
  add_seconds(app, "--idle-timeout-s", http.idle_timeout,
              "Seconds after which a connection without a request is closed");
  add_seconds(app, "--write-timeout-s", http.write_timeout,
              "Seconds in which a client must take what is written to it; slower ones are dropped");
  add_seconds(app, "--shutdown-timeout-s", http.shutdown_timeout,
              "Seconds after a signal in which requests may end by themselves; then they end with "
              "the text so far and the finish_reason \"deadline\"");
}

/// Strangers send prompts here: without a key that they know, they cannot prepare collisions, in
/// the index or with who follows it. The trace says which one it was.
void draw_hash_key(const CLI::App& app, SchedulerConfig& scheduler) {
  const bool is_hashed =
      scheduler.prefix_cache == PrefixCacheKind::hash || app.count("--kv-events") > 0;
  if (!is_hashed || app.count("--prefix-hash-key") > 0) return;
  std::random_device random;
  scheduler.prefix_hash_key = std::uint64_t{random()} << 32 | random();
}

}  // namespace

void add_options(CLI::App& app, InferOptions& options) {
  add_server(app, options);
  add_access(app, options);
  add_limits(app, options.http);
  add_kv_events(app, options.kv_events);
  constexpr std::array kKinds{runtime::TargetKind::cpu, runtime::TargetKind::sim,
                              runtime::TargetKind::cuda, runtime::TargetKind::null};
  add_target_choice(app, options.target.kind,
                    "Where the model runs: on the cpu, on a simulated GPU (sim) or on a GPU "
                    "(cuda); or null: no model, letters at once, to measure the server alone",
                    kKinds);
  add_target_options(app, options.target);
  add_device_options(app, options.target.device);
}

std::string finish_options(const CLI::App& app, InferOptions& options) {
  draw_hash_key(app, options.target.scheduler);
  if (options.tls_cert.empty() != options.tls_key.empty()) {
    return "--tls-cert and --tls-key need each other";
  }
  if (std::string fault = trace_fault(app, options); !fault.empty()) return fault;
  if (std::string fault = kv_events_fault(app, options); !fault.empty()) return fault;
  return misplaced_flag(app, options.target.kind);
}

}  // namespace forge::apps
