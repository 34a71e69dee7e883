// The table of metrics, by name.
#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "forge/core/names.h"
#include "metrics_page.h"
#include "route_table.h"

namespace forge::serve {
namespace {

using enum prometheus::MetricType;
using From = const MetricsSnapshot&;

template <class Number>
double number(Number value) {
  return static_cast<double>(value);
}

double tokens_max(From from) { return number(from.model.context_tokens); }

/// (total - free - evictable) / total: KV that is kept and not used counts as free.
double kv_usage(const engine::EngineStatus& status) {
  const std::uint32_t unused = status.free_blocks + status.evictable_blocks;
  return number(status.total_blocks - unused) / number(status.total_blocks);
}

bool speculates(From from) { return !from.model.draft_source.empty(); }

void collect_cache_config(From from, Series& to) {
  const CacheShape& cache = from.config.cache;
  const bool has_prefix_cache = from.config.prefix_cache != PrefixCacheKind::none;
  to.add(1, {{"block_size", std::to_string(cache.block_size)},
             {"num_gpu_blocks", std::to_string(cache.num_blocks)},
             {"num_cpu_blocks", std::to_string(cache.num_host_blocks)},
             {"cache_dtype", std::string(from.model.kv_type)},
             {"enable_prefix_caching", has_prefix_cache ? "True" : "False"}});
}

void collect_answers(From from, Series& to) {
  for (const auto& [key, count] : from.counts.answers) {
    const auto& [route, method, status_class] = key;
    to.add(number(count), {{"handler", route == nullptr ? "none" : pattern_of(*route)},
                           {"method", std::string(method)},
                           {"status", std::to_string(status_class) + "xx"}});
  }
}

void collect_limited(From from, Series& to) {
  for (std::size_t i = 0; i < from.counts.limited.size(); ++i) {
    to.add(number(from.counts.limited[i]), {{"limit", std::string(kNames<LimitKind>[i])}});
  }
}

/// vLLM's names of reasons; "deadline" is our own, and "repetition" one that Forge does not have.
void collect_ends(From from, Series& to) {
  const auto ended = [&from](FinishReason reason) {
    return from.engine.ended[static_cast<std::size_t>(reason)];
  };
  const auto add = [&to](const char* reason, std::uint64_t count) {
    to.add(number(count), {{"finished_reason", reason}});
  };
  add("stop", ended(FinishReason::eos) + ended(FinishReason::stop));
  add("length", ended(FinishReason::length));
  add("abort", ended(FinishReason::cancelled));
  add("error", ended(FinishReason::error));
  add("repetition", 0);
  add("deadline", ended(FinishReason::deadline));
}

void collect_accepted_places(From from, Series& to) {
  if (!speculates(from)) return;
  for (std::size_t place = 0; place < from.engine.drafts.places; ++place) {
    to.add(number(from.engine.drafts.accepted_at[place]), {{"position", std::to_string(place)}});
  }
}

void collect_memory(From from, Series& to) {
  for (const ServedMemory& part : from.model.memory) {
    to.add(number(part.bytes),
           {{"memory", std::string(part.memory)}, {"use", std::string(part.use)}});
  }
}

constexpr std::array kFamilies = {
    MetricFamily{"forge:build_info", Gauge, "`version`",
                 "It is 1; the label says which version was built.",
                 [](From, Series& to) {
                   to.add(1, {{"version", FORGE_VERSION}});
                 }},
    MetricFamily{"forge:connections", Gauge, "", "So many TCP connections are open.",
                 [](From from, Series& to) { to.add(number(from.connections)); }},
    MetricFamily{"forge:execute_seconds", Histogram, "",
                 "A step's plan was with the target for so long; what was sent to clients "
                 "meanwhile is in it.",
                 [](From from, Series& to) { to.add(from.engine.execute_time.view()); }},
    MetricFamily{"forge:kv_events_dropped_total", Counter, "",
                 "So many batches of KV events were dropped, since the queue was full; it is there "
                 "with --kv-events alone.",
                 [](From from, Series& to) {
                   if (from.events) to.add(number(from.events->dropped));
                 }},
    MetricFamily{"forge:kv_events_published_total", Counter, "",
                 "So many batches of KV events were sent; it is there with --kv-events alone.",
                 [](From from, Series& to) {
                   if (from.events) to.add(number(from.events->published));
                 }},
    MetricFamily{
        "forge:last_step_age_seconds", Gauge, "",
        "The last step ended so long ago: it grows while nothing runs, and while a step hangs.",
        [](From from, Series& to) {
          const std::chrono::duration<double> age = from.now - from.engine.last_step;
          to.add(std::max(age.count(), 0.0));
        }},
    MetricFamily{"forge:memory_bytes", Gauge,
                 "`memory` (host, device), `use` (weights, scratch, kv)",
                 "The target's weights, scratch and KV cache take so many bytes.", collect_memory},
    MetricFamily{
        "forge:overtaken_max", Gauge, "",
        "The most overtaken of all requests that were admitted saw so many later ones go first.",
        [](From from, Series& to) { to.add(number(from.engine.overtaken_max)); }},
    MetricFamily{"forge:requests_limited_total", Counter, "`limit` (concurrent, waiting, tokens)",
                 "So many requests were refused with 429, since their client had as many under way "
                 "or as many tokens in a minute as it may have.",
                 collect_limited},
    MetricFamily{"forge:schedule_seconds", Histogram, "",
                 "The plan of a step took so long to make.",
                 [](From from, Series& to) { to.add(from.engine.schedule_time.view()); }},
    MetricFamily{"forge:sessions", Gauge, "", "The KV of so many sessions is kept.",
                 [](From from, Series& to) { to.add(number(from.status.sessions)); }},
    MetricFamily{"forge:spec_acceptance_alarm", Gauge, "",
                 "It is 1 while fewer or more drafts are kept than --draft-alarm expects; it is "
                 "there with speculation alone.",
                 [](From from, Series& to) {
                   if (speculates(from)) to.add(from.status.draft_alarm ? 1 : 0);
                 }},
    MetricFamily{"forge:stalled_steps", Gauge, "",
                 "The target failed to run anything in so many steps in a row.",
                 [](From from, Series& to) { to.add(number(from.status.stalled_steps)); }},
    MetricFamily{"forge:step_seconds", Histogram, "",
                 "A step took so long, from the beginning of its plan to its commit.",
                 [](From from, Series& to) { to.add(from.engine.step_time.view()); }},
    MetricFamily{"forge:steps_total", Counter, "", "The engine has made so many steps.",
                 [](From from, Series& to) { to.add(number(from.status.steps)); }},
    MetricFamily{"forge:swaps_total", Counter, "", "So many preemptions moved KV to host memory.",
                 [](From from, Series& to) { to.add(number(from.status.swaps)); }},
    MetricFamily{"forge:target_reopens_total", Counter, "",
                 "The target was lost and opened again so many times.",
                 [](From from, Series& to) { to.add(number(from.status.reopens)); }},
    MetricFamily{
        "forge:trace_failed", Gauge, "",
        "It is 1 once the trace takes no more steps: the disk is full, say, or --trace-total "
        "is reached.",
        [](From from, Series& to) {
          to.add(from.status.trace && from.status.trace->failure ? 1 : 0);
        }},
    MetricFamily{"http_requests_total", Counter, "`handler`, `method`, `status`",
                 "So many requests were answered, by route (none: there is no such path), method "
                 "and class of status (2xx).",
                 collect_answers},
    MetricFamily{"process_cpu_seconds_total", Counter, "",
                 "The process has had so much processor time, user and system.",
                 [](From from, Series& to) {
                   if (from.process) to.add(from.process->cpu_seconds);
                 }},
    MetricFamily{"process_max_fds", Gauge, "", "The process may have so many files open.",
                 [](From from, Series& to) {
                   if (from.process) to.add(number(from.process->max_fds));
                 }},
    MetricFamily{"process_open_fds", Gauge, "", "The process has so many files open.",
                 [](From from, Series& to) {
                   if (from.process) to.add(number(from.process->open_fds));
                 }},
    MetricFamily{"process_resident_memory_bytes", Gauge, "",
                 "So many bytes of the process are in memory.",
                 [](From from, Series& to) {
                   if (from.process) to.add(number(from.process->resident_bytes));
                 }},
    MetricFamily{"process_start_time_seconds", Gauge, "",
                 "The process began so many seconds after 1970 did.",
                 [](From from, Series& to) {
                   if (from.process) to.add(from.process->start_time);
                 }},
    MetricFamily{"vllm:cache_config_info", Gauge,
                 "`block_size`, `num_gpu_blocks`, `num_cpu_blocks`, `cache_dtype`, "
                 "`enable_prefix_caching`",
                 "It is 1; the labels describe the KV cache.", collect_cache_config},
    MetricFamily{"vllm:e2e_request_latency_seconds", Histogram, "",
                 "A request took so long from its arrival to its end.",
                 [](From from, Series& to) { to.add(from.engine.end_to_end.view()); }},
    MetricFamily{"vllm:generation_tokens_total", Counter, "", "So many tokens were generated.",
                 [](From from, Series& to) { to.add(number(from.status.generated_tokens)); }},
    MetricFamily{"vllm:inter_token_latency_seconds", Histogram, "",
                 "A request waited so long between two steps that gave it tokens.",
                 [](From from, Series& to) { to.add(from.engine.time_between_tokens.view()); }},
    MetricFamily{"vllm:iteration_tokens_total", Histogram, "",
                 "A step ran so many tokens; the count is the number of steps.",
                 [](From from, Series& to) { to.add(from.engine.tokens_of_step.view()); }},
    MetricFamily{"vllm:kv_cache_usage_perc", Gauge, "",
                 "Requests hold this share of the KV blocks, 0 to 1; what only the prefix cache "
                 "holds counts as free.",
                 [](From from, Series& to) { to.add(kv_usage(from.status)); }},
    MetricFamily{"vllm:num_preemptions_total", Counter, "",
                 "So many times a request was taken out of the batch.",
                 [](From from, Series& to) { to.add(number(from.status.preemptions)); }},
    MetricFamily{"vllm:num_requests_running", Gauge, "", "So many requests are in the batch.",
                 [](From from, Series& to) { to.add(number(from.status.running)); }},
    MetricFamily{"vllm:num_requests_waiting", Gauge, "",
                 "So many requests wait for a place in the batch.",
                 [](From from, Series& to) { to.add(number(from.status.waiting)); }},
    MetricFamily{
        "vllm:prefix_cache_hits_total", Counter, "",
        "So many tokens of prompts were found in the prefix cache.",
        [](From from, Series& to) { to.add(number(from.status.prefix_cache.hit_tokens)); }},
    MetricFamily{
        "vllm:prefix_cache_queries_total", Counter, "",
        "So many tokens of prompts were looked up in the prefix cache.",
        [](From from, Series& to) { to.add(number(from.status.prefix_cache.query_tokens)); }},
    MetricFamily{"vllm:prompt_tokens_cached_total", Counter, "",
                 "The KV of so many tokens of vllm:prompt_tokens_total was there.",
                 [](From from, Series& to) { to.add(number(from.engine.cached_prompt_tokens)); }},
    MetricFamily{"vllm:prompt_tokens_recomputed_total", Counter, "",
                 "So many tokens of prompts ran again because a preemption had dropped their KV.",
                 [](From from, Series& to) { to.add(number(from.engine.repeated_prompt_tokens)); }},
    MetricFamily{"vllm:prompt_tokens_total", Counter, "",
                 "The prompts of requests that have a first token had so many tokens.",
                 [](From from, Series& to) { to.add(number(from.engine.prompt_tokens)); }},
    MetricFamily{"vllm:request_decode_time_seconds", Histogram, "",
                 "A request took so long from its first token to its last.",
                 [](From from, Series& to) { to.add(from.engine.decode.view()); }},
    MetricFamily{"vllm:request_generation_tokens", Histogram, "", "An answer had so many tokens.",
                 [](From from, Series& to) {
                   to.add(from.engine.completion_length.view(), tokens_max(from));
                 }},
    MetricFamily{"vllm:request_inference_time_seconds", Histogram, "",
                 "A request took so long from its first admission to its last token.",
                 [](From from, Series& to) { to.add(from.engine.inference.view()); }},
    MetricFamily{
        "vllm:request_max_num_generation_tokens", Histogram, "",
        "The longest choice of a prompt had so many tokens.",
        [](From from, Series& to) { to.add(from.counts.longest_choice.view(), tokens_max(from)); }},
    MetricFamily{
        "vllm:request_params_max_tokens", Histogram, "",
        "A request asked for at most so many tokens.",
        [](From from, Series& to) { to.add(from.engine.max_new_tokens.view(), tokens_max(from)); }},
    MetricFamily{"vllm:request_params_n", Histogram, "",
                 "A request asked for so many choices of a prompt.",
                 [](From from, Series& to) { to.add(from.counts.choices.view()); }},
    MetricFamily{
        "vllm:request_prefill_kv_computed_tokens", Histogram, "",
        "So many tokens of a prompt had no KV yet.",
        [](From from,
           Series& to) { to.add(from.engine.prompt_tokens_run.view(), tokens_max(from)); }},
    MetricFamily{"vllm:request_prefill_time_seconds", Histogram, "",
                 "A request took so long from its first admission to its first token.",
                 [](From from, Series& to) { to.add(from.engine.prefill.view()); }},
    MetricFamily{
        "vllm:request_prompt_tokens", Histogram, "", "A prompt had so many tokens.",
        [](From from, Series& to) { to.add(from.engine.prompt_length.view(), tokens_max(from)); }},
    MetricFamily{"vllm:request_queue_time_seconds", Histogram, "",
                 "A request took so long from its submission to its first admission.",
                 [](From from, Series& to) { to.add(from.engine.queue.view()); }},
    MetricFamily{"vllm:request_success_total", Counter,
                 "`finished_reason` (stop, length, abort, error, repetition, deadline)",
                 "So many requests have ended; abort: the client went away or the server shut "
                 "down; repetition stays 0.",
                 collect_ends},
    MetricFamily{"vllm:request_time_per_output_token_seconds", Histogram, "",
                 "A request of two tokens or more took so long for each after the first.",
                 [](From from, Series& to) { to.add(from.engine.time_per_token.view()); }},
    MetricFamily{
        "vllm:spec_decode_num_accepted_tokens_per_pos_total", Counter, "`position`",
        "So many drafts were kept at this place of a step; it is there with speculation alone.",
        collect_accepted_places},
    MetricFamily{"vllm:spec_decode_num_accepted_tokens_total", Counter, "",
                 "So many drafts were kept; it is there with speculation alone.",
                 [](From from, Series& to) {
                   if (speculates(from)) to.add(number(from.engine.drafts.accepted));
                 }},
    MetricFamily{"vllm:spec_decode_num_draft_tokens_total", Counter, "",
                 "So many drafts were verified; it is there with speculation alone.",
                 [](From from, Series& to) {
                   if (speculates(from)) to.add(number(from.engine.drafts.proposed));
                 }},
    MetricFamily{
        "vllm:spec_decode_num_drafts_total", Counter, "",
        "So many times drafts of a request were verified; it is there with speculation alone.",
        [](From from, Series& to) {
          if (speculates(from)) to.add(number(from.engine.drafts.rounds));
        }},
    MetricFamily{"vllm:time_to_first_token_seconds", Histogram, "",
                 "A request took so long from its arrival as text to its first token.",
                 [](From from, Series& to) { to.add(from.engine.time_to_first_token.view()); }},
};
static_assert(std::ranges::is_sorted(kFamilies, {}, &MetricFamily::name));

}  // namespace

std::span<const MetricFamily> metric_families() { return kFamilies; }

}  // namespace forge::serve
