#include "kv_event_flags.h"

#include <CLI/CLI.hpp>

#include "flag_choice.h"

namespace forge::apps {
namespace {

constexpr const char* kFollowers = "Who follows the cache";

}  // namespace

void add_kv_events(CLI::App& app, kv_events::KvEventOptions& options) {
  app.add_option("--kv-events", options.endpoint,
                 "Tell over ZeroMQ what the prefix cache stores and forgets, so that a router can "
                 "send a prompt where its KV is; tcp://HOST:PORT or ipc://PATH. The token ids of "
                 "prompts and answers are in it")
      ->type_name("ENDPOINT")
      ->group(kFollowers);
  app.add_option("--kv-events-replay", options.replay_endpoint,
                 "Where who has missed some of it may ask for the last 10,000 batches")
      ->type_name("ENDPOINT")
      ->group(kFollowers);
  app.add_option("--kv-events-topic", options.topic,
                 "The topic of all messages; llm-d wants kv@ADDRESS@MODEL")
      ->type_name("TEXT")
      ->group(kFollowers);
  add_choice(app, "--kv-events-format", options.format,
             "The form of each event: map, as vLLM has it today, or array, as it had it before")
      ->group(kFollowers);
  app.add_flag("--kv-events-public", options.is_public,
               "Endpoints may be reached by others than this machine, who can read all prompts "
               "there, without a key")
      ->group(kFollowers);
}

std::string kv_events_fault(const CLI::App& app, const InferOptions& options) {
  if (app.count("--kv-events") == 0) {
    for (const char* flag :
         {"--kv-events-replay", "--kv-events-topic", "--kv-events-format", "--kv-events-public"}) {
      if (app.count(flag) > 0) return std::string(flag) + " needs --kv-events";
    }
    return {};
  }
  if (options.target.scheduler.prefix_cache == PrefixCacheKind::none) {
    return "--kv-events needs a prefix cache: --prefix-cache radix or hash";
  }
  const auto valid = validate(options.kv_events);
  return valid ? std::string() : "--kv-events: " + valid.error();
}

}  // namespace forge::apps
